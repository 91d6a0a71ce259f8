import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { DepositAnnouncer } from '../../src/deposits/credits/announce.ts';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { ScanAlarms } from '../../src/deposits/scan/failure-alerts.ts';
import type { ScanStatus } from '../../src/domain/scan.ts';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { rpcCalls } from '../solana/rpc-calls.ts';
import { useScanFixture } from './scan-fixture.ts';
import { hasState, scanUntil, setStandstillStart } from './scan-steps.ts';

const fixture = useScanFixture();
/** Enough time for a scan that is not paused to start a turn. */
const SEVERAL_LOOKS_MS = 1_000;

/** A wallet with one finalized deposit that is not confirmed yet. */
async function pendingDeposit(lamports: bigint): Promise<string> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, lamports);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  return wallet;
}

async function stateOf(wallet: string): Promise<string | undefined> {
  return (await fixture.depositsOf(wallet))[0]?.state;
}

async function openAlerts(): Promise<readonly { kind: string; subject: string }[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, subject }) => ({ kind, subject }));
}

describe('the confirmation of a deposit', () => {
  it('asks a quorum once for each transaction', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const payer = Keypair.generate();
    await fixture.localnet.airdrop(payer.publicKey.toBase58(), 1_000_000_000n);
    for (let made = 0; made < 12; made += 1) await fixture.sweep(payer, wallet, 2_000_000n + BigInt(made));
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    const deps = fixture.deps();
    const before = rpcCalls(fixture.pool);
    expect(await new DepositConfirmer(deps).confirm()).toBe(12);
    expect(rpcCalls(fixture.pool) - before).toBe(12 * fixture.pool.quorum);
  });

  it('waits where only one node returns the transaction', async () => {
    const wallet = await pendingDeposit(2_000_000n);
    fixture.localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });
    expect(await fixture.confirm()).toBe(0);
    expect(await stateOf(wallet)).toBe('pending');
    expect(await openAlerts()).toEqual([]);
    fixture.localnet.controls.clearFaults();
    expect(await fixture.confirm()).toBe(1);
    expect(await stateOf(wallet)).toBe('final');
  });

  it('raises an alert after a long wait, and closes the alert when the deposit is confirmed', async () => {
    const wallet = await pendingDeposit(3_000_000n);
    const [deposit] = await fixture.depositsOf(wallet);
    fixture.localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });
    const confirmer = new DepositConfirmer({ ...fixture.deps(), alertAfterMs: -1 });
    for (let looks = 0; looks < 3; looks += 1) await confirmer.confirm();
    const alert = { kind: 'deposit_unconfirmed', subject: deposit && depositId(deposit), count: 1 };
    const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
    expect(rows).toMatchObject([alert]);
    fixture.localnet.controls.clearFaults();
    await fixture.confirm();
    expect(await openAlerts()).toEqual([]);
  });

  it('finalizes nothing and raises an alert at once where nodes return another outcome', async () => {
    const wallet = await pendingDeposit(4_000_000n);
    const [deposit] = await fixture.depositsOf(wallet);
    const other = await pendingDeposit(5_000_000n);
    const terms = { encoding: 'jsonParsed', commitment: 'finalized', maxSupportedTransactionVersion: 1 };
    const params = [deposit?.signature, terms];
    const response = await fetch(fixture.localnet.rpcUrls[1] ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params }),
    });
    const { result } = (await response.json()) as { result: { meta: object } };
    const failed = { ...result, meta: { ...result.meta, err: { InstructionError: [0, 'Custom'] } } };
    fixture.localnet.controls.setFault(1, 'getTransaction', { kind: 'result', result: failed });
    expect(await fixture.confirm()).toBe(0);
    expect([await stateOf(wallet), await stateOf(other)]).toEqual(['pending', 'pending']);
    expect(await openAlerts()).toContainEqual({
      kind: 'deposit_unconfirmed',
      subject: deposit && depositId(deposit),
    });
    fixture.localnet.controls.clearFaults();
    expect(await fixture.confirm()).toBe(2);
  });

  it('adds a deposit that one node left out of the block, with an alert', async () => {
    await fixture.scanAll(fixture.scanner());
    const [shown, hidden] = [await fixture.newDepositAddress(), await fixture.newDepositAddress()];
    const payer = Keypair.generate();
    await fixture.localnet.airdrop(payer.publicKey.toBase58(), 1_000_000_000n);
    await fixture.sweep(payer, [shown, hidden], 8_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    const lost = await fixture.depositsOf(hidden);
    await fixture.lose(lost);
    await fixture.confirm();
    expect(await stateOf(shown)).toBe('final');
    await fixture.confirm();
    expect(await fixture.depositsOf(hidden)).toMatchObject([{ state: 'final', amount: 8_000_000n }]);
    const subject = lost[0]?.signature;
    expect(await openAlerts()).toContainEqual({ kind: 'deposit_missed', subject });
    const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 9 });
    const seen = rows.filter((row) => row.subject === subject).map(({ position }) => position);
    await fixture.ledger.alerts.acknowledge(seen, { actor: 'ops', reason: 'node a is thrown out' });
  });

  it('compares the transaction alone, and ignores changes of the asset terms', async () => {
    const wallet = await pendingDeposit(6_000_000n);
    await fixture.list('SOL', null, 9, 10_000_000n);
    expect(await fixture.confirm()).toBe(1);
    expect(await stateOf(wallet)).toBe('final');
    await fixture.list('SOL', null, 9);
  });
});

describe('an announcement', () => {
  it('of a confirmed block becomes the deposit when the block is finalized (private-channels #189)', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const { controls } = fixture.localnet;
    const stuck = controls.chain.at('finalized').slot;
    for (const node of [0, 1]) controls.setFault(node, '*', { kind: 'stuck-finality', slot: stuck });
    await fixture.localnet.airdrop(wallet, 7_000_000n);
    await fixture.scanAll(fixture.scanner());
    expect(await stateOf(wallet)).toBeUndefined();
    const announcer = new DepositAnnouncer(fixture.deps());
    await announcer.announce();
    await announcer.announce();
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ state: 'pending', finalizedAt: null }]);
    expect(await fixture.confirm()).toBe(0);
    controls.clearFaults();
    await fixture.scanAll(fixture.scanner());
    expect(await fixture.confirm()).toBe(1);
    const { events } = await fixture.ledger.depositFeed.events(0n, 100, { address: wallet });
    expect(events.map(({ kind }) => kind)).toEqual(['pending', 'final']);
  });
});

describe('a turn of the scan', () => {
  const at = '2026-01-01T00:02:00.000Z';
  const cursor = { slot: '7', blockhash: 'x', height: '7' };
  const position = { cursor, tip: '9', lag: '2', blocksPerSecond: null, at };
  const tail: ScanStatus = { ...position, state: 'tail' };
  const stopped: ScanStatus = { ...position, state: 'stopped', reason: 'a version', since: at };
  const alarms = () => new ScanAlarms(fixture.ledger);

  it('keeps the alert about a standstill open until the scan makes progress', async () => {
    const same = alarms();
    const gap = { from: '8', to: '8' };
    await same.update({ ...position, state: 'gap', gap, reason: 'no node shows it', since: at });
    expect(await openAlerts()).toEqual([{ kind: 'scan_gap', subject: '8' }]);
    await same.update(stopped);
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    await same.update(tail);
    expect(await openAlerts()).toEqual([]);
  });

  it('raises no alert for a minute, so that nodes can recover, even where another process saw the standstill begin', async () => {
    const waiting = { ...position, state: 'waiting', reason: 'no node answers' } as const;
    await alarms().update({ ...waiting, since: '2026-01-01T00:01:01Z' });
    expect(await openAlerts()).toEqual([]);
    await alarms().update({ ...waiting, since: '2026-01-01T00:01:00Z' });
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    await alarms().update(tail);
  });

  it('raises an alert about a scan that is ten minutes behind, and closes it when the scan has caught up', async () => {
    const same = alarms();
    const behind = (lag: string): ScanStatus => ({ ...position, lag, state: 'catch-up' });
    await same.update(behind('1500'));
    expect(await openAlerts()).toEqual([]);
    await same.update(behind('1501'));
    expect(await openAlerts()).toEqual([{ kind: 'scan_behind', subject: 'sluice' }]);
    await same.update(behind('2'));
    expect(await openAlerts()).toEqual([]);
  });

  it('closes the alert of another process when the scan makes progress', async () => {
    await alarms().update(stopped);
    await alarms().update(tail);
    expect(await openAlerts()).toEqual([]);
  });

  it('reads, confirms and raises nothing while the scan is paused, and keeps the open alerts', async () => {
    const wallet = await pendingDeposit(7_000_000n);
    const pause = { actor: 'ops', reason: 'to see' };
    await fixture.ledger.scanPauses.begin(pause);
    const slot = (await fixture.ledger.scan.cursor())?.slot.toString();
    const paused = await scanUntil(fixture.deps(), () => sleep(SEVERAL_LOOKS_MS, true));
    expect(paused).toMatchObject({ state: 'paused', ...pause, cursor: { slot } });
    expect(await stateOf(wallet)).toBe('pending');
    await alarms().update({ ...position, state: 'paused', ...pause, since: new Date(0).toISOString() });
    expect(await openAlerts()).toEqual([]);
    await fixture.ledger.scanPauses.end(pause);
    await scanUntil(fixture.deps(), async () => (await stateOf(wallet)) === 'final');
    expect(await stateOf(wallet)).toBe('final');
  });

  it('prunes headers behind the cursor', async () => {
    fixture.finalize(9);
    await fixture.scanAll(fixture.scanner());
    const cursorSlot = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const kept = () => fixture.ledger.scan.headersBetween(0n, cursorSlot);
    await scanUntil({ ...fixture.deps(), retainedSlots: 4n }, async () => (await kept()).length <= 5);
    expect((await kept()).map(({ slot }) => cursorSlot - slot)).toEqual([4n, 3n, 2n, 1n, 0n]);
  });

  it('raises the alert about a standstill that began in an earlier turn', async () => {
    const silent = { kind: 'http', status: 503 } as const;
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, '*', silent);
    const turn = (state: ScanStatus['state']) => scanUntil(fixture.deps(), hasState(state));
    await turn('waiting');
    expect(await openAlerts()).toEqual([]);
    const since = new Date(Date.now() - 60_000);
    await setStandstillStart(fixture.ledger, since);
    expect(await turn('waiting')).toMatchObject({ since: since.toISOString() });
    expect(await openAlerts()).toEqual([{ kind: 'scan_stopped', subject: 'sluice' }]);
    fixture.localnet.controls.clearFaults();
    await turn('tail');
    expect(await openAlerts()).toEqual([]);
  });
});
