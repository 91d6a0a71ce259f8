import { expect, it } from 'vitest';
import { chain, START } from './chain-of-blocks.ts';
import { commit, lockWaits, mustNotRematch, useDepositLedgers } from './deposit-ledger.ts';
import { codeOf } from './support.ts';

const use = useDepositLedgers();
const OPS = { who: 'ops', why: 'a node is suspected' };
const blocks = chain(START, [], []);

async function stage() {
  const watchVersion = await use.ledger.watched.version();
  const range = { from: 101n, to: 102n, blocks, watchVersion, rematch: mustNotRematch };
  return use.other.stagedRanges.stage(range);
}

it('a pause holds the cursor for every process, until it is ended, and stays on record', async () => {
  await stage();
  await use.ledger.scanPauses.begin(OPS);
  await use.ledger.scanPauses.begin({ who: 'another', why: 'as well' });
  expect(await use.other.scanPauses.open()).toMatchObject({ ...OPS, endedAt: null });
  expect(await codeOf(commit(use.other, blocks))).toBe('ScanPaused');
  expect(await codeOf(use.other.stagedRanges.join(START))).toBe('ScanPaused');
  expect(await codeOf(stage())).toBe('ScanPaused');
  expect(await use.ledger.scan.cursor()).toMatchObject({ slot: START.slot });
  await use.other.scanPauses.end({ who: 'night shift', why: 'the node is gone' });
  expect(await use.ledger.scanPauses.open()).toBeUndefined();
  expect(await commit(use.other, blocks)).toBe('committed');
  const rows = await use.ledger.db.selectFrom('scanPause').selectAll().execute();
  expect(rows).toMatchObject([{ ...OPS, endedBy: 'night shift', endedWhy: 'the node is gone' }]);
});

it('a pause waits for the commit that has begun, and no later one passes it', async () => {
  let go = (): void => undefined;
  let began = (): void => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  const begun = new Promise<void>((resolve) => (began = resolve));
  const committing = use.other.db.transaction().execute(async (trx) => {
    await trx.selectFrom('scanCursor').selectAll().forUpdate().execute();
    began();
    await held;
  });
  await begun;
  let paused = false;
  const pausing = use.ledger.scanPauses.begin(OPS).then(() => (paused = true));
  await lockWaits(use.ledger.db);
  expect(paused).toBe(false);
  go();
  await Promise.all([committing, pausing]);
  expect(await codeOf(commit(use.other, blocks))).toBe('ScanPaused');
});
