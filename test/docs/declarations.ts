/** An exported declaration: its keyword, its name and the rest of its line. */
const EXPORT = /^export (?:(?:abstract|async|declare) )*(function\*?|class|const|interface|type) (\w+)(.*)$/;
/** A member of a class, an interface or an object, with the indentation of the formatter. */
const MEMBER = /^ {2}(?:(?:async|get|readonly|set|static) )*(\w+)\??(?:[(<:]| =)/;
/** The title of a test, of a group of tests, or of a table of tests. */
const TITLE =
  /(?:\b(?:describe|it|test)(?:\.\w+)*|\))\(\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)\s*,/g;

/** The names that the source text of a module exports, and the members of its exported classes, interfaces and objects. */
export function exportedNames(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  let hasMembers = false;
  for (const line of text.split('\n')) {
    const [, keyword, name, rest = ''] = EXPORT.exec(line) ?? [];
    const member = hasMembers ? MEMBER.exec(line)?.[1] : undefined;
    if (name !== undefined) {
      names.add(name);
      hasMembers = keyword?.startsWith('function') === false && rest.endsWith('{');
    } else if (/^\S/.test(line)) hasMembers = false;
    else if (member !== undefined) names.add(member);
  }
  return names;
}

/** The titles of the tests and of the groups of tests in the source text of a test file. */
export function testTitles(text: string): ReadonlySet<string> {
  const literals = [...text.matchAll(TITLE)].map(([, literal = '']) => literal.slice(1, -1));
  return new Set(literals.map((title) => title.replaceAll(/\\(['"`])/g, '$1')));
}
