import { describe, expect, it } from 'vitest';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { address, childOf, EMPTY_FINDING, inflow, START } from './chain-of-blocks.ts';
import {
  commit,
  confirmAll,
  importWallets,
  onlyDeposit,
  useDepositLedgers,
  waitForLockWaits,
} from './deposit-ledger.ts';
import { codeOf } from './support.ts';

const use = useDepositLedgers();
const [ANN, BEN] = [address('ann'), address('ben')];
const onlyOne = () => onlyDeposit(use.ledger);

/** The events of the feed with their public ids, in order. */
async function feedEvents(): Promise<readonly unknown[]> {
  const { events } = await use.ledger.depositFeed.events(0n, 100);
  const ids = [...new Set(events.map(({ deposit }) => depositId(deposit)))];
  return events.map(({ kind, deposit }) => [kind, deposit.amount, ids.indexOf(depositId(deposit))]);
}

describe('an announced deposit', () => {
  const header = childOf(START);
  const fork = childOf(START, { fork: 'x' });
  const found = (...inflows: ReturnType<typeof inflow>[]) => ({
    header,
    finding: { ...EMPTY_FINDING, inflows },
  });
  const forked = (...inflows: ReturnType<typeof inflow>[]) => ({ ...found(...inflows), header: fork });
  const NONE = { header, finding: EMPTY_FINDING };

  it('becomes finalized with its block, with one event', async () => {
    await importWallets(use.ledger, ANN);
    for (let times = 0; times < 2; times += 1) await use.ledger.deposits.announce([found(inflow(ANN))]);
    expect(await onlyOne()).toMatchObject({ state: 'pending', finalizedAt: null });
    expect(await use.ledger.deposits.unconfirmed(10)).toEqual([]);
    expect(await use.ledger.movements.balancesOf([ANN], 200n)).toEqual([]);
    await commit(use.ledger, [found(inflow(ANN))]);
    expect(await onlyOne()).toMatchObject({ state: 'pending', finalizedAt: expect.any(Date) });
    expect(await use.ledger.deposits.unconfirmed(10)).toHaveLength(1);
    expect(await feedEvents()).toEqual([['pending', 5n, 0]]);
  });

  it('is the deposit of its slot’s finalized block, whichever block announced it', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.deposits.announce([forked(inflow(ANN)), forked(inflow(ANN))]);
    await use.ledger.deposits.announce([found(inflow(ANN))]);
    expect(await onlyOne()).toMatchObject({ blockhash: 'b101x' });
    await commit(use.ledger, [found(inflow(ANN))]);
    await confirmAll(use.ledger);
    expect(await onlyOne()).toMatchObject({ state: 'final', blockhash: 'b101' });
    expect(await feedEvents()).toEqual([
      ['pending', 5n, 0],
      ['final', 5n, 0],
    ]);
  });

  it('is another deposit in another slot, and is dropped under its own id', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.deposits.announce([forked(inflow(ANN))]);
    const later = { ...found(inflow(ANN)), header: childOf(header) };
    await commit(use.ledger, [NONE, later]);
    await confirmAll(use.ledger);
    expect(await feedEvents()).toEqual([
      ['pending', 5n, 0],
      ['pending', 5n, 1],
      ['dropped', 5n, 0],
      ['final', 5n, 1],
    ]);
  });

  it('has another event where its finalized block differs', async () => {
    await importWallets(use.ledger, ANN, BEN);
    await use.ledger.deposits.announce([found(inflow(ANN), inflow(BEN))]);
    const off = inflow(BEN, 5n, { reason: 'deposits_off' });
    await commit(use.ledger, [found(inflow(ANN, 4n, { signature: `s-${ANN}-5` }), off)]);
    await confirmAll(use.ledger);
    expect((await feedEvents()).slice(2)).toEqual([
      ['pending', 4n, 0],
      ['final', 4n, 0],
      ['not_credited', 5n, 1],
    ]);
  });

  it('has another event where its finalized block credits another wallet', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const account = { account: address('token account'), asset: address('mint'), signature: 's' };
    await use.ledger.deposits.announce([found(inflow(ANN, 5n, account))]);
    await commit(use.ledger, [found(inflow(BEN, 5n, account))]);
    expect(await onlyOne()).toMatchObject({ wallet: BEN });
    expect(await feedEvents()).toEqual([
      ['pending', 5n, 0],
      ['pending', 5n, 0],
    ]);
  });

  it('is dropped when the cursor passes its slot, and returns under its id', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.deposits.announce([forked(inflow(ANN))]);
    await commit(use.ledger, [NONE]);
    expect(await onlyOne()).toMatchObject({ state: 'dropped', blockhash: 'b101x' });
    await use.ledger.deposits.announce([forked(inflow(ANN)), found(inflow(ANN, 6n))]);
    expect(await feedEvents()).toEqual([
      ['pending', 5n, 0],
      ['dropped', 5n, 0],
    ]);
    const blocks = [found(inflow(ANN))];
    const watchVersion = await use.ledger.watched.version();
    for (let times = 0; times < 2; times += 1) await use.ledger.scan.upsert({ blocks, watchVersion });
    expect(await onlyOne()).toMatchObject({ state: 'pending', blockhash: 'b101' });
    await confirmAll(use.ledger);
    expect((await feedEvents()).slice(2)).toEqual([
      ['pending', 5n, 0],
      ['final', 5n, 0],
    ]);
  });

  it('keeps its address from being assigned until it is dropped', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.deposits.announce([forked(inflow(ANN))]);
    expect(await use.ledger.addresses.freeCount()).toBe(0);
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('NoFreeAddress');
    await commit(use.ledger, [NONE]);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: ANN });
  });

  it('waits for a commit in progress, so that the cursor cannot pass it', async () => {
    await importWallets(use.ledger, ANN);
    const committing = await use.other.db.startTransaction().execute();
    await committing.selectFrom('scanCursor').selectAll().forUpdate().execute();
    const announcing = use.ledger.deposits.announce([found(inflow(ANN))]);
    await Promise.race([waitForLockWaits(use.ledger.db), announcing]);
    await committing.updateTable('scanCursor').set({ slot: 101n, blockhash: 'b101', height: 91n }).execute();
    await committing.commit().execute();
    await announcing;
    expect(await use.ledger.deposits.list({ limit: 1 })).toMatchObject({ rows: [] });
  });
});
