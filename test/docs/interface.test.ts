import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { exportedNames, testTitles } from './declarations.ts';
import { sources, textOf } from './pages.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const PAGE = join(ROOT, 'docs/interface.md');
/** A relative link with its label, or a name in backticks that belongs to the link before it. */
const LINK_OR_NAME = /\[([^\]]+)\]\(([^)\s]+)\)|`([^`]+)`/g;
/** A rule as a comment cites it: the section, then a number or a name. */
const CITATION = /docs\/interface\.md, ([A-Z][A-Za-z -]*[a-z])(?: \d|[:.;)])/g;
/** Names of texts outside of this repository. */
const OUTSIDE = /exchange-interface|\bDESIGN\b|§|\bx402 \d\.\d\b(?!\.)|Source: issue \d/;

interface Reference {
  readonly label: string;
  readonly file: string;
  readonly names: readonly string[];
}

interface RuleRow {
  readonly rule: string;
  readonly where: string;
  readonly proof: string;
}

const page = readFileSync(PAGE, 'utf8');
const rows = page.split('\n').flatMap(rowOf);

test('each rule of the interface page links its code or is marked not built, and links a test or is marked without a test', () => {
  expect(rows.length).toBeGreaterThan(150);
  for (const { rule, where, proof } of rows) {
    if (!where.startsWith('not built')) expect(referencesIn(where), rule).not.toEqual([]);
    if (!proof.startsWith('no test')) expect(referencesIn(proof), rule).not.toEqual([]);
  }
});

test('each file that the interface page links exists, has the linked name, and comes with a symbol or a test', () => {
  for (const { rule, where, proof } of rows)
    for (const { label, file, names } of [where, proof].flatMap(referencesIn)) {
      expect(existsSync(file), `${rule}: ${file}`).toBe(true);
      expect(label, rule).toBe(basename(file));
      expect(names, `${rule}: ${label}`).not.toEqual([]);
    }
});

test('each symbol of the interface page is exported by its file, and each test title is a title in its file', () => {
  for (const { rule, where, proof } of rows) {
    for (const { file, names } of referencesIn(where))
      for (const name of names) expect(exportsOf(file), `${rule}: ${file}`).toContain(name);
    for (const { file, names } of referencesIn(proof))
      for (const name of names) expect(titlesIn(file), `${rule}: ${file}`).toContain(name);
  }
});

test('exported names include members, and no private or used name; titles include no other text', () => {
  const source = [
    "import { used } from './used.ts';",
    'function hidden() {',
    '  used(1);',
    '}',
    'export async function shown(',
    '  parameter: string,',
    ') {',
    '  hidden();',
    '}',
    'export class Shown {',
    '  readonly #secret = 1;',
    '  field = 1;',
    '  async method(argument: string) {',
    '    inner();',
    '  }',
    '}',
    'export const settings = {',
    "  setting: entry('name'),",
    '} as const;',
    'const hiddenSettings = {',
    '  hiddenSetting: 1,',
    '};',
  ];
  expect([...exportedNames(source.join('\n'))]).toEqual([
    'shown',
    'Shown',
    'field',
    'method',
    'settings',
    'setting',
  ]);
  const tests = [
    "describe('group', () => {",
    "  it.each(['case'])('table %s', () => call('text', 1));",
    "  it('it\\'s', () => undefined);",
    '  test(',
    '    "own line",',
    '    () => undefined,',
    '  );',
    '});',
  ];
  expect([...testTitles(tests.join('\n'))]).toEqual(['group', 'table %s', "it's", 'own line']);
});

test('a comment cites existing sections of the interface page, and no text outside of the repository', () => {
  const sections = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title);
  const cited: (string | undefined)[] = [];
  // This file contains the names that it looks for.
  for (const file of sources().filter((name) => name !== 'test/docs/interface.test.ts')) {
    const text = textOf(file);
    expect(OUTSIDE.exec(text)?.[0], file).toBeUndefined();
    for (const [, section] of text.matchAll(CITATION)) {
      cited.push(section);
      expect(sections, file).toContain(section);
    }
  }
  expect(cited.length).toBeGreaterThan(20);
});

/** A row of a table, without its head. */
function rowOf(line: string): RuleRow[] {
  const [, rule, , where, proof] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  if (rule === undefined || where === undefined || proof === undefined) return [];
  return rule === 'rule' || rule.startsWith('--') ? [] : [{ rule, where, proof }];
}

function referencesIn(cell: string): readonly Reference[] {
  const references: { label: string; file: string; names: string[] }[] = [];
  for (const [, label, link, name] of cell.matchAll(LINK_OR_NAME)) {
    if (label !== undefined && link !== undefined)
      references.push({ label, file: join(dirname(PAGE), link), names: [] });
    else if (name !== undefined) references.at(-1)?.names.push(name.replaceAll('\\|', '|'));
  }
  return references;
}

function exportsOf(file: string): readonly string[] {
  return [...exportedNames(readFileSync(file, 'utf8'))];
}

function titlesIn(file: string): readonly string[] {
  return [...testTitles(readFileSync(file, 'utf8'))];
}
