import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { METHODS } from '../../../src/x402/routes/route.ts';
import { matchRoute, upstreamUrl } from '../../../src/x402/routes/target.ts';
import { free, priced, read } from './file.ts';
import { LENIENCES, servedPath } from './lenient-upstream.ts';

const ROUTES = read([
  priced('/files/secret'),
  priced('/files/dear/*', { methods: ['GET', 'POST'] }),
  priced('/reports/:id'),
  priced('/docs'),
  free('/files/*', { methods: [...METHODS], widerThanPriced: true }),
  free('/reports/archive/*', { methods: [...METHODS] }),
  free('/docs/*', { widerThanPriced: true }),
  free('/*', { methods: [...METHODS], widerThanPriced: true }),
]);

/** The paths that an upstream sells, as it reads paths. */
const isSold = (path: string) =>
  path === '/files/secret' ||
  path === '/docs' ||
  path.startsWith('/files/dear/') ||
  /^\/reports\/[^/]+$/.test(path);

const SOLD = [
  '/files/secret',
  '/files/dear/',
  '/files/dear/a',
  '/files/dear/a/b',
  '/reports/7',
  '/reports/archive',
  '/docs',
];

/** Each function changes the spelling of one character or its position. */
const CHANGES: readonly ((text: string, at: number) => string)[] = [
  (text, at) => inserted(text, at, '/'),
  (text, at) => inserted(text, at, '//'),
  (text, at) => inserted(text, at, '/.'),
  (text, at) => inserted(text, at, '/x/..'),
  (text, at) => inserted(text, at, ';a=b'),
  (text, at) => inserted(text, at, '.'),
  (text, at) => inserted(text, at, '%20'),
  (text, at) => inserted(text, at, '+'),
  (text, at) => inserted(text, at, '%00'),
  (text, at) => inserted(text, at, '?'),
  (text, at) => inserted(text, at, '#'),
  (text, at) => replaced(text, at, (one) => one.toUpperCase()),
  (text, at) => replaced(text, at, encoded),
  (text, at) => replaced(text, at, (one) => encoded(one).toLowerCase()),
  (text, at) => replaced(text, at, (one) => (one === '/' ? '\\' : one)),
  (text) => `${text}/`,
  (text) => `http://shop.example${text}`,
];

function inserted(text: string, at: number, what: string): string {
  return text.slice(0, at) + what + text.slice(at);
}

function replaced(text: string, at: number, change: (one: string) => string): string {
  return text.slice(0, at) + change(text[at] ?? '') + text.slice(at + 1);
}

function encoded(one: string): string {
  return one === '' ? '' : `%${one.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
}

const change = fc.tuple(fc.nat(CHANGES.length - 1), fc.nat(30));
const spelling = fc
  .tuple(fc.constantFrom(...SOLD), fc.array(change, { maxLength: 4 }))
  .map(([path, changes]) =>
    changes.reduce((text, [which, at]) => CHANGES[which]?.(text, at % (text.length + 1)) ?? text, path),
  );
const PIECES = [
  'files',
  'FILES',
  'secret',
  'dear',
  'reports',
  'docs',
  'a',
  '/',
  '//',
  '.',
  '..',
  ';',
  '%2F',
  '%2e',
  '%25',
  '%20',
  '+',
  '\\',
  '?',
  '\u00e9',
  ' ',
];
const madeUp = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`);
/** All or some of them: an upstream may ignore case and still distinguish a slash at the end. */
const leniences = fc.oneof(fc.constant(LENIENCES), fc.subarray([...LENIENCES]));
const method = fc.constantFrom(...METHODS, 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND');

describe('a spelling of a path', () => {
  it('never has a free route where a lenient upstream reads it as a sold path', () => {
    let sold = 0;
    fc.assert(
      fc.property(fc.oneof(spelling, madeUp), method, leniences, (target, asked, some) => {
        if (!isSold(servedPath(target, some))) return;
        sold += 1;
        const matched = matchRoute(ROUTES, asked, target);
        expect(matched.kind === 'route' && matched.route.kind === 'free').toBe(false);
      }),
      { numRuns: 20_000 },
    );
    expect(sold).toBeGreaterThan(3_000);
  });

  it('reaches the upstream unchanged where it is accepted', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(spelling, madeUp, fc.webPath()), (target) => {
        const matched = matchRoute(ROUTES, 'GET', target);
        if (matched.kind !== 'route') return;
        accepted += 1;
        const { pathname } = new URL(upstreamUrl('http://127.0.0.1:9000', matched.target));
        expect(pathname).toBe(target.split('?')[0]);
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toBeGreaterThan(500);
  });

  it('is parsed without an exception for any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string().map((one) => `/${one}`),
    );
    fc.assert(
      fc.property(text, method, (target, asked) => matchRoute(ROUTES, asked, target).kind !== undefined),
      { numRuns: 5_000 },
    );
  });
});
