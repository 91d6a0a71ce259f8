import { expect, it } from 'vitest';
import { Prefetch } from '../../../src/solana/scan/prefetch.ts';

const SIZE = 10;

/** The budget is two blocks. */
function prefetch(): { readonly ahead: Prefetch<{ slot: bigint; size: number }>; readonly loaded: bigint[] } {
  const loaded: bigint[] = [];
  const ahead = new Prefetch(
    async (slot: bigint) => {
      loaded.push(slot);
      return { slot, size: SIZE };
    },
    { concurrency: 2, budgetBytes: 2 * SIZE },
  );
  return { ahead, loaded };
}

it('the prefetch loads the lowest blocks that fit the budget, and more as blocks are used', async () => {
  const { ahead, loaded } = prefetch();
  expect(ahead.request([1n, 2n, 3n])).toEqual([1n]);
  await ahead.take(1n);
  expect(ahead.request([1n, 2n, 3n])).toEqual([1n, 2n]);
  await ahead.take(2n);
  expect(ahead.request([1n, 2n, 3n])).toEqual([1n, 2n]);
  expect(ahead.bytes).toBe(2 * SIZE);
  ahead.dropUpTo(1n);
  expect(ahead.request([2n, 3n, 4n])).toEqual([2n, 3n]);
  await ahead.take(3n);
  expect(loaded).toEqual([1n, 2n, 3n]);
});

it('the prefetch loads one block alone until it knows the size of blocks', async () => {
  const { ahead, loaded } = prefetch();
  ahead.request([1n, 2n]);
  ahead.request([1n, 2n, 3n]);
  await ahead.take(1n);
  expect(loaded).toEqual([1n]);
});

it('the prefetch loads the lowest block even when later ones fill the budget, because a reader waits for it', async () => {
  const { ahead } = prefetch();
  ahead.request([2n]);
  await ahead.take(2n);
  ahead.request([2n, 3n]);
  await Promise.all([ahead.take(2n), ahead.take(3n)]);
  expect(ahead.request([1n, 2n, 3n, 4n])).toEqual([1n, 2n, 3n]);
  expect(await ahead.take(1n)).toEqual({ slot: 1n, size: SIZE });
});

it('the prefetch drops a block that failed to load, so that it is requested again', async () => {
  let isDown = true;
  const ahead = new Prefetch(
    async (slot: bigint) => {
      if (isDown) throw new Error('no node shows it');
      return { slot, size: SIZE };
    },
    { concurrency: 1, budgetBytes: SIZE },
  );
  ahead.request([1n]);
  expect(await ahead.take(1n)).toBeNull();
  isDown = false;
  ahead.request([1n]);
  expect(await ahead.take(1n)).toEqual({ slot: 1n, size: SIZE });
});

it('the prefetch loads growing blocks up to its concurrency limit, and one at a time from then on', async () => {
  const [short, long, budgetBytes] = [1, 60, 64];
  const loaded: bigint[] = [];
  const load = async (slot: bigint) => {
    loaded.push(slot);
    return { slot, size: slot < 10n ? short : long };
  };
  const ahead = new Prefetch(load, { concurrency: 8, budgetBytes });
  ahead.request([1n]);
  await ahead.take(1n);
  ahead.dropUpTo(1n);
  const slots = Array.from({ length: 40 }, (_, nth) => 10n + BigInt(nth));
  const wanted = ahead.request(slots);
  expect(wanted).toEqual(slots);
  const got = await Promise.all(wanted.map((slot) => ahead.take(slot)));
  expect(loaded).toEqual([1n, ...slots.slice(0, 8)]);
  expect(got.map((block) => block?.slot ?? null)).toEqual([
    ...slots.slice(0, 8),
    ...slots.slice(8).map(() => null),
  ]);
  ahead.dropUpTo(17n);
  expect(ahead.request(slots.slice(8))).toEqual([18n]);
  expect(await ahead.take(18n)).toMatchObject({ slot: 18n });
});

it('the prefetch loads the lowest block when its turn comes, however much is in memory', async () => {
  const { ahead } = prefetch();
  ahead.request([5n]);
  await ahead.take(5n);
  ahead.request([5n, 6n]);
  await ahead.take(6n);
  ahead.request([1n, 5n, 6n]);
  expect(await ahead.take(1n)).toEqual({ slot: 1n, size: SIZE });
});
