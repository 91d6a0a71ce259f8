import { expect, test } from 'vitest';
import { measureLargeBlocks } from '../../bench/scan/large-block.ts';

const BLOCKS = 8;
const PATIENCE_MS = 600_000;
/** docs/figures.md states these numbers. */
const MAX_MEGABYTES = 600;
const MAX_IN_CATCH_UP = 1_000;

test('the scan reads blocks of 50 MB from nodes and commits their rows in bounded memory', {
  timeout: PATIENCE_MS,
}, async () => {
  const figures = await measureLargeBlocks(BLOCKS);
  expect(figures.largeBlockMegabytes).toBeGreaterThan(49);
  expect(figures.largeBlockPeakMegabytes).toBeLessThan(MAX_MEGABYTES);
  expect(figures.largeBlockCatchUpPeakMegabytes).toBeLessThan(MAX_IN_CATCH_UP);
});
