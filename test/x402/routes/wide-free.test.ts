import { describe, expect, it } from 'vitest';
import { faultsOf, free, priced, UPSTREAM } from './file.ts';

describe('a free route that may give a sold resource away', () => {
  const OTHER = 'http://127.0.0.1:9001';
  it.each([
    ['the rest of all paths', '/*', {}, '/report', {}],
    ['a name', '/:page', {}, '/report', {}],
    ['the rest below the sold path', '/report/*', {}, '/report', {}],
    ['the rest above a name', '/files/*', {}, '/files/:id', {}],
    ['the rest above the root', '/*', {}, '/', {}],
    ['a path that meets it at the upstream', '/api/*', { upstream: `${UPSTREAM}/v1` }, '/v1/api/x', {}],
    ['a path that is equal at the upstream', '/x', { upstream: `${UPSTREAM}/a/` }, '/A/x', {}],
    ['the rest of a base path', '/a/:x', {}, '/x', { upstream: `${UPSTREAM}/a` }],
    ['an upstream in another spelling', '/*', { upstream: 'HTTP://127.0.0.1:9000' }, '/report', {}],
  ])('is refused: %s', (_what, wide, freeKeys, sold, soldKeys) => {
    const entries = [priced(sold, soldKeys), free(wide, freeKeys)];
    expect(faultsOf(entries)).toEqual([
      `routes[1].path: GET ${wide} is free and can reach what GET ${sold} (routes[0]) sells at ${UPSTREAM}, ` +
        'by another path or method that the upstream treats alike: narrow the path, or set "widerThanPriced": true',
    ]);
    expect(faultsOf(entries.toReversed())).toHaveLength(1);
    expect(faultsOf([priced(sold, soldKeys), free(wide, { ...freeKeys, widerThanPriced: true })])).toEqual(
      [],
    );
  });

  it('is refused for any method, since an upstream may answer every method alike', () => {
    expect(faultsOf([priced('/orders/new'), free('/orders/*', { method: 'POST' })])).toEqual([
      expect.stringContaining('POST /orders/* is free and can reach what GET /orders/new (routes[0]) sells'),
    ]);
    const sold = priced('/orders/:id', { method: 'DELETE' });
    expect(faultsOf([sold, free('/orders/:id', { method: 'POST' })])).toEqual([
      expect.stringContaining(
        'POST /orders/:id is free and can reach what DELETE /orders/:id (routes[0]) sells',
      ),
    ]);
    expect(faultsOf([sold, free('/orders/:id')])).toEqual([]);
  });

  it.each([
    ['of another upstream', priced('/report'), free('/*', { upstream: OTHER })],
    ['with a static answer', priced('/report'), { path: '/*', free: true, answer: { body: 'x' } }],
    ['above a static answer', { path: '/report', price: '1', answer: { body: 'x' } }, free('/*')],
    ['below another base path', priced('/report'), free('/*', { upstream: `${UPSTREAM}/public` })],
    ['that is narrower', priced('/files/*'), free('/files/readme')],
    ['of other paths', priced('/report'), free('/reports/*')],
    ['with a base path that is no text', priced('/report'), free('/*', { upstream: `${UPSTREAM}/%FF` })],
  ])('is none: %s', (_what, one, other) => {
    expect(faultsOf([one, other])).toEqual([]);
  });

  it('has the key for this alone', () => {
    expect(faultsOf([priced('/a', { widerThanPriced: true })])).toEqual([
      'routes[0].widerThanPriced: must not be set, because the route is not free',
    ]);
  });
});
