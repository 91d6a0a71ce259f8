/** The path processing of an upstream; any part of it may be off. */
export const LENIENCES = [
  'decodesTwice',
  'backslashes',
  'params',
  'spaces',
  'case',
  'slashes',
  'dots',
  'dotsAtEnd',
  'slashAtEnd',
] as const;
export type Lenience = (typeof LENIENCES)[number];

/**
 * The path that such an upstream serves for a request target: it reads absolute targets, decodes (twice), takes `\` for `/`, strips
 * `;params`, spaces, and dots at the end of names, ignores case, collapses slashes, resolves dot segments, and strips a slash at the end.
 */
export function servedPath(target: string, leniences: readonly Lenience[] = LENIENCES): string {
  const is = (lenience: Lenience) => leniences.includes(lenience);
  let path = decoded(target.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, ''));
  if (is('decodesTwice')) path = decoded(path).replace(/[?#\0].*$/s, '');
  if (is('backslashes')) path = path.replaceAll('\\', '/');
  if (is('params')) path = path.replaceAll(/;[^/]*/g, '');
  if (is('spaces')) path = path.replaceAll('+', ' ').replaceAll(/ +(?=\/|$)|(?<=\/) +/g, '');
  if (is('case')) path = path.toLowerCase();
  if (is('slashes')) path = path.replaceAll(/\/+/g, '/');
  if (is('dots')) path = resolved(path);
  if (is('dotsAtEnd')) path = path.replaceAll(/[. ]+(?=\/|$)/g, '');
  if (is('slashes')) path = path.replaceAll(/\/+/g, '/');
  return is('slashAtEnd') ? path.replace(/(?<=.)\/+$/, '') : path;
}

/** Byte by byte, so that invalid encodings stay as they are. */
function decoded(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function resolved(path: string): string {
  const segments: string[] = [];
  for (const segment of path.slice(1).split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '.') segments.push(segment);
  }
  return `/${segments.join('/')}`;
}
