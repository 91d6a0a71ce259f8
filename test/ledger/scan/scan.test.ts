import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Outflow } from '../../../src/domain/deposit.ts';
import type { MatchedBlock } from '../../../src/ledger/scan/scan.ts';
import { Scan } from '../../../src/ledger/scan/scan.ts';
import type { WatchedWallet } from '../../../src/ledger/scan/watched.ts';
import { address, chain, childOf, EMPTY_FINDING, inflow, outflow, START } from '../chain-of-blocks.ts';
import {
  Crash,
  commit,
  confirmationOf,
  importWallets,
  useDepositLedgers,
  waitForLockWaits,
} from '../deposit-ledger.ts';
import { codeOf } from '../support.ts';

const use = useDepositLedgers();
const [ANN, BEN, HOT] = [address('ann'), address('ben'), address('hot')];

async function amounts(): Promise<readonly bigint[]> {
  const { rows } = await use.ledger.deposits.list({ limit: 100 });
  return rows.map(({ amount }) => amount).toSorted((a, b) => Number(a - b));
}

describe('the scan', () => {
  it('starts once, however many processes start it', async () => {
    const elsewhere = childOf(START);
    const starts = [use.ledger, use.other].map(({ scan }) => scan.start(elsewhere));
    expect(await Promise.all(starts)).toEqual([cursorAt(START), cursorAt(START)]);
    expect(await use.ledger.scan.headersBetween(START.slot, START.slot)).toEqual([START]);
  });

  it('commits blocks with their deposits and moves the cursor to the last block', async () => {
    await importWallets(use.ledger, ANN);
    await use.ledger.watched.addHot([HOT]);
    const [first, second] = chain(
      START,
      [inflow(ANN, 2n ** 64n - 1n)],
      [inflow(ANN, 3n, { reason: 'below_minimum' })],
    );
    if (first === undefined || second === undefined) throw new Error('two blocks');
    const spends = [{ signature: 'spent', wallet: HOT, error: null }];
    const blocks = [
      first,
      { ...second, finding: { ...second.finding, outflows: [outflow(HOT, 7n)], spends } },
    ];
    expect(await commit(use.ledger, blocks)).toBe('committed');
    expect(await use.ledger.scan.cursor()).toEqual(cursorAt(second.header));
    expect(await use.ledger.scan.headersBetween(101n, 200n)).toEqual(blocks.map(({ header }) => header));
    const { rows } = await use.ledger.deposits.list({ limit: 10 });
    expect(rows).toMatchObject([
      { ...inflow(ANN, 3n), state: 'pending', reason: 'below_minimum', slot: 102n, blockhash: 'b102' },
      { ...inflow(ANN, 2n ** 64n - 1n), state: 'pending', reason: null, slot: 101n, time: 1_001n },
    ]);
    const spent = await use.ledger.db.selectFrom('spend').selectAll().execute();
    expect(spent).toMatchObject([
      { signature: 'spent', slot: 102n, wallet: HOT, error: null, judged: false },
    ]);
    const at = (slot: bigint) => use.ledger.movements.balancesOf([HOT], slot);
    expect(await at(101n)).toEqual([]);
    expect(await at(102n)).toEqual([{ wallet: HOT, account: HOT, asset: 'SOL', amount: -7n }]);
  });

  it.each([
    ['another parent', { previousBlockhash: 'fork' }],
    ['another slot of its parent', { parentSlot: 98n }],
    ['another height', { height: 92n }],
  ])('refuses a block with %s', async (_what, lie) => {
    const header = { ...childOf(START), ...lie };
    expect(await codeOf(commit(use.ledger, [{ header, finding: EMPTY_FINDING }]))).toBe('IllegalTransition');
    expect(await use.ledger.scan.cursor()).toEqual(cursorAt(START));
  });

  it('lets one of two scanners advance, and reports that to the other', async () => {
    await importWallets(use.ledger, ANN);
    const short = chain(START, [inflow(ANN, 1n)]);
    const long = chain(START, [inflow(ANN, 1n)], [inflow(ANN, 2n)]);
    const results = await Promise.all([commit(use.ledger, short), commit(use.other, long)]);
    expect(results.toSorted()).toEqual(['committed', 'overtaken']);
    const [won] = results;
    expect(await amounts()).toEqual(won === 'committed' ? [1n] : [1n, 2n]);
  });

  it('moves its cursor although requests for an address hold locks', async () => {
    const { ledger, other, url } = use;
    const asking = new pg.Client({ connectionString: url });
    await asking.connect();
    try {
      await importWallets(ledger, ANN, BEN);
      await asking.query('begin');
      await asking.query(
        `update deposit_address set state = 'assigned', user_ref = 'user', assigned_at = now() where address = $1`,
        [ANN],
      );
      const assigned = other.addresses.assign('user');
      await waitForLockWaits(ledger.db);
      expect(await commit(ledger, chain(START, []))).toBe('committed');
      await asking.query('commit');
      expect((await assigned).address).toBe(ANN);
    } finally {
      await asking.end();
    }
  });

  it('recognizes its own commit when the answer was lost', async () => {
    await importWallets(use.ledger, ANN);
    const blocks = chain(START, [inflow(ANN)]);
    expect(await commit(use.ledger, blocks)).toBe('committed');
    expect(await commit(use.other, blocks)).toBe('committed');
    expect(await amounts()).toEqual([5n]);
    const fork = { header: childOf(START, { fork: 'x' }), finding: EMPTY_FINDING };
    expect(await commit(use.ledger, [fork])).toBe('overtaken');
  });

  it('commits all or nothing, wherever it dies', async () => {
    await importWallets(use.ledger, ANN);
    const blocks = chain(START, [inflow(ANN, 1n)], [inflow(ANN, 2n)]);
    const watchVersion = await use.ledger.watched.version();
    for (let at = 1; ; at += 1) {
      const scan = new Scan(use.ledger.db.withPlugin(new Crash(at)));
      const work = scan.commit({ expected: START, blocks, watchVersion });
      if ((await work.catch((error: unknown) => error)) === 'committed') {
        expect(at).toBeGreaterThan(8);
        break;
      }
      expect(await use.ledger.scan.cursor()).toEqual(cursorAt(START));
      expect(await amounts()).toEqual([]);
      expect(await use.ledger.depositFeed.events(0n, 9)).toEqual({ events: [], next: 0n });
    }
    expect(await amounts()).toEqual([1n, 2n]);
  });
});

describe('an address that is added while blocks are scanned', () => {
  const blocks = chain(START, []);
  const found = (added: readonly WatchedWallet[]): MatchedBlock[] =>
    chain(
      START,
      added.map((wallet) => inflow(wallet.address)),
    );

  /** Commits blocks that were matched with this version, and matches them again if wallets were added since. */
  async function commitMatchedWith(
    watchVersion: bigint,
    rematch: (added: readonly WatchedWallet[]) => MatchedBlock[] | Promise<MatchedBlock[]> = found,
  ) {
    const { scan, watched } = use.other;
    const result = await scan.commit({ expected: START, blocks, watchVersion });
    if (result !== 'watch_set_changed') return result;
    return watched.holdVersion(async () => {
      const { version, wallets } = await watched.changesSince(watchVersion);
      return scan.commit({ expected: START, blocks: await rematch(wallets), watchVersion: version });
    });
  }

  it('is searched for in the blocks that were matched without it', async () => {
    await importWallets(use.ledger, ANN);
    const version = await use.ledger.watched.version();
    await importWallets(use.ledger, BEN);
    expect(await commitMatchedWith(version)).toBe('committed');
    const { rows } = await use.ledger.deposits.list({ limit: 10 });
    expect(rows.map(({ wallet }) => wallet)).toEqual([BEN]);
  });

  it('is found although its import had not ended when the commit began', async () => {
    const importing = await use.ledger.db.startTransaction().execute();
    await importing
      .insertInto('watchedWallet')
      .values({ address: ANN, kind: 'deposit', version: 1n, watchedAfter: 100n })
      .execute();
    await importing.updateTable('watchVersion').set({ version: 1n }).execute();
    const committing = commitMatchedWith(0n);
    await Promise.race([waitForLockWaits(use.ledger.db), committing]);
    await importing.commit().execute();
    expect(await committing).toBe('committed');
    expect(await amounts()).toEqual([5n]);
  });

  it('waits for a commit in progress, and is watched after its blocks', async () => {
    await importWallets(use.ledger, ANN);
    const order: string[] = [];
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let began = (): void => undefined;
    const rematching = new Promise<void>((resolve) => {
      began = resolve;
    });
    const committing = commitMatchedWith(0n, async (added) => {
      began();
      await held;
      order.push('matched');
      return found(added);
    });
    await rematching;
    const importing = importWallets(use.ledger, BEN).then(() => order.push('imported'));
    await Promise.race([waitForLockWaits(use.ledger.db), importing]);
    go();
    await Promise.all([committing, importing]);
    expect(order).toEqual(['matched', 'imported']);
    expect(await use.ledger.addresses.byAddress(BEN)).toMatchObject({ watchedAfter: 101n });
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ watchedAfter: 100n });
  });

  it('is read anew from a database that is older than the watch set in memory', async () => {
    expect(await commitMatchedWith(1n)).toBe('unknown_version');
    expect(await use.ledger.scan.cursor()).toEqual(cursorAt(START));
  });
});

describe('a rescan of old blocks', () => {
  const [first, second, third] = chain(START, [inflow(ANN, 1n)], [inflow(ANN, 2n)], [inflow(ANN, 3n)]);
  if (first === undefined || second === undefined || third === undefined) throw new Error('three blocks');
  const missed = { header: second.header, finding: EMPTY_FINDING };

  async function upsert(...blocks: readonly Parameters<Scan['upsert']>[0]['blocks'][number][]) {
    const watchVersion = await use.ledger.watched.version();
    return use.ledger.scan.upsert({ blocks, watchVersion });
  }

  it('adds missed deposits, nothing twice, and does not move the cursor (private-channels #181)', async () => {
    await importWallets(use.ledger, ANN);
    await commit(use.ledger, [first, missed, third]);
    expect(await amounts()).toEqual([1n, 3n]);
    for (let times = 0; times < 2; times += 1) expect(await upsert(first, second, second)).toBe('committed');
    expect(await amounts()).toEqual([1n, 2n, 3n]);
    expect((await use.ledger.depositFeed.events(0n, 9)).events).toHaveLength(3);
    expect(await use.ledger.scan.cursor()).toEqual(cursorAt(third.header));
  });

  it('replaces the outflows of a complete block, and adds those of single transactions', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const withOutflows = (...outflows: readonly Outflow[]) => ({
      header: first.header,
      finding: { ...EMPTY_FINDING, outflows },
    });
    const at = async () =>
      (await use.ledger.movements.balancesOf([ANN, BEN], 200n)).map(({ wallet, amount }) => [wallet, amount]);
    await commit(use.ledger, [withOutflows(outflow(ANN, 5n), outflow(BEN, 6n)), second]);
    expect(await at()).toEqual([
      [ANN, -3n],
      [BEN, -6n],
    ]);
    const alone = { ...withOutflows(outflow(BEN, 1n)), header: { ...first.header, blockhash: null } };
    await upsert(alone);
    expect(await at()).toEqual([
      [ANN, -3n],
      [BEN, -7n],
    ]);
    for (let times = 0; times < 2; times += 1) await upsert(withOutflows(outflow(BEN, 6n)));
    expect(await at()).toEqual([
      [ANN, 2n],
      [BEN, -6n],
    ]);
  });

  it('keeps a finalized amount with an alert, and corrects one that is not confirmed', async () => {
    await importWallets(use.ledger, ANN);
    await commit(use.ledger, [first, second]);
    const [oldest] = await use.ledger.deposits.unconfirmed(1);
    if (oldest === undefined) throw new Error('one deposit');
    await use.ledger.deposits.confirm([confirmationOf(oldest)]);
    const other = (block: typeof first, signature: string) => ({
      header: block.header,
      finding: { ...EMPTY_FINDING, inflows: [inflow(ANN, 9n, { signature })] },
    });
    await upsert(other(first, `s-${ANN}-1`), other(second, `s-${ANN}-2`));
    expect(await amounts()).toEqual([1n, 9n]);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 10 });
    expect(rows.map(({ kind, subject }) => [kind, subject])).toEqual([
      ['deposit_mismatch', `s-${ANN}-2`],
      ['deposit_mismatch', `s-${ANN}-1`],
    ]);
    const younger = { id: oldest.id + 1n, wallet: ANN, reason: null };
    expect(await use.ledger.deposits.confirm([confirmationOf({ ...younger, amount: 2n })])).toEqual([]);
    expect(await use.ledger.deposits.confirm([confirmationOf({ ...younger, amount: 9n })])).toHaveLength(1);
  });

  it('keeps the first classification when the terms of the asset have changed', async () => {
    await importWallets(use.ledger, ANN);
    const judged = (reason: 'unknown_mint' | null) => ({
      header: first.header,
      finding: { ...EMPTY_FINDING, inflows: [inflow(ANN, 1n, { reason })] },
    });
    await commit(use.ledger, [judged('unknown_mint')]);
    await upsert(judged(null));
    expect(await use.ledger.deposits.list({ limit: 1 })).toMatchObject({
      rows: [{ state: 'pending', reason: 'unknown_mint' }],
    });
    expect(await use.ledger.alerts.list({ limit: 1 })).toMatchObject({ rows: [] });
  });

  it('refuses blocks above the cursor, other blocks, and blocks at slots that the chain skipped', async () => {
    await importWallets(use.ledger, ANN);
    const late = { header: childOf(first.header, { skipped: 3 }), finding: EMPTY_FINDING };
    await commit(use.ledger, [first, late]);
    const at = (slot: bigint, blockhash: string | null) => ({
      header: { slot, blockhash, time: null },
      finding: second.finding,
    });
    expect(await codeOf(upsert(at(106n, 'b106')))).toBe('InvalidRequest');
    expect(await codeOf(upsert(at(101n, 'fork')))).toBe('NodeFault');
    expect(await codeOf(upsert(at(103n, 'b103')))).toBe('NodeFault');
    expect(await codeOf(upsert(at(103n, null)))).toBe('NodeFault');
    expect(await upsert(at(101n, null), at(50n, 'b50'))).toBe('committed');
    const { rows } = await use.ledger.deposits.list({ limit: 10 });
    expect(rows.filter(({ amount }) => amount === 2n)).toMatchObject([
      { blockhash: 'b50' },
      { blockhash: 'b101' },
    ]);
  });
});

function cursorAt({ slot, blockhash, height }: typeof START) {
  return { slot, blockhash, height };
}

it('the ledger refuses a row of a wallet that is not watched', async () => {
  await expect(commit(use.ledger, chain(START, [inflow(BEN)]))).rejects.toMatchObject({
    constraint: 'deposit_wallet_fkey',
  });
});
