import { openLedger } from '../../src/ledger/ledger.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { median } from '../figures.ts';
import { drive } from '../load.ts';
import type { CapturedQuery } from './capture.ts';
import { captureQueries, wholeReadsOf } from './queries.ts';
import { HOT } from './rows.ts';
import type { ScaleServer } from './server.ts';
import { withClient } from './server.ts';
import { need, newAttempt, newWithdrawal } from './writes.ts';

/** A query at both sizes: the fastest of its runs, in milliseconds, as the machine may be busy with something else in the others. */
export interface Compared {
  readonly name: string;
  readonly smallMs: number;
  readonly largeMs: number;
  readonly ratio: number;
}

export interface ScaleFigures {
  readonly rows: number;
  readonly queries: number;
  readonly slowestRatio: number;
  readonly seqScans: readonly string[];
  readonly prepareRatioWithOpen: number;
  readonly open: number;
  readonly preparesPerSecond: number;
  readonly preparesPerSecondWithOpen: number;
  readonly watchSetSeconds: number;
  readonly slowest: readonly Compared[];
}

export interface ScalePlan {
  readonly rows: number;
  readonly smallRows: number;
  readonly runs: number;
}

/** Less than a round trip to a database on another machine: two times below it count as equal. */
const FLOOR_MS = 1;
const SHOWN = 10;
const OPEN = 60_000;
const ROUNDS = 5;
const PREPARED_AT_ONCE = 8;
const PREPARED_IN_A_ROUND = 200;

export async function measureScale(
  server: ScaleServer,
  { rows, smallRows, runs }: ScalePlan,
  say: (line: string) => void,
): Promise<ScaleFigures> {
  const small = await server.databaseOf(smallRows, say);
  const large = await server.databaseOf(rows, say);
  say('every query at both sizes …');
  const few = await captureQueries(small, smallRows, runs);
  const many = await captureQueries(large, rows, runs);
  const compared = compare(few.queries, many.queries);
  const [slowest] = compared;
  for (const { name, ratio, largeMs } of compared.slice(0, SHOWN))
    say(`  ${ratio.toFixed(2)} x, ${largeMs.toFixed(1)} ms: ${name}`);
  say('preparations by one hot wallet …');
  const open = Math.min(OPEN, rows);
  const rates = await prepareRates(large, open);
  say('the watch set …');
  return {
    rows,
    queries: many.queries.length,
    slowestRatio: slowest?.ratio ?? 1,
    seqScans: wholeReadsOf(many.queries).map(({ name, table }) => `${name}: ${table}`),
    prepareRatioWithOpen: rates.loaded / rates.empty,
    open,
    preparesPerSecond: rates.empty,
    preparesPerSecondWithOpen: rates.loaded,
    watchSetSeconds: await watchSetSeconds(large, rows),
    slowest: compared.slice(0, SHOWN),
  };
}

/** The worst ratio first. Queries with one name are distinguished by their order. */
function compare(few: readonly CapturedQuery[], many: readonly CapturedQuery[]): readonly Compared[] {
  const small = keyed(few);
  return [...keyed(many)]
    .flatMap(([key, query]) => {
      const before = small.get(key);
      if (before === undefined) return [];
      const [smallMs, largeMs] = [Math.min(...before.times), Math.min(...query.times)];
      const ratio = Math.max(largeMs, FLOOR_MS) / Math.max(smallMs, FLOOR_MS);
      return [{ name: query.name, smallMs, largeMs, ratio }];
    })
    .toSorted((a, b) => b.ratio - a.ratio || b.largeMs - a.largeMs);
}

function keyed(queries: readonly CapturedQuery[]): ReadonlyMap<string, CapturedQuery> {
  const keys = new Map<string, CapturedQuery>();
  for (const query of queries) {
    let key = query.name;
    for (let again = 2; keys.has(key); again += 1) key = `${query.name}/${again}`;
    keys.set(key, query);
  }
  return keys;
}

/** Preparations a second of a wallet with nothing open, and of one with so many open reservations, by turns. */
async function prepareRates(url: string, open: number): Promise<{ empty: number; loaded: number }> {
  const loaded = 'a wallet with open reservations';
  await endPreparations(url, loaded);
  await withClient(url, (client) =>
    client.query(
      `insert into reservation select 'w-' || i, $1, 'SOL', 1, 'open', null from generate_series(1, $2::int) as i
       on conflict (settlement_id, wallet, asset) do update set state = 'open'`,
      [loaded, open],
    ),
  );
  const rates: { empty: number[]; loaded: number[] } = { empty: [], loaded: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.empty.push(await prepareRate(url, `a wallet of round ${round}`));
    rates.loaded.push(await prepareRate(url, loaded));
  }
  await endPreparations(url, loaded);
  return { empty: median(rates.empty), loaded: median(rates.loaded) };
}

/** Ends what was prepared: a database that is kept has as much under way in the next run. */
async function endPreparations(url: string, loaded: string): Promise<void> {
  await withClient(url, async (client) => {
    const ids = `(select settlement_id from attempt where state = 'prepared' and settlement_id like 'bench-%')`;
    await client.query(`update settlement set status = 'finalized' where id in ${ids}`);
    await client.query(
      `update reservation set state = 'released' where state = 'open' and settlement_id in ${ids}`,
    );
    await client.query(`update attempt set state = 'dead', proof = '{}' where settlement_id in ${ids}`);
    await client.query(`update reservation set state = 'released' where state = 'open' and wallet = $1`, [
      loaded,
    ]);
    await client.query('vacuum analyze attempt, settlement, reservation, reserved');
  });
}

async function prepareRate(url: string, wallet: string): Promise<number> {
  const ledger = await openLedger(url);
  try {
    await ledger.continuity.pulse();
    const ids = await Promise.all(Array.from({ length: PREPARED_IN_A_ROUND }, () => newWithdrawal(ledger)));
    const { seconds } = await drive(ids.length, PREPARED_AT_ONCE, async (index) => {
      const input = { ...newAttempt(ids[index] ?? ''), signers: [wallet] };
      const reserve = need(1_000n).map((one) => ({ ...one, wallet }));
      const { kind } = await ledger.attempts.prepare(input, reserve);
      if (kind !== 'prepared') throw new Error(`a preparation was ${kind}`);
    });
    return ids.length / seconds;
  } finally {
    await ledger.close();
  }
}

async function watchSetSeconds(url: string, rows: number): Promise<number> {
  const ledger = await openLedger(url);
  try {
    const begun = performance.now();
    const set = new WatchSet(rows + 1);
    for await (const address of ledger.watched.stream()) set.add(address);
    if (!(await ledger.watched.watchKindsOf([HOT])).has(HOT))
      throw new Error('the hot wallet is not watched');
    return (performance.now() - begun) / 1_000;
  } finally {
    await ledger.close();
  }
}
