import { MockActivityEnvironment } from '@temporalio/testing';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import type { AuditedPage, AuditOrder } from '../../src/domain/audit.ts';
import type { Slots } from '../../src/domain/slots.ts';
import { auditIn, begun, dueAuditsIn, newSignature, openAlertsIn } from './audit-support.ts';
import { type Json, useLiar } from './lying-proxy.ts';
import { useScanRoom } from './scan-fixture.ts';

const room = useScanRoom(3);
const lies = useLiar(room);

const LAMPORTS = 8_000_000n;
const NOT_AUDITED = { state: 'closed', auditedAt: null };

/** What a test leaves open is none of the next one. */
afterEach(async () => {
  const { db } = room.ledger;
  await sql`delete from gap_unread_wallet`.execute(db);
  await sql`update scan_gap set walked_at = now(), audited_at = now(), unshown_since = null where state = 'closed'`.execute(
    db,
  );
  await db.deleteFrom('alert').execute();
});

/** A gap that was closed by hand, over which all nodes still have that very hole; in it, a wallet was paid. */
async function closedHole(): Promise<Slots & { readonly wallet: string; readonly order: AuditOrder }> {
  const { localnet } = room;
  const { controls } = localnet;
  await room.scanAll(room.scanner());
  const wallet = await room.newDepositAddress();
  const from = controls.produceSlot();
  await localnet.airdrop(wallet, LAMPORTS);
  const to = controls.produceSlot();
  room.finalize();
  for (const node of [0, 1, 2]) controls.setFault(node, '*', { kind: 'hole', from, to });
  await room.scanAll(room.scanner());
  const slots = await room.closeGap();
  await room.scanAll(room.scanner());
  return { ...slots, wallet, order: await dueAudit() };
}

async function dueAudit(): Promise<AuditOrder> {
  const [order, ...others] = await dueAuditsIn(room);
  if (order === undefined || others.length > 0) throw new Error('one audit is due');
  return order;
}

/** The time that is between two looks has passed. */
async function later(): Promise<void> {
  await sql`update scan_gap set audit_after = null`.execute(room.ledger.db);
}

/** These nodes have what they had lost: others were put in their places. */
function mend(...nodes: readonly number[]): void {
  for (const node of nodes) room.localnet.controls.clearFaults(node);
}

async function newestGap() {
  return (await room.ledger.gaps.list(1))[0];
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await room.depositsOf(wallet)).map(({ amount }) => amount);
}

describe('a gap over which all nodes have that very hole', () => {
  it('is walked and not settled, and is audited once a quorum shows its blocks', async () => {
    const { wallet, order, from, to } = await closedHole();
    expect(await auditIn(room, order)).toMatchObject({ found: 0 });
    expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: expect.any(Date) });
    expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([`${from}-${to}`]);
    mend(2);
    await later();
    await auditIn(room, await dueAudit());
    expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: expect.any(Date) });
    mend(1);
    await later();
    expect(await auditIn(room, await dueAudit())).toMatchObject({ found: 1, remaining: 0, unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date), unshownSince: null });
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
    expect([await openAlertsIn(room, 'audit_incomplete'), await dueAuditsIn(room)]).toEqual([[], []]);
  });

  it('has what is listed put on record, though no quorum shows its blocks', async () => {
    const { wallet, order, from, to } = await closedHole();
    mend(0, 1, 2);
    const hole = { kind: 'hole', from: Number(from), to: Number(to) } as const;
    for (const node of [0, 1]) room.localnet.controls.setFault(node, 'getBlocks', hole);
    expect(await auditIn(room, order)).toMatchObject({ found: 1, remaining: 0 });
    expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: expect.any(Date) });
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
    room.localnet.controls.clearFaults();
    expect(await auditIn(room, order)).toMatchObject({ found: 0, unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date) });
  });

  it('is looked at later from look to look, and every wallet is asked for again once its blocks are shown', async () => {
    const { order, ...slots } = await closedHole();
    const watched = (await room.ledger.gapAudits.wallets(slots, null, 1_000)).length;
    expect((await auditIn(room, order)).addresses).toBe(watched);
    const since = (await newestGap())?.unshownSince ?? null;
    await room.ledger.db
      .updateTable('scanGap')
      .set({ unshownSince: new Date(Date.now() - 600_000) })
      .where('unshownSince', 'is not', null)
      .execute();
    expect((await auditIn(room, order)).addresses).toBe(0);
    expect([since, await dueAuditsIn(room)]).toEqual([expect.any(Date), []]);
    room.localnet.controls.clearFaults();
    await later();
    expect(await auditIn(room, await dueAudit())).toMatchObject({ addresses: watched, unread: 0 });
  });

  it('makes no difference of what is on record there, and not listed by nodes that have a hole', async () => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    const signature = await room.localnet.airdrop(wallet, LAMPORTS);
    room.finalize();
    await room.scanAll(room.scanner());
    const slot = (await room.depositsOf(wallet))[0]?.slot ?? 0n;
    for (const node of [0, 1, 2])
      room.localnet.controls.setFault(node, '*', { kind: 'hole', from: Number(slot), to: Number(slot) });
    const range = { from: `${slot - 1n}`, to: `${slot + 1n}` };
    const order: AuditOrder = { address: wallet, ...range, repair: false, cause: 'operator' };
    expect(await auditIn(room, order)).toMatchObject({ found: 0, unread: 1 });
    expect(await openAlertsIn(room, 'deposit_mismatch')).not.toContain(signature);
    expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([wallet]);
    room.localnet.controls.clearFaults();
    expect(await auditIn(room, order)).toMatchObject({ found: 0, unread: 0 });
  });
});

describe('a gap of which nodes had shown the blocks', () => {
  it('is not walked anew where they lack them later: those wallets alone are asked for again that were unread', async () => {
    const { order, wallet, from, to } = await closedHole();
    const { controls } = room.localnet;
    controls.clearFaults();
    for (const node of [0, 1]) controls.setFault(node, 'getTransaction', { kind: 'null' });
    await auditIn(room, order);
    const unread = { walkedAt: expect.any(Date), unshownSince: null, unread: 1, wallets: [wallet] };
    expect(await room.ledger.gapAudits.of({ from, to })).toMatchObject(unread);
    controls.clearFaults();
    for (const node of [0, 1])
      controls.setFault(node, '*', { kind: 'hole', from: Number(from), to: Number(to) });
    await auditIn(room, order);
    expect(await room.ledger.gapAudits.of({ from, to })).toMatchObject(unread);
    controls.clearFaults();
    expect(await auditIn(room, order)).toMatchObject({ addresses: 1, found: 1, unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date) });
  });
});

describe('a gap that is audited while nodes do not answer', () => {
  const TRIED_FOR_LONG = 121_000;
  const TRIED_A_WHILE = 60_000;
  const away = { kind: 'http', status: 503 } as const;

  it('waits where too few answer, with one alert for all wallets, and that after a while', async () => {
    const { order, from, to } = await closedHole();
    for (let more = 0; more < 6; more += 1) await room.newDepositAddress();
    for (const node of [0, 1]) room.localnet.controls.setFault(node, '*', away);
    const waits = { code: 'NoHealthyNode' };
    await expect(auditIn(room, order, room.pool, TRIED_A_WHILE)).rejects.toMatchObject(waits);
    expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([]);
    await expect(auditIn(room, order, room.pool, TRIED_FOR_LONG)).rejects.toMatchObject(waits);
    expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([`${from}-${to}`]);
    expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: null, walkedAt: null });
    await settled(order);
  });

  it('waits where they fall silent in the middle of a page, and calls none of its wallets unread', async () => {
    const { order, wallet, ...slots } = await closedHole();
    room.localnet.controls.clearFaults();
    const deps = room.deps();
    expect((await deps.held.holdersOf(room.pool, slots)).holding.size).toBe(3);
    for (const node of [0, 1, 2]) room.localnet.controls.setFault(node, '*', away);
    const page = () => createAddressAudit(deps).auditPage(order, null);
    await expect(begun(0).run(page)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    expect(await room.ledger.gapAudits.of(slots)).toMatchObject({ unread: 0, walkedAt: null });
    await settled(order);
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
  });

  it('waits for one that may have its blocks, and goes on without it after a while', async () => {
    const { order, wallet } = await closedHole();
    mend(0, 2);
    room.localnet.controls.setFault(2, '*', away);
    await expect(auditIn(room, order)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    await auditIn(room, order, room.pool, TRIED_FOR_LONG);
    expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: expect.any(Date) });
    await later();
    await settled(order);
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
  });

  /** The nodes are back, and all have the blocks. */
  async function settled(order: AuditOrder): Promise<void> {
    room.localnet.controls.clearFaults();
    await room.pool.probe();
    expect(await auditIn(room, order)).toMatchObject({ unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date) });
    expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([]);
  }
});

it('a gap whose blocks are shown in the middle of a walk in vain is settled by nothing of that walk', async () => {
  for (let count = 0; count < 45; count += 1) await room.newDepositAddress();
  const { order } = await closedHole();
  const read = (after: string | null): Promise<AuditedPage> =>
    new MockActivityEnvironment().run(() => createAddressAudit(room.deps()).auditPage(order, after));
  let { next } = await read(null);
  expect(next).not.toBeNull();
  mend(0, 1, 2);
  await room.pool.probe();
  while (next !== null) ({ next } = await read(next));
  await new MockActivityEnvironment().run(() =>
    createAddressAudit(room.deps()).closeAudit(order, { unread: 0 }),
  );
  expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: expect.any(Date) });
});

describe('one liar of three', () => {
  /** What it lists for every address besides what is true. */
  function alsoLists(signature: string, slot: bigint): void {
    const line = { signature, slot: Number(slot), err: null, memo: null, blockTime: 1 };
    lies.liar.edit = (method, params, answer) => {
      if (method === 'getSignaturesForAddress' && params[1]?.before === undefined)
        answer.result = [...answer.result, line].toSorted((a: Json, b: Json) => b.slot - a.slot);
      return answer;
    };
  }

  it('does not hold up the audit of a gap by what it makes up in its slots', async () => {
    const { order, from, wallet } = await closedHole();
    mend(1, 2);
    alsoLists(newSignature(), from);
    expect(await auditIn(room, order, lies.pool)).toMatchObject({ found: 1, unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date) });
    expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
  });

  it('does not hold it up by true transactions of others, whatever slot it lists them in', async () => {
    const { order, from } = await closedHole();
    room.localnet.controls.clearFaults();
    const others = await room.localnet.airdrop(newAddress(), LAMPORTS);
    room.finalize();
    alsoLists(others, from);
    expect(await auditIn(room, order, lies.pool)).toMatchObject({ found: 1, unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date) });
  });

  it('does not end it by its word that it has the blocks, and that nothing came', async () => {
    const { order, wallet, ...slots } = await closedHole();
    mend(0, 2);
    const { controls } = room.localnet;
    controls.setFault(2, 'getTransaction', { kind: 'null' });
    lies.liar.edit = (method, _params, answer) =>
      method === 'getSignaturesForAddress' ? { ...answer, result: [] } : answer;
    await auditIn(room, order, lies.pool);
    expect(await newestGap()).toMatchObject({ ...NOT_AUDITED, unshownSince: null });
    expect(await room.ledger.gapAudits.of(slots)).toMatchObject({ unread: 1, wallets: [wallet] });
    controls.clearFaults();
    expect(await auditIn(room, order, lies.pool)).toMatchObject({ found: 1, unread: 0 });
    expect(await newestGap()).toMatchObject({ auditedAt: expect.any(Date) });
  });
});
