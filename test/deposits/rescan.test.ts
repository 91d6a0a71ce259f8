import { CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import type { RescanResult } from '../../src/domain/backfill.ts';
import { rangeOf } from '../../src/domain/scan.ts';
import type { BackfillRow } from '../../src/ledger/scan/backfills.ts';
import { environmentOfRun } from '../support/activity.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const NODES = [0, 1, 2];
const BY = { actor: 'ops', reason: 'to see' };

async function newestRescan(): Promise<BackfillRow | undefined> {
  return (await fixture.ledger.backfills.list({ limit: 1 })).rows[0];
}

async function rescan(
  range: { readonly from: bigint; readonly to: bigint },
  environment = environmentOfRun(),
): Promise<number> {
  const order = { from: range.from.toString(), to: range.to.toString(), ...BY };
  const activities = createDepositRescan(fixture.deps());
  return environment.run(async () => (await activities.rescan(order)).blocks);
}

/** Scanned deposits in blocks of their own; returns the first and the last slot. */
async function paid(wallet: string, amounts: readonly bigint[]): Promise<{ from: bigint; to: bigint }> {
  const from = BigInt(fixture.localnet.controls.produceSlot());
  for (const amount of amounts) await fixture.localnet.airdrop(wallet, amount);
  const to = BigInt(fixture.localnet.controls.produceSlot());
  fixture.finalize();
  return { from, to };
}

/** The smallest first. */
async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  const amounts = (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
  return amounts.toSorted((a, b) => Number(a - b));
}

/** The signatures that an alert reports as missed; closes the alert. */
async function missed(): Promise<readonly string[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  const found = rows.filter(({ kind }) => kind === 'deposit_missed').map(({ subject }) => subject);
  for (const subject of found) await fixture.ledger.alerts.close('deposit_missed', subject);
  return found;
}

const AMOUNTS = [2_000_000n, 3_000_000n, 4_000_000n];

describe('a rescan', () => {
  it('raises one alert for each missed deposit, and none for other transactions', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const range = await paid(wallet, AMOUNTS);
    await fixture.scanAll(fixture.scanner());
    expect(await rescan(range)).toBe(Number(range.to - range.from) + 1);
    expect(await missed()).toEqual([]);
    const [lost] = await fixture.depositsOf(wallet);
    await fixture.lose(lost === undefined ? [] : [lost]);
    await rescan(range);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    expect(await missed()).toEqual([lost?.signature]);
    await rescan(range);
    expect(await missed()).toEqual([]);
  });

  it('records what a quorum lists, and waits for a quorum, whatever one node leaves out', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const range = await paid(wallet, AMOUNTS);
    await fixture.scanAll(fixture.scanner());
    await fixture.lose(await fixture.depositsOf(wallet));
    const { controls } = fixture.localnet;
    controls.setFault(0, 'getBlock', { kind: 'false-block', lie: 'leave-out' });
    for (const away of [1, 2]) controls.setFault(away, 'getBlock', { kind: 'http', status: 503 });
    await expect(rescan(range)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    for (const away of [1, 2]) controls.clearFaults(away);
    await rescan(range);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    expect(await missed()).toHaveLength(AMOUNTS.length);
  });

  it('raises no alert about a payment of before its wallet was watched, as no scan could have found it', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const range = await paid(wallet, AMOUNTS);
    await fixture.scanAll(fixture.scanner());
    await fixture.ledger.addresses.import([{ address: wallet, path: 'm/late' }]);
    await rescan(range);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    expect(await missed()).toEqual([]);
  });

  it('does not report blocks as read where its run ends before them', async () => {
    const to = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const environment = environmentOfRun();
    environment.cancel();
    await expect(rescan({ from: to - 3n, to }, environment)).rejects.toThrow(CancelledFailure);
  });

  it('continues where the attempt before ended, and the database has the error of that attempt', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const range = await paid(wallet, AMOUNTS);
    await fixture.scanAll(fixture.scanner());
    await fixture.lose(await fixture.depositsOf(wallet));
    const from = range.to - 11n;
    const { controls } = fixture.localnet;
    for (const node of NODES)
      controls.setFault(node, '*', { kind: 'hole', from: Number(from) + 8, to: Number(range.to) });
    await expect(rescan({ from, to: range.to })).rejects.toMatchObject({ code: 'NoHealthyNode' });
    const trouble = expect.stringContaining('too few nodes');
    expect(await newestRescan()).toMatchObject({ blocks: 8, readTo: from + 7n, endedAt: null, trouble });
    controls.clearFaults();
    for (const node of NODES)
      controls.setFault(node, '*', { kind: 'hole', from: Number(from), to: Number(from) + 7 });
    expect(await rescan({ from, to: range.to })).toBe(12);
    const found = AMOUNTS.length;
    expect(await newestRescan()).toMatchObject({ ...BY, blocks: 12, found, trouble: null });
    expect((await newestRescan())?.endedAt).toBeInstanceOf(Date);
    expect(await missed()).toHaveLength(found);
  });

  it('does not read blocks twice where its worker dies after the last block, and the next attempt reports the results', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const { from, to } = await paid(wallet, AMOUNTS);
    await fixture.scanAll(fixture.scanner());
    await fixture.lose(await fixture.depositsOf(wallet));
    const order = { ...rangeOf({ from, to }), ...BY };
    const tryOnce = (): Promise<RescanResult> =>
      environmentOfRun('one run').run(() => createDepositRescan(fixture.deps()).rescan(order));
    const first = await tryOnce();
    expect(first).toMatchObject({ found: AMOUNTS.length });
    const before = await newestRescan();
    expect(await tryOnce()).toEqual(first);
    expect(await newestRescan()).toEqual(before);
    expect(await rescan({ from, to })).toBe(first.blocks);
    expect(await newestRescan()).toMatchObject({ blocks: first.blocks, found: 0 });
    expect((await newestRescan())?.position).not.toBe(before?.position);
    expect(await missed()).toHaveLength(AMOUNTS.length);
  });

  it('reads no blocks that the database does not have, also where a signal requests it', async () => {
    const to = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const [first] = await fixture.ledger.scan.headersBetween(0n, to);
    const before = await newestRescan();
    for (const range of [
      { from: to, to: to + 1n },
      { from: (first?.slot ?? 0n) - 1n, to },
    ])
      await expect(rescan(range)).rejects.toMatchObject({ code: 'SlotsNotRecorded' });
    expect(await newestRescan()).toEqual(before);
  });

  it('is recorded for each request', async () => {
    const to = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    for (let times = 0; times < 2; times += 1) expect(await rescan({ from: to - 3n, to })).toBe(4);
    const { rows } = await fixture.ledger.backfills.list({ limit: 2 });
    expect(rows).toMatchObject([1, 2].map(() => ({ fromSlot: to - 3n, toSlot: to, blocks: 4, found: 0 })));
  });
});

describe('a closed gap', () => {
  /** Scanned deposits in a gap of all nodes, and one after it. */
  async function closedGap(wallet: string): Promise<{ from: bigint; to: bigint }> {
    await fixture.scanAll(fixture.scanner());
    const { from, to } = await paid(wallet, AMOUNTS);
    const hole = { kind: 'hole', from: Number(from), to: Number(to) } as const;
    for (const node of NODES) fixture.localnet.controls.setFault(node, '*', hole);
    await fixture.scanAll(fixture.scanner());
    await fixture.closeGap();
    await fixture.localnet.airdrop(wallet, 9_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    expect(await amountsOf(wallet)).toEqual([9_000_000n]);
    return { from: from - 2n, to: to + 2n };
  }

  it('is read again once one node has its blocks, and stays closed', async () => {
    const wallet = await fixture.newDepositAddress();
    const range = await closedGap(wallet);
    const outside = await rescan(range);
    expect(await missed()).toEqual([]);
    expect(await newestRescan()).toMatchObject({
      unread: [rangeOf({ from: range.from + 2n, to: range.to - 2n })],
    });
    fixture.localnet.controls.clearFaults(2);
    const inside = Number(range.to - range.from) + 1 - outside;
    expect(inside).toBeGreaterThanOrEqual(AMOUNTS.length);
    expect(await rescan(range)).toBe(outside + inside);
    expect(await newestRescan()).toMatchObject({ unread: [] });
    expect(await amountsOf(wallet)).toEqual([...AMOUNTS, 9_000_000n]);
    expect(await missed()).toHaveLength(AMOUNTS.length);
    const [last] = await fixture.ledger.gaps.closedBetween(range.from, range.to);
    expect(last).toMatchObject({ above: range.to - 1n });
    fixture.localnet.controls.clearFaults();
    await fixture.confirm();
    expect((await fixture.depositsOf(wallet)).every(({ state }) => state === 'final')).toBe(true);
  });

  it('of which nodes have only the first blocks is reported from the first missing block to its requested end', async () => {
    const wallet = await fixture.newDepositAddress();
    const range = await closedGap(wallet);
    const lost = { kind: 'hole', from: Number(range.from) + 4, to: Number(range.to) - 2 } as const;
    fixture.localnet.controls.clearFaults();
    for (const node of NODES) fixture.localnet.controls.setFault(node, '*', lost);
    await rescan({ from: range.from, to: range.to - 3n });
    expect(await newestRescan()).toMatchObject({
      unread: [rangeOf({ from: range.from + 4n, to: range.to - 3n })],
    });
    await rescan({ from: range.from, to: range.from + 3n });
    expect(await newestRescan()).toMatchObject({ unread: [] });
  });

  it('right after another gap is linked to the last block of that gap, without a recorded block after it', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const range = await paid(wallet, AMOUNTS);
    for (const to of [range.from + 1n, range.to]) {
      const cursor = await fixture.ledger.scan.cursor();
      const child = fixture.localnet.controls.chain.ledger.bySlot(Number(to) + 1);
      if (cursor === null || child === undefined) throw new Error('the gap lies between two blocks');
      const { slot, parentSlot, height, blockhash, previousBlockhash } = child;
      const names = { slot: BigInt(slot), parentSlot: BigInt(parentSlot), blockhash, previousBlockhash };
      const open = await fixture.ledger.gaps.open(cursor, { ...names, height: BigInt(height), time: null });
      await fixture.ledger.gaps.close({ from: open?.fromSlot ?? 0n, to, ...BY });
    }
    expect(await fixture.ledger.scan.headersBetween(range.from, range.to)).toEqual([]);
    const lost = { kind: 'hole', from: Number(range.from), to: Number(range.from) + 1 } as const;
    for (const node of NODES) fixture.localnet.controls.setFault(node, '*', lost);
    await rescan(range);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS.slice(1));
    expect(await newestRescan()).toMatchObject({
      unread: [rangeOf({ from: range.from, to: range.from + 1n })],
    });
    fixture.localnet.controls.clearFaults();
    await rescan(range);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });
});
