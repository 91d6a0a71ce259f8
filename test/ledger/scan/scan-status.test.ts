import { expect, it } from 'vitest';
import type { ScanReport, ScanStatus } from '../../../src/domain/scan.ts';
import { childOf, START } from '../chain-of-blocks.ts';
import { useDepositLedgers } from '../deposit-ledger.ts';

const use = useDepositLedgers();
const OPS = { actor: 'ops', reason: 'to see' };
const TAIL: ScanReport = { state: 'tail', tip: 105n, reason: null };
const WAITING: ScanReport = { state: 'waiting', tip: null, reason: 'no node answers' };

/** Makes the last report this many seconds older. */
async function age(seconds: number): Promise<void> {
  const at = new Date(Date.now() - 1_000 * seconds);
  await use.ledger.db.updateTable('scanStatus').set({ at }).execute();
}

const sinceOf = (status: ScanStatus): string | null => ('since' in status ? status.since : null);

it('the scan status is the newest report with the cursor, in every process', async () => {
  expect(await use.other.scanStatus.read()).toMatchObject({ state: 'absent', tip: null, at: null });
  const reported = await use.ledger.scanStatus.report(TAIL);
  const cursor = { slot: '100', blockhash: START.blockhash, height: `${START.height}` };
  expect(reported).toMatchObject({ state: 'tail', cursor, tip: '105', lag: '5' });
  expect(await use.other.scanStatus.read()).toEqual(reported);
  expect(await use.ledger.scanStatus.report({ ...TAIL, tip: 99n })).toMatchObject({ tip: '100', lag: '0' });
});

it('the scan status keeps the start of a standstill over processes and states, until the scan makes progress', async () => {
  await use.ledger.scanStatus.report(TAIL);
  const first = await use.ledger.scanStatus.report(WAITING, 5_000);
  expect(Date.parse(first.at ?? '') - Date.parse(sinceOf(first) ?? '')).toBe(5_000);
  for (const report of [WAITING, { ...WAITING, state: 'stopped' } as const])
    expect(sinceOf(await use.other.scanStatus.report(report))).toBe(sinceOf(first));
  expect(sinceOf(await use.other.scanStatus.report(TAIL))).toBeNull();
});

it('the scan status of a pause is the stored one, and the pause does not count as a standstill', async () => {
  await use.ledger.scanPauses.begin(OPS);
  await use.ledger.scanStatus.report(WAITING, 90_000);
  expect(await use.ledger.scanStatus.read()).toMatchObject({ state: 'paused', ...OPS });
  await use.ledger.scanStatus.report({ state: 'paused', tip: 107n, reason: 'ops paused the scan' });
  expect(await use.ledger.scanStatus.read()).toMatchObject({ state: 'paused', ...OPS, lag: '7' });
  await use.ledger.scanPauses.end(OPS);
  expect(await use.ledger.scanStatus.read()).toMatchObject({ state: 'starting' });
  const { since, at } = (await use.ledger.scanStatus.report(WAITING)) as ScanStatus & { since: string };
  expect(since).toBe(at);
});

it('the scan status of a gap names its slots while it is open', async () => {
  await use.ledger.gaps.open(START, { ...childOf(START), parentSlot: 105n, slot: 106n, height: 99n });
  const gap = { from: '101', to: '105' };
  expect(await use.ledger.scanStatus.report({ ...WAITING, state: 'gap' })).toMatchObject({
    state: 'gap',
    gap,
  });
  await use.ledger.gaps.close({ from: 101n, to: 105n, ...OPS });
  expect(await use.ledger.scanStatus.read()).toMatchObject({ state: 'starting' });
});

it('the scan status averages the rate over about a minute, and anew after a standstill or silence', async () => {
  const { db, scanStatus } = use.ledger;
  /** The rate after a measurement that began this many seconds ago, this many blocks earlier. */
  const rateAfter = async (seconds: number, blocks: bigint) => {
    const measuredAt = new Date(Date.now() - 1_000 * seconds);
    const measuredHeight = START.height - blocks;
    await db.updateTable('scanStatus').set({ measuredAt, measuredHeight }).execute();
    return (await scanStatus.report(TAIL)).blocksPerSecond;
  };
  expect(await scanStatus.report(TAIL)).toMatchObject({ blocksPerSecond: null });
  expect(await rateAfter(10_000, 30_000n)).toBe(3);
  const slower = await rateAfter(30, 0n);
  expect(slower).toBeGreaterThan(0);
  expect(slower).toBeLessThan(3);
  await age(90);
  expect(await rateAfter(10_000, 30_000n)).toBeNull();
  expect(await rateAfter(10_000, 30_000n)).toBe(3);
  expect(await scanStatus.report(WAITING)).toMatchObject({ blocksPerSecond: null });
});

it('the scan status of a worker that reads ahead is a catch-up, which ends no standstill before blocks are committed', async () => {
  const states = async (report: ScanReport) => {
    await use.ledger.scanStatus.report(report);
    await age(2);
    await use.ledger.scanStatus.recordActivity(true);
    return (await use.ledger.scanStatus.read()).state;
  };
  expect(await states(TAIL)).toBe('catch-up');
  expect(await states(WAITING)).toBe('waiting');
  await age(90);
  expect(await use.ledger.scanStatus.read()).toMatchObject({ state: 'silent' });
  await use.ledger.scanStatus.recordActivity(false);
  expect(await use.ledger.scanStatus.read()).toMatchObject({ state: 'waiting' });
});
