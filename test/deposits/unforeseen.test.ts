import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it, test, vi } from 'vitest';
import { createDepositScan, type DepositScanDeps } from '../../src/activities/deposit-scan.ts';
import type { ScanStatus } from '../../src/domain/scan.ts';
import { isOutdated } from '../../src/domain/scan-view.ts';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom();

async function stateOf(wallet: string): Promise<string | undefined> {
  return (await room.depositsOf(wallet))[0]?.state;
}

async function openAlerts(): Promise<readonly { kind: string; subject: string }[]> {
  const { rows } = await room.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, subject }) => ({ kind, subject }));
}

async function newBlocks(): Promise<string> {
  const wallet = await room.newDepositAddress();
  await room.localnet.airdrop(wallet, 9_000_000n);
  room.finalize();
  return wallet;
}

describe('a step that fails for a reason that nobody has foreseen', () => {
  const note = /^a step fails for a reason that nobody has foreseen: TypeError: boom/;
  const tail = (deps: DepositScanDeps, since: string | null): Promise<ScanStatus> =>
    new MockActivityEnvironment().run(() => createDepositScan(deps).scanTail({ seconds: 1, since }));
  const MINUTES_AGO = new Date(Date.now() - 120_000).toISOString();

  it('is tried again, shown, and alarmed after a minute, until it works', async () => {
    await room.scanAll(room.scanner());
    await newBlocks();
    const deps = room.deps();
    const match = vi.spyOn(deps.matcher, 'match').mockRejectedValue(new TypeError('boom'));
    expect(await tail(deps, null)).toMatchObject({ state: 'waiting', why: expect.stringMatching(note) });
    expect(await openAlerts()).toEqual([]);
    expect((await tail(deps, MINUTES_AGO)).state).toBe('waiting');
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    match.mockRestore();
    expect((await tail(deps, MINUTES_AGO)).state).toBe('tail');
    expect(await openAlerts()).toEqual([]);
  });

  it('beside the scan keeps no block from being read, and is told as loudly', async () => {
    const wallet = await newBlocks();
    const deps = room.deps();
    const asked = vi.spyOn(deps.ledger.deposits, 'unconfirmed').mockRejectedValue(new TypeError('boom'));
    expect(await tail(deps, MINUTES_AGO)).toMatchObject({
      state: 'waiting',
      why: expect.stringMatching(/^confirming deposits: .*boom/),
    });
    expect(await stateOf(wallet)).toBe('pending');
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    asked.mockRestore();
    await tail(deps, null);
    expect([await stateOf(wallet), await openAlerts()]).toEqual(['final', []]);
  });
});

test.each([
  ['tail', 299, false],
  ['tail', 301, true],
  ['catch-up', 301, false],
] as const)('a run that heard of %s %i seconds ago is outdated: %s', (state, seconds, outdated) => {
  const now = new Date();
  const at = new Date(now.getTime() - seconds * 1_000).toISOString();
  expect(isOutdated({ state, cursor: null, tip: null, lag: null, blocksPerSecond: null, at }, now)).toBe(
    outdated,
  );
});
