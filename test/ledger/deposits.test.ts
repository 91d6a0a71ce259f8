import { describe, expect, it } from 'vitest';
import { lockFeed } from '../../src/ledger/deposit-feed.ts';
import type { DepositRow } from '../../src/ledger/deposit-row.ts';
import { addDeposits } from '../../src/ledger/deposit-writing.ts';
import { address, chain, childOf, inflow, NOTHING, START } from './chain-of-blocks.ts';
import { commit, confirmAll, imported, lockWaits, shown, useDepositLedgers } from './deposit-ledger.ts';
import { codeOf } from './support.ts';

const use = useDepositLedgers();
const [ANN, BEN] = [address('ann'), address('ben')];
const MINT = address('mint');

async function onlyOne(): Promise<DepositRow> {
  const { rows } = await use.ledger.deposits.list({ limit: 2 });
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`${rows.length} deposits`);
  return row;
}

async function feed(after = 0n): Promise<readonly unknown[]> {
  const events = await use.ledger.depositFeed.events(after, 100);
  return events.map(({ sequence, kind, deposit }) => [sequence, kind, deposit.amount]);
}

describe('a deposit', () => {
  it('is final when a quorum shows it, once', async () => {
    await imported(use.ledger, ANN);
    await commit(use.ledger, chain(START, [inflow(ANN)]));
    const row = await onlyOne();
    for (const other of [{ amount: 6n }, { reason: 'internal' as const }])
      expect(await use.ledger.deposits.confirm([shown({ ...row, ...other })])).toEqual([]);
    expect(await use.ledger.deposits.unconfirmed(10)).toHaveLength(1);
    const right = shown(row);
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

  it('that one node alone says is not to be credited is told when a quorum says so', async () => {
    await imported(use.ledger, ANN);
    await commit(use.ledger, chain(START, [inflow(ANN, 1n, { reason: 'internal' })]));
    const row = await onlyOne();
    expect(row).toMatchObject({ state: 'pending', reason: 'internal' });
    expect(await feed()).toEqual([]);
    await confirmAll(use.ledger);
    expect(await onlyOne()).toMatchObject({ state: 'not_credited', reason: 'internal' });
    expect(await feed()).toEqual([[1n, 'not_credited', 1n]]);
    expect(await use.ledger.alerts.list({ limit: 1 })).toMatchObject({ rows: [] });
  });

  it('that a quorum shows otherwise is put right with an alert, and its address is used then', async () => {
    await imported(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, [inflow(ANN, 1n, { reason: 'internal' })]));
    await use.ledger.deposits.confirm([shown(await onlyOne(), { amount: 2n, reason: null })]);
    expect(await onlyOne()).toMatchObject({ state: 'final', reason: null, amount: 2n });
    expect(await feed()).toEqual([[1n, 'final', 2n]]);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 2 });
    expect(rows.map(({ kind, message }) => [kind, message])).toEqual([
      [
        'deposit_mismatch',
        `first, second show 2 of SOL at ${ANN}, the scan was shown 1 of SOL at ${ANN} as internal`,
      ],
    ]);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
  });

  it('that may be credited is to be asked about before dust that came earlier, the oldest first', async () => {
    await imported(use.ledger, ANN);
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

  it('is one of many that a transaction made, one for each account and asset', async () => {
    await imported(use.ledger, ANN, BEN);
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
    await imported(use.ledger, ANN, BEN);
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
    const events = await use.ledger.depositFeed.events(0n, 10, { userRef: 'user-1' });
    expect(events.map(({ sequence, deposit }) => [sequence, deposit.userRef])).toEqual([
      [1n, 'user-1'],
      [2n, 'user-1'],
      [3n, 'user-1'],
      [4n, 'user-1'],
    ]);
    expect(await use.ledger.depositFeed.events(0n, 10, { state: 'not_credited' })).toMatchObject([
      { sequence: 5n, deposit: { reason: 'below_minimum' } },
    ]);
  });

  it('to an address that nobody has is on record, and nobody gets the address any more', async () => {
    await imported(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, [inflow(ANN)]));
    expect((await onlyOne()).userRef).toBeNull();
    expect(await use.ledger.addresses.freeCount()).toBe(1);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: BEN });
    await confirmAll(use.ledger);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
    expect(await codeOf(use.ledger.addresses.assign('user-2'))).toBe('NoFreeAddress');
  });

  it('that is being put on record keeps its address from whoever asks for one meanwhile', async () => {
    await imported(use.ledger, ANN, BEN);
    const slow = await use.other.db.startTransaction().execute();
    await addDeposits(await lockFeed(slow), [{ ...inflow(ANN), slot: 101n, blockhash: 'b101', time: null }]);
    const given = await use.ledger.addresses.assign('user-1');
    await slow.commit().execute();
    expect(given.address).toBe(BEN);
    expect(await codeOf(use.ledger.addresses.assign('user-2'))).toBe('NoFreeAddress');
  });

  it('of our own money leaves the address free, once a quorum says that it is ours', async () => {
    await imported(use.ledger, ANN);
    await commit(use.ledger, chain(START, [inflow(ANN, 1n, { reason: 'internal' })]));
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('NoFreeAddress');
    await confirmAll(use.ledger);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: ANN });
  });

  it('that is found later, in a block of before its address was given out, is no user’s', async () => {
    await imported(use.ledger, ANN);
    const [block] = chain(START, []);
    if (block === undefined) throw new Error('one block');
    await commit(use.ledger, [block]);
    await use.ledger.addresses.assign('user-1');
    const missed = { ...block, finding: { ...NOTHING, inflows: [inflow(ANN, 1n)] } };
    const watchVersion = await use.ledger.watched.version();
    await use.ledger.scan.upsert({ blocks: [missed], watchVersion, rematch: () => [] });
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

describe('a deposit that is rejected', () => {
  const word = { who: 'ops', why: 'why', deniedBy: ['first', 'second'] };

  it('is told to those alone who knew of it', async () => {
    await imported(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, [inflow(ANN), inflow(BEN, 5n, { reason: 'internal' })]));
    for (const row of await use.ledger.deposits.unconfirmed(10))
      expect(await use.ledger.rejections.reject({ row, ...word })).toMatchObject({
        state: 'dropped',
        reason: null,
      });
    expect(await feed()).toEqual([
      [1n, 'pending', 5n],
      [2n, 'dropped', 5n],
    ]);
  });

  it('belongs, read again, to the wallet that it came to by then', async () => {
    await imported(use.ledger, ANN, BEN);
    const [block] = chain(START, [inflow(ANN, 5n, { account: MINT })]);
    if (block === undefined) throw new Error('one block');
    await commit(use.ledger, [block]);
    await use.ledger.rejections.reject({ row: await onlyOne(), ...word });
    const right = { ...inflow(BEN, 6n, { account: MINT }), signature: `s-${ANN}-5` };
    const blocks = [{ ...block, finding: { ...NOTHING, inflows: [right] } }];
    const watchVersion = await use.ledger.watched.version();
    for (let times = 0; times < 2; times += 1)
      await use.ledger.scan.upsert({ blocks, watchVersion, rematch: () => [] });
    await confirmAll(use.ledger);
    expect(await onlyOne()).toMatchObject({ wallet: BEN, amount: 6n, state: 'final' });
  });
});

describe('an announced deposit', () => {
  const header = childOf(START);
  const found = (...inflows: ReturnType<typeof inflow>[]) => ({ header, finding: { ...NOTHING, inflows } });

  it('becomes finalized with its block and is told of once', async () => {
    await imported(use.ledger, ANN);
    for (let times = 0; times < 2; times += 1) await use.ledger.deposits.announce([found(inflow(ANN))]);
    expect(await onlyOne()).toMatchObject({ state: 'pending', finalizedAt: null });
    expect(await use.ledger.deposits.unconfirmed(10)).toEqual([]);
    expect(await use.ledger.movements.balancesOf([ANN], 200n)).toEqual([]);
    await commit(use.ledger, [found(inflow(ANN))]);
    expect(await onlyOne()).toMatchObject({ state: 'pending', finalizedAt: expect.any(Date) });
    expect(await use.ledger.deposits.unconfirmed(10)).toHaveLength(1);
    expect(await feed()).toEqual([[1n, 'pending', 5n]]);
  });

  it('is told of again where its finalized block says otherwise', async () => {
    await imported(use.ledger, ANN, BEN);
    await use.ledger.deposits.announce([found(inflow(ANN), inflow(BEN))]);
    const off = inflow(BEN, 5n, { reason: 'deposits_off' });
    await commit(use.ledger, [found(inflow(ANN, 4n, { signature: `s-${ANN}-5` }), off)]);
    await confirmAll(use.ledger);
    expect(await feed(2n)).toEqual([
      [3n, 'pending', 4n],
      [4n, 'final', 4n],
      [5n, 'not_credited', 5n],
    ]);
  });

  it('is dropped when the cursor passes its slot, and comes back with its block', async () => {
    await imported(use.ledger, ANN);
    const fork = { header: childOf(START, { fork: 'x' }), finding: found(inflow(ANN)).finding };
    await use.ledger.deposits.announce([fork]);
    await commit(use.ledger, [{ header, finding: NOTHING }]);
    expect(await onlyOne()).toMatchObject({ state: 'dropped', blockhash: 'b101x' });
    await use.ledger.deposits.announce([fork, found(inflow(ANN, 6n))]);
    expect(await feed()).toEqual([
      [1n, 'pending', 5n],
      [2n, 'dropped', 5n],
    ]);
    const blocks = [found(inflow(ANN, 5n))];
    const watchVersion = await use.ledger.watched.version();
    await use.ledger.scan.upsert({ blocks, watchVersion, rematch: () => [] });
    const { rows } = await use.ledger.deposits.list({ limit: 10 });
    expect(rows.map(({ state, blockhash }) => [state, blockhash])).toEqual([
      ['pending', 'b101'],
      ['dropped', 'b101x'],
    ]);
  });

  it('keeps its address from being given out until it is dropped, and no longer', async () => {
    await imported(use.ledger, ANN);
    const fork = { header: childOf(START, { fork: 'x' }), finding: found(inflow(ANN)).finding };
    await use.ledger.deposits.announce([fork]);
    expect(await use.ledger.addresses.freeCount()).toBe(0);
    expect(await codeOf(use.ledger.addresses.assign('user-1'))).toBe('NoFreeAddress');
    await commit(use.ledger, [{ header, finding: NOTHING }]);
    expect(await use.ledger.addresses.assign('user-1')).toMatchObject({ address: ANN });
  });

  it('waits for a commit under way, so that the cursor cannot leave it behind', async () => {
    await imported(use.ledger, ANN);
    const committing = await use.other.db.startTransaction().execute();
    await committing.selectFrom('scanCursor').selectAll().forUpdate().execute();
    const announcing = use.ledger.deposits.announce([found(inflow(ANN))]);
    await Promise.race([lockWaits(use.ledger.db), announcing]);
    await committing.updateTable('scanCursor').set({ slot: 101n, blockhash: 'b101', height: 91n }).execute();
    await committing.commit().execute();
    await announcing;
    expect(await use.ledger.deposits.list({ limit: 1 })).toMatchObject({ rows: [] });
  });
});

describe('the feed', () => {
  it('shows no event before those of lower sequences, however late they are committed', async () => {
    await imported(use.ledger, ANN, BEN);
    const [first, second] = chain(START, [inflow(ANN, 1n)], [inflow(BEN, 2n)]);
    if (first === undefined || second === undefined) throw new Error('two blocks');
    await commit(use.ledger, [first]);
    const row = await onlyOne();
    // A commit comes to the open gap when it has written its events: somebody else's lock on it keeps them uncommitted.
    await use.ledger.gaps.open(first.header, { ...childOf(first.header, { skipped: 5 }), parentSlot: 106n });
    const slow = await use.other.db.startTransaction().execute();
    await slow.selectFrom('scanGap').selectAll().forUpdate().execute();
    const committing = commit(use.ledger, [second], first.header);
    await lockWaits(use.ledger.db);
    const confirming = use.other.deposits.confirm([shown(row)]);
    await Promise.race([lockWaits(use.ledger.db, 2), confirming]);
    expect(await feed()).toEqual([[1n, 'pending', 1n]]);
    await slow.commit().execute();
    expect(await committing).toBe('committed');
    await confirming;
    expect(await feed()).toEqual([
      [1n, 'pending', 1n],
      [2n, 'pending', 2n],
      [3n, 'final', 1n],
    ]);
  });

  it('has one event of what two readers of old blocks find at once', async () => {
    await imported(use.ledger, ANN);
    const blocks = chain(START, [inflow(ANN)]);
    await commit(
      use.ledger,
      blocks.map(({ header }) => ({ header, finding: NOTHING })),
    );
    const watchVersion = await use.ledger.watched.version();
    const again = { blocks, watchVersion, rematch: () => [] };
    const readers = [use.ledger, use.other, use.ledger, use.other];
    const results = await Promise.all(readers.map(({ scan }) => scan.upsert(again)));
    expect(new Set(results)).toEqual(new Set(['committed']));
    expect(await feed()).toEqual([[1n, 'pending', 5n]]);
  });
});
