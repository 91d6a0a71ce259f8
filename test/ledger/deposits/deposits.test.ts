import { describe, expect, it } from 'vitest';
import { lockFeed } from '../../../src/ledger/deposits/deposit-feed.ts';
import { addDeposits, lockWalletsOf } from '../../../src/ledger/deposits/deposit-writing.ts';
import { address, chain, EMPTY_FINDING, inflow, START } from '../chain-of-blocks.ts';
import {
  commit,
  confirmAll,
  confirmationOf,
  importWallets,
  onlyDeposit,
  useDepositLedgers,
  waitForLockWaits,
} from '../deposit-ledger.ts';
import { codeOf } from '../support.ts';

const use = useDepositLedgers();
const [ANN, BEN] = [address('ann'), address('ben')];
const MINT = address('mint');

const onlyOne = () => onlyDeposit(use.ledger);

async function feed(): Promise<readonly unknown[]> {
  const { events } = await use.ledger.depositFeed.events(0n, 100);
  return events.map(({ sequence, kind, deposit }) => [sequence, kind, deposit.amount]);
}

describe('a deposit', () => {
  it('is finalized once, when a quorum returns it', async () => {
    await importWallets(use.ledger, ANN);
    await commit(use.ledger, chain(START, [inflow(ANN)]));
    const row = await onlyOne();
    for (const other of [{ amount: 6n }, { reason: 'internal' as const }])
      expect(await use.ledger.deposits.confirm([confirmationOf({ ...row, ...other })])).toEqual([]);
    expect(await use.ledger.deposits.unconfirmed(10)).toHaveLength(1);
    const right = confirmationOf(row);
    expect(await use.ledger.deposits.confirm([right, right])).toEqual([row.id]);
    expect(await use.other.deposits.confirm([right])).toEqual([]);
    const confirmedBy = 'first, second';
    expect(await use.ledger.deposits.get(row.id)).toMatchObject({ state: 'final', confirmedBy });
    expect(await use.ledger.deposits.unconfirmed(10)).toEqual([]);
    expect(await feed()).toEqual([
      [1n, 'pending', 5n],
      [2n, 'final', 5n],
    ]);
  });

  it('that one node reports as not credited has an event when a quorum confirms that', async () => {
    await importWallets(use.ledger, ANN);
    await commit(use.ledger, chain(START, [inflow(ANN, 1n, { reason: 'internal' })]));
    const row = await onlyOne();
    expect(row).toMatchObject({ state: 'pending', reason: 'internal' });
    expect(await feed()).toEqual([]);
    await confirmAll(use.ledger);
    expect(await onlyOne()).toMatchObject({ state: 'not_credited', reason: 'internal' });
    expect(await feed()).toEqual([[1n, 'not_credited', 1n]]);
    expect(await use.ledger.alerts.list({ limit: 1 })).toMatchObject({ rows: [] });
  });

  it('that may be credited is requested among the newest, whatever newer deposits are not to be credited', async () => {
    await importWallets(use.ledger, ANN);
    const low = inflow(ANN, 1n, { reason: 'below_minimum' });
    await commit(
      use.ledger,
      chain(START, [inflow(ANN, 5n)], [inflow(ANN, 6n)], [inflow(ANN, 7n)], [low], [low]),
    );
    const amounts = (await use.ledger.deposits.unconfirmed(2)).map(({ amount }) => amount);
    expect(amounts).toEqual([5n, 7n]);
  });

  it('that a quorum returns with another amount is corrected with an alert, and its address counts as used', async () => {
    await importWallets(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, [inflow(ANN, 1n, { reason: 'internal' })]));
    await use.ledger.deposits.confirm([confirmationOf(await onlyOne(), { amount: 2n, reason: null })]);
    expect(await onlyOne()).toMatchObject({ state: 'final', reason: null, amount: 2n });
    expect(await feed()).toEqual([[1n, 'final', 2n]]);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 2 });
    expect(rows.map(({ kind, message }) => [kind, message])).toEqual([
      [
        'deposit_mismatch',
        `nodes first, second report 2 base units of SOL at ${ANN}, but the node of the scan reported 1 base units of SOL at ${ANN} as internal`,
      ],
    ]);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
  });

  it('that may be credited is requested before older dust, the oldest first', async () => {
    await importWallets(use.ledger, ANN);
    const dust = [1n, 2n, 3n].map((amount) =>
      inflow(ANN, amount, { signature: `dust-${amount}`, reason: 'below_minimum' }),
    );
    const good = [8n, 9n].map((amount) => inflow(ANN, amount, { signature: `good-${amount}` }));
    await commit(use.ledger, chain(START, dust, good));
    const amounts = async (limit: number) =>
      (await use.ledger.deposits.unconfirmed(limit)).map(({ amount }) => amount);
    expect(await amounts(2)).toEqual([8n, 9n]);
    expect(await amounts(9)).toEqual([8n, 9n, 1n, 2n, 3n]);
  });

  it('that came last is requested along with the oldest, however many are between', async () => {
    await importWallets(use.ledger, ANN);
    const made = [1n, 2n, 3n, 4n, 5n].map((amount) => inflow(ANN, amount, { signature: `good-${amount}` }));
    await commit(use.ledger, chain(START, made));
    const rows = async (limit: number) =>
      (await use.ledger.deposits.unconfirmed(limit)).map(({ amount }) => amount);
    expect(await rows(2)).toEqual([1n, 5n]);
    expect(new Set(await rows(5))).toEqual(new Set([1n, 2n, 3n, 4n, 5n]));
  });

  it('is one of many in a transaction, one for each account and asset', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const same = { signature: 'batch' };
    const token = { ...same, asset: MINT };
    await commit(
      use.ledger,
      chain(
        START,
        [inflow(ANN, 1n, same), inflow(BEN, 2n, same), inflow(ANN, 3n, token)],
        [inflow(ANN, 4n, same)],
      ),
    );
    const { rows } = await use.ledger.deposits.list({ limit: 10 });
    expect(rows.map(({ amount }) => amount)).toEqual([4n, 3n, 2n, 1n]);
  });

  it('is listed by wallet, user, state and asset, by pages', async () => {
    await importWallets(use.ledger, ANN, BEN);
    await use.ledger.addresses.assign('user-1');
    const low = inflow(BEN, 1n, { reason: 'below_minimum' });
    await commit(use.ledger, chain(START, [inflow(ANN), inflow(ANN, 6n, { asset: MINT }), low]));
    await confirmAll(use.ledger);
    const count = async (filter: object) =>
      (await use.ledger.deposits.list({ ...filter, limit: 10 })).rows.length;
    expect(await count({ address: ANN })).toBe(2);
    expect(await count({ userRef: 'user-1' })).toBe(2);
    expect(await count({ userRef: 'user-1', asset: MINT })).toBe(1);
    expect(await count({ state: 'not_credited' })).toBe(1);
    const page = await use.ledger.deposits.list({ limit: 2 });
    const rest = await use.ledger.deposits.list({ limit: 2, cursor: page.nextCursor ?? '' });
    expect([page.rows.length, rest.rows.length, rest.nextCursor]).toEqual([2, 1, null]);
    const { events } = await use.ledger.depositFeed.events(0n, 10, { userRef: 'user-1' });
    expect(events.map(({ sequence, deposit }) => [sequence, deposit.userRef])).toEqual([
      [1n, 'user-1'],
      [2n, 'user-1'],
      [3n, 'user-1'],
      [4n, 'user-1'],
    ]);
    expect(await use.ledger.depositFeed.events(0n, 10, { state: 'not_credited' })).toMatchObject({
      events: [{ sequence: 5n, deposit: { reason: 'below_minimum' } }],
    });
  });

  it('keeps its place in the list through state changes and new deposits', async () => {
    await importWallets(use.ledger, ANN);
    const blocks = chain(
      START,
      [1n, 2n, 3n, 4n, 5n].map((amount) => inflow(ANN, amount)),
      [inflow(ANN, 6n)],
    );
    await commit(use.ledger, blocks.slice(0, 1));
    const first = await use.ledger.deposits.list({ limit: 2 });
    const [row] = await use.ledger.deposits.unconfirmed(1);
    if (row === undefined) throw new Error('a deposit that waits');
    await use.ledger.rejections.reject({
      row,
      actor: 'ops',
      reason: 'a test',
      deniedBy: ['first', 'second'],
    });
    await confirmAll(use.ledger);
    await commit(use.ledger, blocks.slice(1), blocks[0]?.header);
    const second = await use.ledger.deposits.list({ limit: 2, cursor: first.nextCursor ?? '' });
    const watchVersion = await use.ledger.watched.version();
    await use.ledger.scan.upsert({ blocks, watchVersion });
    const last = await use.ledger.deposits.list({ limit: 2, cursor: second.nextCursor ?? '' });
    const amounts = [first, second, last].map(({ rows }) => rows.map(({ amount }) => amount));
    expect(amounts).toEqual([[5n, 4n], [3n, 2n], [1n]]);
    expect([last.rows[0]?.state, last.nextCursor]).toEqual(['pending', null]);
  });

  it('to an unassigned address is recorded, and the address is not assigned afterwards', async () => {
    await importWallets(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, [inflow(ANN)]));
    expect((await onlyOne()).userRef).toBeNull();
    expect(await use.ledger.addresses.freeCount()).toBe(1);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: BEN });
    await confirmAll(use.ledger);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
    expect(await codeOf(use.ledger.addresses.assign('user-2'))).toBe('NoFreeAddress');
  });

  it('is written under the lock of its address', async () => {
    await importWallets(use.ledger, ANN);
    const held = await use.other.db.startTransaction().execute();
    await held
      .selectFrom('depositAddress')
      .select('address')
      .where('address', '=', ANN)
      .forUpdate()
      .execute();
    const writing = commit(use.ledger, chain(START, [inflow(ANN)]));
    try {
      expect(await Promise.race([writing, waitForLockWaits(use.ledger.db).then(() => 'waits')])).toBe(
        'waits',
      );
    } finally {
      await held.commit().execute();
    }
    expect(await writing).toBe('committed');
  });

  it('keeps its address from being assigned during its insert', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const slow = await use.other.db.startTransaction().execute();
    const lockedFeed = await lockFeed(slow);
    const arrivals = [{ ...inflow(ANN), slot: 101n, blockhash: 'b101', time: null }];
    await lockWalletsOf(lockedFeed, arrivals);
    await addDeposits(lockedFeed, arrivals);
    const given = await use.ledger.addresses.assign('user-1');
    await slow.commit().execute();
    expect(given.address).toBe(BEN);
    expect(await codeOf(use.ledger.addresses.assign('user-2'))).toBe('NoFreeAddress');
  });

  it('of our own money releases the address once a quorum confirms the sender', async () => {
    await importWallets(use.ledger, ANN);
    await commit(use.ledger, chain(START, [inflow(ANN, 1n, { reason: 'internal' })]));
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('NoFreeAddress');
    await confirmAll(use.ledger);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: ANN });
  });

  it('of before the assignment of its address, found later, belongs to no user', async () => {
    await importWallets(use.ledger, ANN);
    const [block] = chain(START, []);
    if (block === undefined) throw new Error('one block');
    await commit(use.ledger, [block]);
    await use.ledger.addresses.assign('user-1');
    const missed = { ...block, finding: { ...EMPTY_FINDING, inflows: [inflow(ANN, 1n)] } };
    const watchVersion = await use.ledger.watched.version();
    await use.ledger.scan.upsert({ blocks: [missed], watchVersion });
    await commit(use.ledger, chain(block.header, [inflow(ANN, 2n)]), block.header);
    await confirmAll(use.ledger);
    const { rows: deposits } = await use.ledger.deposits.list({ limit: 9 });
    expect(deposits.map(({ amount, state, userRef }) => [amount, state, userRef])).toEqual([
      [2n, 'final', 'user-1'],
      [1n, 'final', null],
    ]);
    expect((await use.ledger.deposits.list({ userRef: 'user-1', limit: 9 })).rows).toHaveLength(1);
    const { rows: alerts } = await use.ledger.alerts.list({ open: true, limit: 9 });
    expect(alerts.map(({ kind }) => kind)).toEqual(['deposit_unowned']);
  });
});

describe('a rejected deposit', () => {
  const note = { actor: 'ops', reason: 'a test', deniedBy: ['first', 'second'] };

  it('has a dropped event only where the feed has its pending event', async () => {
    await importWallets(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, [inflow(ANN), inflow(BEN, 5n, { reason: 'internal' })]));
    for (const row of await use.ledger.deposits.unconfirmed(10))
      expect(await use.ledger.rejections.reject({ row, ...note })).toMatchObject({
        state: 'dropped',
        reason: null,
      });
    expect(await feed()).toEqual([
      [1n, 'pending', 5n],
      [2n, 'dropped', 5n],
    ]);
  });

  it('that is read again with another owner belongs to the wallet of that owner', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const [block] = chain(START, [inflow(ANN, 5n, { account: MINT })]);
    if (block === undefined) throw new Error('one block');
    await commit(use.ledger, [block]);
    await use.ledger.rejections.reject({ row: await onlyOne(), ...note });
    const right = { ...inflow(BEN, 6n, { account: MINT }), signature: `s-${ANN}-5` };
    const blocks = [{ ...block, finding: { ...EMPTY_FINDING, inflows: [right] } }];
    const watchVersion = await use.ledger.watched.version();
    for (let times = 0; times < 2; times += 1) await use.ledger.scan.upsert({ blocks, watchVersion });
    await confirmAll(use.ledger);
    expect(await onlyOne()).toMatchObject({ wallet: BEN, amount: 6n, state: 'final' });
  });
});
