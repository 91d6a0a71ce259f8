import { describe, expect, it } from 'vitest';
import { matchRoute, readTarget, requestHashOf, upstreamUrl } from '../../../src/x402/routes/target.ts';
import { free, priced, read } from './file.ts';

const ROUTES = read([
  priced('/reports/:id'),
  priced('/jobs/:id/pdf', { methods: ['POST'] }),
  free('/reports/archive/*'),
  priced('/files/secret'),
  free('/files/*', { widerThanPriced: true }),
  priced('/files/dear/*'),
  free('/files/dear/readme'),
  priced('/search', { method: 'GET' }),
  free('/search', { method: 'POST' }),
  free('/'),
  free('/names/:name'),
]);

/** The id of the route, or the status of the refusal. */
function match(target: string, method = 'GET'): string | number {
  const matched = matchRoute(ROUTES, method, target);
  return matched.kind === 'route' ? matched.route.id : matched.status;
}

describe('a request target is refused with 400', () => {
  it.each([
    ['an absolute form', 'http://shop.example/reports/7'],
    ['an absolute form of another scheme', 'https://shop.example/files/a'],
    ['an asterisk', '*'],
    ['an authority', 'shop.example:443'],
    ['nothing', ''],
    ['a path without a slash', 'reports/7'],
    ['two slashes', '/files//secret'],
    ['two slashes first', '//files/secret'],
    ['two slashes last', '/files/secret//'],
    ['an encoded slash', '/files%2Fsecret'],
    ['an encoded slash in lower case', '/files%2fsecret'],
    ['a backslash', '/files\\secret'],
    ['an encoded backslash', '/files%5Csecret'],
    ['a dot segment', '/files/./secret'],
    ['a double dot segment', '/files/a/../secret'],
    ['an encoded double dot segment', '/files/a/%2E%2E/secret'],
    ['a half encoded double dot segment', '/files/a/.%2e/secret'],
    ['three dots', '/files/.../secret'],
    ['a segment of spaces', '/files/%20/secret'],
    ['dots and a space', '/files/a/..%20/secret'],
    ['a semicolon', '/files/secret;a=b'],
    ['an encoded semicolon', '/files/secret%3Ba'],
    ['an encoded unreserved character', '/files/%73ecret'],
    ['an encoding in lower case', '/files/a%c3'],
    ['an encoded percent sign', '/files/%2573ecret'],
    ['an encoded question mark', '/files/secret%3Fa'],
    ['an encoded number sign', '/files/secret%23a'],
    ['an encoded NUL', '/files/secret%00'],
    ['an encoded line feed', '/files/secret%0A'],
    ['an encoded DEL', '/files/secret%7F'],
    ['an encoded character outside of ASCII', '/files/caf%C3%A9'],
    ['a wrong encoding', '/files/%zz'],
    ['a cut encoding', '/files/a%2'],
    ['a character outside of ASCII', '/files/\u00e9'],
    ['a space', '/files/a b'],
    ['a control character', '/files/a\u0001'],
    ['a fragment', '/files/secret#a'],
    ['a bracket', '/files/[a]'],
    ['a control character in the query', '/files/a?b\u0009'],
    ['a fragment in the query', '/files/a?b#c'],
    ['a character outside of ASCII in the query', '/files/a?\u00e9'],
    ['a method in the query', '/search?_method=GET'],
    ['an encoded method in the query', '/search?a=b&%5FMETHOD=PUT'],
  ])('with %s', (_name, target) => {
    expect(match(target)).toBe(400);
    expect(match(target, 'OPTIONS')).toBe(400);
  });
});

describe('a request target', () => {
  it('stays as sent, with its query', () => {
    expect(readTarget('/a/b%20c?x=%2f..;&y=//\'"[]')).toEqual({
      path: '/a/b%20c',
      query: '?x=%2f..;&y=//\'"[]',
    });
    expect(readTarget('/a?')).toEqual({ path: '/a', query: '?' });
    expect(readTarget('/')).toEqual({ path: '/', query: '' });
  });

  it('is appended to the base URL of the upstream unchanged', () => {
    const target = { path: '/a/b%20c', query: '?x=1' };
    expect(upstreamUrl('http://127.0.0.1:9000', target)).toBe('http://127.0.0.1:9000/a/b%20c?x=1');
    expect(upstreamUrl('http://127.0.0.1:9000/v1/', target)).toBe('http://127.0.0.1:9000/v1/a/b%20c?x=1');
    expect(new URL(upstreamUrl('http://127.0.0.1:9000', target)).pathname).toBe(target.path);
  });
});

describe('a route', () => {
  it.each([
    ['/reports/7', 'GET /reports/:id'],
    ['/reports/7?full=1', 'GET /reports/:id'],
    ['/reports/archive/2020', 'GET /reports/archive/*'],
    ['/reports/archive', 'GET /reports/:id'],
    ['/files/secret', 'GET /files/secret'],
    ['/files/a', 'GET /files/*'],
    ['/files/a/b.txt', 'GET /files/*'],
    ['/files/a/', 'GET /files/*'],
    ["/files/a%20b!$&'()*+,=:@~", 'GET /files/*'],
    ['/files/dear/a', 'GET /files/dear/*'],
    ['/files/dear/readme', 'GET /files/dear/readme'],
    ['/files/dear/', 'GET /files/dear/*'],
    ['/files/', 'GET /files/*'],
    ['/', 'GET /'],
  ])('of %s is the narrowest for the target %s', (target, id) => {
    expect(match(target)).toBe(id);
  });

  it.each([
    '/reports',
    '/reports/',
    '/reports/7/',
    '/reports/7/pdf/',
    '/reports/7/x',
    '/Reports/7',
    '/search/',
    '/Search',
    '/nowhere',
    '/reports/archive/',
  ])('of %s does not exist', (target) => {
    expect(match(target)).toBe(404);
  });

  it.each([
    ['case', '/files/SECRET'],
    ['a slash at the end', '/files/secret/'],
    ['a dot at the end', '/files/secret.'],
    ['a space at the end', '/files/secret%20'],
    ['a plus sign, which may be a space', '/files/secret+'],
    ['a space first', '/files/%20secret'],
    ['all of them', '/files/Secret.%20./'],
    ['case of a literal before the rest', '/files/DEAR/a'],
    ['case of a free route below a priced one', '/files/Dear/Readme'],
    ['the index of a priced folder', '/files/dear'],
    ['the index of a priced folder in another case', '/files/Dear/'],
  ])('without a price does not match another spelling of a priced path: %s', (_name, target) => {
    expect(match(target)).toBe(404);
  });

  it('with a price serves every unambiguous spelling', () => {
    expect(match('/files/dear/README')).toBe('GET /files/dear/*');
    expect(match('/names/ANNA')).toBe('GET /names/:name');
  });

  it('for all paths also matches the root', () => {
    const routes = read([free('/*')]);
    for (const path of ['/', '/a', '/a/b/'])
      expect(matchRoute(routes, 'GET', path)).toMatchObject({ kind: 'route', route: { id: 'GET /*' } });
  });
});

describe('the method of a request', () => {
  it.each([
    ['HEAD', '/files/secret'],
    ['HEAD', '/files/a'],
    ['OPTIONS', '/files/secret'],
    ['POST', '/files/secret'],
    ['TRACE', '/files/secret'],
    ['CONNECT', '/files/secret'],
    ['PROPFIND', '/files/secret'],
    ['get', '/files/secret'],
  ])('%s is not allowed on %s; Allow names the others', (method, target) => {
    expect(matchRoute(ROUTES, method, target)).toMatchObject({
      kind: 'refused',
      status: 405,
      allow: ['GET'],
    });
  });

  it('selects its own route on the same pattern', () => {
    expect(match('/search', 'POST')).toBe('POST /search');
    expect(match('/search', 'GET')).toBe('GET /search');
    expect(matchRoute(ROUTES, 'PUT', '/search')).toMatchObject({ status: 405, allow: ['GET', 'POST'] });
  });

  it('never selects a wider pattern: an upstream may answer every method alike', () => {
    const routes = read([priced('/a/b'), free('/a/*', { methods: ['GET', 'POST'], widerThanPriced: true })]);
    expect(matchRoute(routes, 'POST', '/a/b')).toMatchObject({ status: 405, allow: ['GET'] });
    expect(matchRoute(routes, 'POST', '/a/c')).toMatchObject({ kind: 'route' });
  });

  it('on a path without a route is 404', () => {
    expect(match('/nowhere', 'OPTIONS')).toBe(404);
  });
});

describe('the hash of a request', () => {
  const [route = ROUTES[0], other = route] = ROUTES;
  const target = { path: '/a', query: '?b' };
  const body = Buffer.from('c');
  it('differs by route, method, target and body, and by nothing else', () => {
    if (route === undefined || other === undefined) throw new Error('no route');
    const hash = requestHashOf(route, 'GET', target, body);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(requestHashOf({ id: route.id }, 'GET', { path: '/a', query: '?b' }, Buffer.from('c'))).toBe(hash);
    const others = [
      requestHashOf(other, 'GET', target, body),
      requestHashOf(route, 'POST', target, body),
      requestHashOf(route, 'GET', { path: '/a', query: '' }, body),
      requestHashOf(route, 'GET', { path: '/a', query: '?c' }, body),
      requestHashOf(route, 'GET', { path: '/b', query: '?b' }, body),
      requestHashOf(route, 'GET', target, Buffer.from('')),
      requestHashOf({ id: `${route.id}","GET` }, 'GET', target, body),
    ];
    expect(new Set([hash, ...others]).size).toBe(8);
  });
});
