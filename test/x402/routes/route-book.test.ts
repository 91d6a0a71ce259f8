import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findRoute, rivalsOf, routeBook } from '../../../src/x402/routes/route-book.ts';
import { matchRoute } from '../../../src/x402/routes/target.ts';
import { free, priced, read } from './file.ts';

const PATHS = ['/a', '/b', '/a/:id', '/a/b', '/a/*', '/:any/c'];
/** The routes of a valid file: of patterns that cross, the later ones are left out. */
const version = fc
  .subarray(PATHS.flatMap((path) => [priced(path), free(path, { widerThanPriced: true })]))
  .map((entries) => {
    const kept: object[] = [];
    for (const entry of entries)
      try {
        read([...kept, entry]);
        kept.push(entry);
      } catch {}
    return kept.length === 0 ? [] : read(kept);
  });
const target = fc.constantFrom('/a', '/b', '/a/1', '/a/b', '/a/b/c', '/a/B', '/x/c', '/none', '//');

it('a request gets the route of the newest version; a former route serves only payments that no current route matches', () => {
  fc.assert(
    fc.property(
      version,
      fc.array(version, { maxLength: 3 }),
      target,
      fc.boolean(),
      (current, earlier, at, isPaid) => {
        const book = routeBook(current, new Date(0), earlier);
        const found = findRoute(book, 'GET', at, isPaid);
        const now = matchRoute(current, 'GET', at);
        if (now.kind === 'route' || !isPaid) {
          expect(found).toEqual(now);
          return;
        }
        const former = matchRoute(book.former, 'GET', at);
        const route = former.kind === 'route' ? former.route : null;
        const ownVersion = earlier.find((routes) => routes.some((one) => one === route)) ?? [];
        const then = matchRoute(ownVersion, 'GET', at);
        expect(found).toEqual(then.kind === 'route' && then.route === route ? former : now);
      },
    ),
  );
});

it('a removed cheap route does not sell another spelling of the path of a dearer route that stays', () => {
  const dear = priced('/a/b', { price: '5' });
  const book = routeBook(read([dear]), new Date(0), [read([dear, priced('/a/*')])]);
  expect(findRoute(book, 'GET', '/a/B', true)).toMatchObject({ kind: 'refused', status: 404 });
  expect(findRoute(book, 'GET', '/a/c', true)).toMatchObject({ kind: 'route', route: { id: 'GET /a/*' } });
});

it('the rivals of a route are all other priced routes of any version that match the request, each once', () => {
  fc.assert(
    fc.property(version, fc.array(version, { maxLength: 3 }), target, (current, earlier, at) => {
      const book = routeBook(current, new Date(0), earlier);
      const found = findRoute(book, 'GET', at, true);
      if (found.kind !== 'route' || found.route.kind !== 'priced') return;
      const { id } = found.route;
      const rivals = rivalsOf(book, found.route, found.target).map((one) => one.id);
      const matching = [current, ...earlier]
        .flat()
        .filter((one) => one.kind === 'priced' && matchRoute([one], 'GET', at).kind === 'route');
      const expected = new Set(matching.map((one) => one.id).filter((one) => one !== id));
      expect(rivals.toSorted()).toEqual(earlier.length === 0 ? [] : [...expected].toSorted());
    }),
  );
});
