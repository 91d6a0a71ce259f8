import { afterEach, describe, expect, it } from 'vitest';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import type { AuditCommand } from '../../src/domain/audit.ts';
import type { RescanResult } from '../../src/domain/backfill.ts';
import { rangeOf, type Slots } from '../../src/domain/scan.ts';
import type { BackfillRow } from '../../src/ledger/scan/backfills.ts';
import type { NodePool } from '../../src/solana/rpc/pool.ts';
import { environmentOfRun } from '../support/activity.ts';
import { auditIn, openAlertsIn } from './audit-support.ts';
import { isWholeBlock, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const lies = useLiar(fixture);

const LAMPORTS = 8_000_000n;
const NODES = [0, 1, 2];

/** Removes the gap and its alerts, so that later tests do not see them. */
afterEach(async () => {
  const { db } = fixture.ledger;
  fixture.localnet.controls.clearFaults();
  await db.deleteFrom('backfill').execute();
  await db.deleteFrom('scanGap').execute();
  await db.deleteFrom('alert').execute();
});

/** A gap that an operator closed and that all nodes still have; a wallet was paid in it. */
async function closedGap(): Promise<Slots & { readonly wallet: string }> {
  const { localnet } = fixture;
  const { controls } = localnet;
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  const from = controls.produceSlot();
  await localnet.airdrop(wallet, LAMPORTS);
  const to = controls.produceSlot();
  fixture.finalize();
  for (const node of NODES) controls.setFault(node, '*', { kind: 'hole', from, to });
  await fixture.scanAll(fixture.scanner());
  const slots = await fixture.closeGap();
  await fixture.scanAll(fixture.scanner());
  return { ...slots, wallet };
}

/** Runs the due rescan. */
async function readDue(pool: NodePool = fixture.pool): Promise<RescanResult> {
  const [row, ...others] = await fixture.ledger.backfills.listDue(10);
  if (row === undefined || others.length > 0) throw new Error('one rescan is due');
  const { fromSlot: from, toSlot: to, actor, reason } = row;
  return environmentOfRun().run(() =>
    createDepositRescan(fixture.deps(pool)).rescan({ ...rangeOf({ from, to }), actor, reason }),
  );
}

/** Ends the interval before the next attempt. */
async function later(): Promise<void> {
  await fixture.ledger.db.updateTable('backfill').set({ retryAfter: null }).execute();
}

function mend(...nodes: readonly number[]): void {
  for (const node of nodes) fixture.localnet.controls.clearFaults(node);
}

const newestGap = async () => (await fixture.ledger.gaps.list(1))[0];
const newestRescan = async (): Promise<BackfillRow | undefined> =>
  (await fixture.ledger.backfills.list({ limit: 1 })).rows[0];

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
}

describe('a rescan of a closed gap is due', () => {
  it('until a quorum of nodes has returned its blocks', async () => {
    const { wallet, from, to } = await closedGap();
    expect(await readDue()).toMatchObject({ found: 0, unread: [rangeOf({ from, to })] });
    expect(await newestGap()).toMatchObject({ state: 'closed', readAt: null });
    const waiting = { endedAt: null, trouble: expect.stringContaining('no quorum of nodes') };
    expect(await newestRescan()).toMatchObject(waiting);
    expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([`${from}-${to}`]);
    mend(2);
    await later();
    expect(await readDue()).toMatchObject({ found: 1, unread: [] });
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
    expect(await newestGap()).toMatchObject({ readAt: null });
    mend(1);
    await later();
    expect(await readDue()).toMatchObject({ blocks: Number(to - from) + 1, found: 1, unread: [] });
    expect(await newestGap()).toMatchObject({ readAt: expect.any(Date) });
    expect(await newestRescan()).toMatchObject({ endedAt: expect.any(Date), trouble: null });
    expect([
      await openAlertsIn(fixture, 'audit_incomplete'),
      await fixture.ledger.backfills.listDue(1),
    ]).toEqual([[], []]);
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
  });

  it('at growing intervals, also after its run has failed or was cancelled', async () => {
    const slots = await closedGap();
    const { backfills, db } = fixture.ledger;
    const begunAt = new Date(Date.now() - 600_000);
    await db.updateTable('backfill').set({ begunAt }).execute();
    await backfills.giveUp(slots, 'no node for a day');
    expect(await newestRescan()).toMatchObject({ endedAt: null, trouble: 'no node for a day' });
    expect(await backfills.listDue(1)).toEqual([]);
    const { retryAfter } = (await newestRescan()) ?? {};
    expect(retryAfter?.getTime()).toBeGreaterThan(Date.now() + 300_000);
    await later();
    mend(0, 1, 2);
    await readDue();
    await backfills.giveUp(slots, 'late');
    expect(await newestRescan()).toMatchObject({ endedAt: expect.any(Date), trouble: null });
  });

  it('until its headers are pruned, as no block can then be linked to it', async () => {
    const slots = await closedGap();
    const { backfills, db } = fixture.ledger;
    await db.updateTable('scanCursor').set({ prunedTo: slots.to }).execute();
    await backfills.giveUp(slots, 'the headers are no longer recorded');
    await db.updateTable('scanCursor').set({ prunedTo: null }).execute();
    expect(await newestRescan()).toMatchObject({ endedAt: expect.any(Date) });
  });

  it('although one node of three hides a deposit in it', async () => {
    const { wallet } = await closedGap();
    mend(0);
    lies.liar.edit = (method, params, answer) => {
      if (isWholeBlock(method, params))
        for (const { meta } of answer.result?.transactions ?? []) meta.postBalances = meta.preBalances;
      return answer;
    };
    expect(await readDue(lies.pool)).toMatchObject({ found: 0, unread: [] });
    expect(await newestGap()).toMatchObject({ readAt: null });
    mend(1);
    await later();
    expect(await readDue(lies.pool)).toMatchObject({ found: 1 });
    expect(await newestGap()).toMatchObject({ readAt: expect.any(Date) });
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
  });
});

describe('an audit over slots that all nodes have lost', () => {
  it('raises no alert about recorded deposits that nodes with missing history do not list', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const signature = await fixture.localnet.airdrop(wallet, LAMPORTS);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    const slot = (await fixture.depositsOf(wallet))[0]?.slot ?? 0n;
    for (const node of [0, 1, 2])
      fixture.localnet.controls.setFault(node, '*', { kind: 'hole', from: Number(slot), to: Number(slot) });
    const range = { from: `${slot - 1n}`, to: `${slot + 1n}` };
    const order: AuditCommand = { address: wallet, ...range, repair: false, cause: 'operator' };
    expect(await auditIn(fixture, order)).toMatchObject({ found: 0, unread: 1 });
    expect(await openAlertsIn(fixture, 'deposit_mismatch')).not.toContain(signature);
    expect(await openAlertsIn(fixture, 'audit_incomplete')).toEqual([wallet]);
    fixture.localnet.controls.clearFaults();
    expect(await auditIn(fixture, order)).toMatchObject({ found: 0, unread: 0 });
  });
});
