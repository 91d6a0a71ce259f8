import { describe, expect, it } from 'vitest';
import { rejectDeposit } from '../../src/http/deposits/deposit-rejection.ts';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { denyingNodes } from '../../src/solana/history/transaction.ts';
import { codeOf } from '../ledger/support.ts';
import { quickChain } from '../support/quick-chain.ts';
import { auditIn, newSignature, openAlertsIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const NOTE = { actor: 'ops', reason: 'seen in no explorer' };

function reject(row: DepositRow): Promise<DepositRow> {
  return rejectDeposit(
    { ledger: fixture.ledger, chain: async () => quickChain(fixture.pool) },
    depositId(row),
    NOTE,
  );
}

async function onlyOf(wallet: string): Promise<DepositRow> {
  const [row, ...others] = await fixture.depositsOf(wallet);
  if (row === undefined || others.length > 0) throw new Error(`not one deposit: ${others.length}`);
  return row;
}

async function kindsOf(wallet: string): Promise<readonly string[]> {
  const { events } = await fixture.ledger.depositFeed.events(0n, 1_000, { address: wallet });
  return events.map(({ kind }) => kind);
}

/** A deposit of a payment that a lying node invented in its blocks; returns its row. */
async function phantom(): Promise<DepositRow> {
  const ours = await fixture.newSigner(1_000_000_000n);
  await fixture.sweep(ours, await fixture.newDepositAddress(), 9_000_000n);
  await fixture.scanWithLie('mirrored');
  await fixture.confirm();
  const [made] = await fixture.depositsOf(ours.publicKey.toBase58());
  if (made === undefined) throw new Error('the lie leaves no row');
  return made;
}

function never(): never {
  throw new Error('the slot has a block');
}

/** A real deposit that waits for its quorum, as only one node returns it. */
async function waiting(): Promise<DepositRow> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 3_000_000n);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  return onlyOf(wallet);
}

describe('a deposit that one node invented', () => {
  it('is dropped once by order of an operator, and no total counts it afterwards', async () => {
    const { wallet, id } = await phantom();
    const made = await fixture.ledger.deposits.get(id);
    if (made === undefined) throw new Error('a row');
    expect(made).toMatchObject({ state: 'pending', amount: 9_005_000n });
    expect(await openAlertsIn(fixture, 'deposit_unconfirmed')).toContain(depositId(made));
    for (let times = 0; times < 2; times += 1) expect(await reject(made)).toMatchObject({ state: 'dropped' });
    expect(await fixture.confirm()).toBe(0);
    expect(await kindsOf(wallet)).toEqual(['pending', 'final', 'pending', 'dropped']);
    expect(await openAlertsIn(fixture, 'deposit_unconfirmed')).not.toContain(depositId(made));
    const rejections = await fixture.ledger.db.selectFrom('depositRejection').selectAll().execute();
    const deniedBy = fixture.pool.nodes.map(({ name }) => name).join(', ');
    expect(rejections).toMatchObject([{ depositId: id, ...NOTE, deniedBy }]);
    const { slot } = made;
    expect(await fixture.ledger.movements.inflowsOf(wallet, slot, slot)).toEqual([]);
    expect(await fixture.ledger.movements.balancesOf([wallet], slot, slot - 1n)).toEqual([]);
  });

  it('releases its address for the next user', async () => {
    const row = await waiting();
    const { addresses } = fixture.ledger;
    for (let users = await addresses.freeCount(); users > 0; users -= 1) await addresses.assign(`u${users}`);
    expect(await codeOf(addresses.assign('next'))).toBe('NoFreeAddress');
    await fixture.ledger.rejections.reject({ row, ...NOTE, deniedBy: ['a', 'b'] });
    expect(await addresses.assign('next')).toMatchObject({ address: row.wallet });
  });
});

describe('a node denies', () => {
  const made = { signature: newSignature(), account: 'a', wallet: 'a', asset: 'SOL', amount: 1n };
  const deniersAt = (slot: number) => denyingNodes(fixture.pool, { ...made, slot: BigInt(slot) });

  it('a transaction that is not in the block of the slot, or whose slot has no block, and no transaction of a later slot', async () => {
    const { controls } = fixture.localnet;
    const { slot } = controls.chain.at('processed');
    controls.skipSlots(1);
    fixture.finalize(4);
    const all = fixture.pool.nodes.map(({ name }) => name);
    expect(await deniersAt(slot)).toEqual(all);
    expect(await deniersAt(slot + 1)).toEqual(all);
    expect(await deniersAt(controls.chain.at('processed').slot)).toEqual([]);
  });

  it('no transaction of slots whose history it has lost', async () => {
    const { controls } = fixture.localnet;
    const { slot } = controls.chain.at('finalized');
    controls.setFault(0, '*', { kind: 'hole', from: slot - 1, to: slot + 1 });
    controls.setFault(1, '*', { kind: 'history-from', slot: slot + 1 });
    fixture.finalize(4);
    expect(await deniersAt(slot)).toEqual([fixture.pool.nodes[2]?.name]);
  });
});

describe('the reject order of an operator', () => {
  it('drops no deposit that nodes only fail to return, and none that has ended', async () => {
    const row = await waiting();
    const { controls } = fixture.localnet;
    const silent = { kind: 'null' } as const;
    for (const node of [0, 1, 2]) controls.setFault(node, 'getTransaction', silent);
    expect(await codeOf(reject(row))).toBe('NotRejectable');
    for (const node of [0, 1, 2]) controls.setFault(node, 'getBlock', silent);
    expect(await codeOf(reject(row))).toBe('NotRejectable');
    controls.clearFaults();
    for (const node of [0, 1]) controls.setFault(node, 'getTransaction', { kind: 'http', status: 503 });
    expect(await codeOf(reject(row))).toBe('NotRejectable');
    controls.clearFaults();
    expect(await codeOf(reject(row))).toBe('NotRejectable');
    await fixture.confirm();
    expect(await codeOf(reject(row))).toBe('NotFound');
    expect(await onlyOf(row.wallet)).toMatchObject({ state: 'final' });
  });

  it('drops no deposit that only one node denies', async () => {
    const row = await waiting();
    const { controls } = fixture.localnet;
    const { parentSlot, blockhash, height } = controls.chain.ledger.bySlot(Number(row.slot)) ?? never();
    const shown = { parentSlot, blockhash, previousBlockhash: blockhash, blockHeight: height, blockTime: 1 };
    controls.setFault(0, 'getTransaction', { kind: 'null' });
    controls.setFault(0, 'getBlock', { kind: 'result', result: { ...shown, signatures: [] } });
    await expect(reject(row)).rejects.toMatchObject({
      code: 'NotRejectable',
      context: { deniedBy: [fixture.pool.nodes[0]?.name] },
    });
    expect(await onlyOf(row.wallet)).toMatchObject({ state: 'pending' });
  });

  it('changes nothing where a quorum confirmed the deposit first, or where the deposit was changed meanwhile', async () => {
    const row = await waiting();
    const rejection = { row, ...NOTE, deniedBy: ['a', 'b'] };
    const other = { ...rejection, row: { ...row, amount: 1n } };
    expect(await codeOf(fixture.ledger.rejections.reject(other))).toBe('NotRejectable');
    await fixture.confirm();
    expect(await codeOf(fixture.ledger.rejections.reject(rejection))).toBe('NotRejectable');
    expect(await kindsOf(row.wallet)).toEqual(['pending', 'final']);
  });

  it('together with a lying quorum loses no deposit that is seen again, as the scan credits it once, with an alert', async () => {
    const row = await waiting();
    await fixture.ledger.rejections.reject({ row, ...NOTE, deniedBy: ['a', 'b'] });
    const slot = row.slot.toString();
    const order = { address: row.wallet, from: slot, to: slot, repair: true, cause: 'operator' } as const;
    expect(await auditIn(fixture, order)).toMatchObject({ found: 1, remaining: 0 });
    expect(await openAlertsIn(fixture, 'deposit_mismatch')).toContain(row.signature);
    expect(await fixture.confirm()).toBe(1);
    expect(await auditIn(fixture, order)).toMatchObject({ found: 0 });
    expect(await onlyOf(row.wallet)).toMatchObject({ id: row.id, state: 'final', amount: 3_000_000n });
    expect(await kindsOf(row.wallet)).toEqual(['pending', 'dropped', 'pending', 'final']);
  });
});
