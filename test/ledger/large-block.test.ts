import { type KyselyPlugin, sql, type Transaction } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Tables } from '../../src/ledger/database.ts';
import { DepositFeed } from '../../src/ledger/deposits/deposit-feed.ts';
import { Deposits } from '../../src/ledger/deposits/deposits.ts';
import { Scan } from '../../src/ledger/scan/scan.ts';
import { address, chain, childOf, inflow, outflow, START } from './chain-of-blocks.ts';
import { commit, importWallets, useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();
const [ANN, BEN] = [address('ann'), address('ben')];
const COUNT = 6_000;
/** A fraction of the deposits that a block may have. */
const MAX_ROWS = 5_000n;

/** Records how many rows each statement wrote or returned. */
class Rows implements KyselyPlugin {
  most = 0n;
  sum = 0n;

  transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node;

  transformResult: KyselyPlugin['transformResult'] = async ({ result }) => {
    const rows = result.numAffectedRows ?? 0n;
    this.sum += rows;
    if (rows > this.most) this.most = rows;
    return result;
  };
}

const inflows = Array.from({ length: COUNT }, (_, index) =>
  inflow(index % 2 ? ANN : BEN, BigInt(index + 1), { signature: `s-${index}` }),
);

async function eventsInOrder(): Promise<readonly bigint[]> {
  const amounts: bigint[] = [];
  for (let after = 0n; ; ) {
    const { events, next } = await use.ledger.depositFeed.events(after, 1_000);
    if (next === after) return amounts;
    amounts.push(...events.map(({ deposit }) => deposit.amount));
    after = next;
  }
}

/**
 * How often the table of deposits was read whole, and by an index. It counts from the last statistics report of this connection, which
 * happens once a second, and never within a transaction: it may have earlier transactions in it.
 */
async function scansOfDeposits(trx: Transaction<Tables>): Promise<{ all: bigint; single: bigint }> {
  const { rows } = await sql<{ all: bigint; single: bigint }>`
    select seq_scan as "all", idx_scan as single from pg_stat_xact_user_tables where relname = 'deposit'`.execute(
    trx,
  );
  const [scans] = rows;
  if (scans === undefined) throw new Error('no table of deposits');
  return scans;
}

describe('a block with very many deposits', () => {
  it('is committed by statements of a bounded number of rows, in the order of its payments', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const rows = new Rows();
    const [block] = chain(START, inflows);
    if (block === undefined) throw new Error('no block');
    const outflows = inflows.map(({ amount }, index) => outflow(ANN, amount, { signature: `o-${index}` }));
    const spends = outflows.map(({ signature }) => ({ signature, wallet: ANN, error: null }));
    const brought = { ...block, finding: { inflows, outflows, spends } };
    const watchVersion = await use.ledger.watched.version();
    const scan = new Scan(use.ledger.db.withPlugin(rows));
    const request = { expected: START, blocks: [brought], watchVersion };
    expect(await scan.commit(request)).toBe('committed');
    expect(await eventsInOrder()).toEqual(inflows.map(({ amount }) => amount));
    expect(rows.sum).toBeGreaterThan(4n * BigInt(COUNT) - 1n);
    expect(rows.most).toBeLessThanOrEqual(MAX_ROWS);
  });

  it('is announced and dropped by such statements', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const rows = new Rows();
    const db = use.ledger.db.withPlugin(rows);
    const fork = childOf(START, { fork: 'x' });
    await new Deposits(db).announce([{ header: fork, finding: { inflows, outflows: [], spends: [] } }]);
    const watchVersion = await use.ledger.watched.version();
    const blocks = chain(START, []);
    await new Scan(db).commit({ expected: START, blocks, watchVersion });
    const amounts = inflows.map(({ amount }) => amount);
    expect(await eventsInOrder()).toEqual([...amounts, ...amounts]);
    expect(rows.most).toBeLessThanOrEqual(MAX_ROWS);
  });

  it('is read from the feed deposit by deposit, also where statistics were taken during its commit', async () => {
    await importWallets(use.ledger, ANN, BEN);
    await commit(use.ledger, chain(START, inflows));
    await sql`analyze deposit, deposit_event`.execute(use.ledger.db);
    // The result of an ANALYZE while none of the rows is committed.
    await sql`update pg_class set reltuples = 0 where oid = 'deposit'::regclass`.execute(use.ledger.db);
    await use.ledger.db.transaction().execute(async (trx) => {
      const before = await scansOfDeposits(trx);
      expect((await new DepositFeed(trx).events(0n, COUNT)).events).toHaveLength(COUNT);
      const { all, single } = await scansOfDeposits(trx);
      expect({ all: all - before.all, single: single - before.single }).toEqual({
        all: 0n,
        single: BigInt(COUNT),
      });
    });
  });
});
