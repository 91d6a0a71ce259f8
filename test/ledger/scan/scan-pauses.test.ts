import { expect, it } from 'vitest';
import { lockCursor } from '../../../src/ledger/scan/scan-cursor.ts';
import { lockUnpausedCursor, openPause } from '../../../src/ledger/scan/scan-pauses.ts';
import { address, chain, childOf, EMPTY_FINDING, inflow, START } from '../chain-of-blocks.ts';
import {
  commit,
  confirmationOf,
  importWallets,
  useDepositLedgers,
  waitForLockWaits,
} from '../deposit-ledger.ts';
import { codeOf } from '../support.ts';

const use = useDepositLedgers();
const OPS = { actor: 'ops', reason: 'a node is suspected' };
const blocks = chain(START, [], []);

async function stage() {
  const watchVersion = await use.ledger.watched.version();
  const range = { from: 101n, to: 102n, blocks, watchVersion };
  return use.other.stagedRanges.stage(range);
}

it('a pause holds the cursor for every process until it is ended, and stays recorded', async () => {
  await stage();
  await use.ledger.scanPauses.begin(OPS);
  await use.ledger.scanPauses.begin({ actor: 'another', reason: 'as well' });
  expect(await openPause(use.other.db)).toMatchObject({ ...OPS, endedAt: null });
  expect(await codeOf(commit(use.other, blocks))).toBe('ScanPaused');
  expect(await codeOf(use.other.stagedRanges.join(START))).toBe('ScanPaused');
  expect(await codeOf(stage())).toBe('ScanPaused');
  expect(await use.ledger.scan.cursor()).toMatchObject({ slot: START.slot });
  await use.other.scanPauses.end({ actor: 'night shift', reason: 'the node is gone' });
  expect(await openPause(use.ledger.db)).toBeUndefined();
  expect(await commit(use.other, blocks)).toBe('committed');
  const rows = await use.ledger.db.selectFrom('scanPause').selectAll().execute();
  expect(rows).toMatchObject([{ ...OPS, endedBy: 'night shift', endedReason: 'the node is gone' }]);
});

it('a pause keeps deposits that nodes already answered for from being confirmed or announced', async () => {
  const wallet = address('ann');
  await importWallets(use.ledger, wallet);
  await commit(use.ledger, chain(START, [inflow(wallet)]));
  const asked = (await use.other.deposits.unconfirmed(1)).map((row) => confirmationOf(row));
  const confirmed = {
    header: childOf(childOf(START)),
    finding: { ...EMPTY_FINDING, inflows: [inflow(wallet, 6n)] },
  };
  await use.ledger.scanPauses.begin(OPS);
  expect(await codeOf(use.other.deposits.confirm(asked))).toBe('ScanPaused');
  expect(await codeOf(use.other.deposits.announce([confirmed]))).toBe('ScanPaused');
  await use.ledger.scanPauses.end(OPS);
  expect(await use.other.deposits.confirm(asked)).toHaveLength(1);
  await use.other.deposits.announce([confirmed]);
  const { rows } = await use.ledger.deposits.list({ limit: 9 });
  expect(rows.map(({ state }) => state)).toEqual(['pending', 'final']);
});

it.each([
  ['commit', lockCursor],
  ['confirmation', lockUnpausedCursor],
])('a pause waits for the %s in progress, and no later one starts', async (_name, hold) => {
  let go = (): void => undefined;
  let began = (): void => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  const begun = new Promise<void>((resolve) => (began = resolve));
  const committing = use.other.db.transaction().execute(async (trx) => {
    await hold(trx);
    began();
    await held;
  });
  await begun;
  let paused = false;
  const pausing = use.ledger.scanPauses.begin(OPS).then(() => (paused = true));
  await waitForLockWaits(use.ledger.db);
  expect(paused).toBe(false);
  go();
  await Promise.all([committing, pausing]);
  expect(await codeOf(commit(use.other, blocks))).toBe('ScanPaused');
});
