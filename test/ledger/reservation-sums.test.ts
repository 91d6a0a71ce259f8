import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, it } from 'vitest';
import { Capture, rowsRead } from '../../bench/scale/capture.ts';
import { connect } from '../../src/ledger/connection.ts';
import type { Database } from '../../src/ledger/database.ts';
import { waitForLockWaits } from './deposit-ledger.ts';
import { attempt, codeOf, DEAD, newId, openReservations, REASON, solNeed, useLedger } from './support.ts';
import { terms } from './terms.ts';

const use = useLedger();
const WALLETS = ['A', 'B', 'C'];
const ASSETS = ['SOL', 'mint'];

async function reserved(): Promise<string> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  return id;
}

/** A need of each asset in each of these wallets, which have sufficient funds. */
function needs(wallets: readonly string[], amount: bigint) {
  return wallets.map((wallet) => ({
    wallet,
    observedSlot: 1n,
    needs: ASSETS.map((asset) => ({ asset, amount, finalizedBalance: 10n ** 15n, keep: 0n })),
  }));
}

/** The maintained sums that differ from the sums of the reservations. */
async function wrongSums(db: Database): Promise<readonly unknown[]> {
  const { rows } = await sql`
    select wallet, asset, maintained.amount, maintained.open, true_sum.amount as true_amount, true_sum.open as true_open
    from (select wallet, asset, sum(amount) as amount, sum(open) as open from reserved group by 1, 2) maintained
    full join (select wallet, asset, sum(amount) as amount, count(*) as open from reservation
      where state = 'open' group by 1, 2) true_sum using (wallet, asset)
    where coalesce(maintained.amount, 0) <> coalesce(true_sum.amount, 0)
      or coalesce(maintained.open, 0) <> coalesce(true_sum.open, 0)`.execute(db);
  return rows;
}

const step = fc.record({
  caller: fc.nat(3),
  what: fc.constantFrom('prepare', 'die', 'land', 'fail', 'cancel', 'reject', 'confirm', 'drop', 'crash'),
  wallets: fc.shuffledSubarray(WALLETS, { minLength: 1 }),
  amount: fc.bigInt(0n, 1_000n),
});
type DrawnStep = typeof step extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** One step of a settlement; a refused step changes nothing. */
async function take(id: string, { what, wallets, amount }: DrawnStep): Promise<void> {
  const { attempts, settlements } = use.ledger;
  const n = (await attempts.of(id)).length;
  const hash = { messageHash: randomBytes(32).toString('hex') };
  const end = (state: 'landed' | 'failed') => ({ state, slot: 7n, feeLamports: 5n, proof: null });
  switch (what) {
    case 'prepare':
      return void (await attempts.prepare(
        attempt(id, n + 1, { ...hash, signers: [...wallets] }),
        needs(wallets, amount),
      ));
    case 'crash':
      return crashed(id, wallets);
    case 'die':
      return void (await attempts.settle(id, n, DEAD));
    case 'land':
      return void (await attempts.settle(id, n, end('landed')));
    case 'fail':
      return void (await attempts.settle(id, n, end('failed')));
    case 'cancel':
      return void (await settlements.cancel(id, REASON));
    case 'reject':
      return void (await settlements.move(id, 'rejected', REASON));
    case 'confirm':
      return void (await settlements.move(id, 'awaiting_confirmation', REASON));
    case 'drop':
      return void (await settlements.drop(id, REASON));
  }
}

/** A process dies after it has written a reservation, before its transaction ends. */
async function crashed(id: string, wallets: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: use.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  // In the order in which preparations lock wallets: otherwise both could wait for each other.
  for (const wallet of wallets.toSorted())
    await client.query(
      `insert into reservation values ($1, $2, 'SOL', 77, 'open', null) on conflict do nothing`,
      [id, wallet],
    );
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(use.ledger.db);
  await client.end().catch(() => undefined);
}

it('the sums equal the open reservations after any history, with concurrent settlements and crashes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
      const ids = await Promise.all([0, 1, 2, 3].map(reserved));
      // Each settlement takes its own steps in order, all settlements at once.
      await Promise.all(
        ids.map(async (id, caller) => {
          for (const one of steps.filter((each) => each.caller === caller)) await codeOf(take(id, one));
        }),
      );
      expect(await wrongSums(use.ledger.db)).toEqual([]);
    }),
    { numRuns: 25 },
  );
});

it('a preparation reads as many rows with a thousand open reservations as with none', async () => {
  const wallet = 'loaded';
  const before = await readsOfOne(wallet);
  await sql`insert into settlement (id, kind, subject_id, status)
    select 'reserved-' || i, 'withdrawal', 'reserved-' || i, 'preparing' from generate_series(1, 1000) as i`.execute(
    use.ledger.db,
  );
  await sql`insert into reservation select 'reserved-' || i, ${wallet}, 'SOL', 1, 'open', null
    from generate_series(1, 1000) as i`.execute(use.ledger.db);
  await sql`analyze reservation`.execute(use.ledger.db);
  expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(1_002n);
  const after = await readsOfOne(wallet);
  expect(after.rows).toBeLessThanOrEqual(before.rows + 2 * 16);
  // The lock, the sums, the reservation: then the transaction ends.
  expect(after.underLock).toBe(2);
});

/** How many rows the statements of one preparation read, and how many follow the lock of the wallet. */
async function readsOfOne(wallet: string): Promise<{ rows: number; underLock: number }> {
  const id = await reserved();
  const capture = new Capture(1);
  const ledger = capture.ledger(use.ledger, () => '');
  await capture.during(async () => {
    await ledger.attempts.prepare(attempt(id, 1, { signers: [wallet] }), solNeed(2n, 10n ** 15n, { wallet }));
  });
  const statements = capture.queries.map((query) => query.sql);
  const lock = statements.findIndex((text) => text.includes('sluice/wallet'));
  const rows = capture.queries.reduce((sum, { plan }) => sum + rowsRead(plan), 0);
  return { rows, underLock: statements.length - 1 - lock };
}

it('two settlements over the same wallets in opposite orders wait for each other, and both are prepared', async () => {
  const ids = await Promise.all([reserved(), reserved()]);
  const looking = connect(use.url);
  const holder = new pg.Client({ connectionString: use.url });
  await holder.connect();
  await holder.query('begin');
  // Both wait for a held wallet: without a lock order, each would then wait for the other's wallet.
  for (const wallet of ['left', 'right'])
    await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`sluice/wallet/${wallet}`]);
  const both = Promise.all(
    [
      ['left', 'right'],
      ['right', 'left'],
    ].map((wallets, index) =>
      use.ledger.attempts.prepare(attempt(ids[index] ?? '', 1, { signers: wallets }), needs(wallets, 3n)),
    ),
  );
  await waitForLockWaits(looking, 2);
  await holder.query('commit');
  expect((await both).map(({ kind }) => kind)).toEqual(['prepared', 'prepared']);
  expect(await openReservations(use.ledger, 'left', 'mint')).toBe(6n);
  await holder.end();
  await looking.destroy();
});
