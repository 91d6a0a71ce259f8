import { expect, it } from 'vitest';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import type { ScanStatus } from '../../src/domain/scan.ts';
import { runActivity } from '../support/activity.ts';
import { openAlertsIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';
import { hasState, scanUntil } from './scan-steps.ts';

const SLOW_MS = 100;
/** The duration of each block request: several times the limit of a read. */
const BLOCK_MS = 500;
const fixture = useScanFixture();

function delayBlocks(): void {
  for (const node of fixture.localnet.rpcUrls.keys())
    fixture.localnet.controls.setFault(node, 'getBlock', { kind: 'delay', ms: BLOCK_MS });
}

/** The statuses of a turn until its scan has waited and is at the tip again. */
async function reportedUntilTail(): Promise<readonly ScanStatus[]> {
  const reported: ScanStatus[] = [];
  await scanUntil({ ...fixture.deps(), slowMs: SLOW_MS }, (status) => {
    reported.push(status);
    return status.state === 'tail' && reported.some(({ state }) => state === 'waiting');
  });
  return reported;
}

it('the scan reports a slow read while it runs, and clears the report once the blocks are read', async () => {
  await fixture.scanAll(fixture.scanner());
  // One block: the current read ends with it, however long it takes, and no read is left at the end of the turn.
  fixture.finalize(1);
  delayBlocks();
  const reported = await reportedUntilTail();
  const reason = expect.stringContaining('the next blocks have not been read for');
  expect(reported).toContainEqual(
    expect.objectContaining({ state: 'waiting', reason, blocksPerSecond: null }),
  );
  // The time counts from the start of the read, so that a read that ends before its next report also raises an alert.
  const first = reported.find(({ state }) => state === 'waiting');
  if (first === undefined || !('since' in first)) throw new Error('the scan reported no wait');
  expect(Date.parse(first.at ?? '') - Date.parse(first.since)).toBeGreaterThanOrEqual(SLOW_MS);
  expect(reported.at(-1)).toMatchObject({ state: 'tail', lag: '0' });
  fixture.localnet.controls.clearFaults();
});

it('a slow read raises an alert while it runs where no block was read for a minute', async () => {
  await fixture.scanAll(fixture.scanner());
  fixture.finalize(3);
  delayBlocks();
  const minuteAgo = { state: 'waiting', tip: null, reason: 'no node answers' } as const;
  await fixture.ledger.scanStatus.report(minuteAgo, 60_000);
  await reportedUntilTail();
  fixture.localnet.controls.clearFaults();
  const { rows } = await fixture.ledger.alerts.list({ open: false, limit: 10 });
  const message = expect.stringContaining('the next blocks have not been read for');
  expect(rows).toContainEqual(expect.objectContaining({ kind: 'scan_stopped', message }));
});

it('a slow read of the range that all others of a catch-up wait for raises an alert until it is joined, and no other range raises one', async () => {
  // On a slow machine an earlier turn may have ended in a wait longer than SLOW_MS: this one closes its alert.
  await scanUntil(fixture.deps(), hasState('tail'));
  fixture.finalize(30);
  const ranges = createDepositRanges({
    ...fixture.deps(),
    catchUpSlots: 10n,
    rangeBlocks: 8,
    slowMs: SLOW_MS,
  });
  const [first, second] = (await runActivity(() => ranges.planCatchUp())).ranges;
  if (first === undefined || second === undefined) throw new Error('the scan is far behind');
  delayBlocks();
  await runActivity(() => ranges.scanRange(second));
  expect(await openAlertsIn(fixture, 'scan_stopped')).toEqual([]);
  await runActivity(() => ranges.scanRange(first));
  expect(await openAlertsIn(fixture, 'scan_stopped')).toHaveLength(1);
  await runActivity(() => ranges.joinRanges());
  expect(await openAlertsIn(fixture, 'scan_stopped')).toEqual([]);
});
