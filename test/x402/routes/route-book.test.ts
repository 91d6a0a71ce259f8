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
const target = fc.constantFrom('/a', '/b', '/a/1', '/a/b', '/a/b/c', '/x/c', '/none', '//');

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
        if (now.kind === 'route' || !isPaid) expect(found).toEqual(now);
        else if (found.kind === 'route') expect(book.former).toContain(found.route);
        else expect([found, matchRoute(book.former, 'GET', at).kind]).toEqual([now, 'refused']);
      },
    ),
  );
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
