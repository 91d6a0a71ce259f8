import { type KyselyPlugin, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { BlockHeader } from '../../src/domain/deposit.ts';
import type { InflowVerdict } from '../../src/domain/quorum-result.ts';
import type { Database } from '../../src/ledger/database.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import type { Confirmation } from '../../src/ledger/deposits/deposit-writing.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { CommitResult, MatchedBlock } from '../../src/ledger/scan/scan.ts';
import { START } from './chain-of-blocks.ts';
import { useLedger } from './support.ts';

/** Ledgers of two processes on one database; each test starts without deposits and with the scan at START. */
export function useDepositLedgers(): {
  readonly ledger: Ledger;
  readonly other: Ledger;
  readonly url: string;
} {
  const use = useLedger();
  let other: Ledger | undefined;
  beforeAll(async () => {
    other = await openLedger(use.url);
  });
  beforeEach(async () => {
    await deleteDeposits(use.ledger.db);
    await use.ledger.scan.start(START);
  });
  afterAll(() => other?.close());
  return {
    get ledger() {
      return use.ledger;
    },
    get other() {
      if (other === undefined) throw new Error('the ledgers open before the first test');
      return other;
    },
    get url() {
      return use.url;
    },
  };
}

/** Tables with the rows of deposits and of the scan, each before those that it references. */
const DELETED_TABLES =
  `deposit_event deposit_rejection deposit outflow spend deposit_address watched_wallet scan_cursor block scan_gap
  scan_pause scan_status backfill staged_range alert asset`.split(/\s+/);

/** Uses DELETE, as a TRUNCATE of so many tables takes longer than most tests. */
export async function deleteDeposits(db: Database): Promise<void> {
  await sql`${sql.raw(DELETED_TABLES.map((table) => `delete from ${table};`).join(''))}
    update deposit_feed set last_sequence = 0;
    update watch_version set version = 0`.execute(db);
}

/** Imports wallets, each under a path of its own. */
export async function importWallets(ledger: Ledger, ...addresses: readonly string[]): Promise<void> {
  await ledger.addresses.import(addresses.map((address, index) => ({ address, path: `m/${index}` })));
}

/** Commits the blocks after `after` as a scanner that watches every wallet. */
export async function commit(
  ledger: Ledger,
  blocks: readonly MatchedBlock[],
  after: BlockHeader = START,
): Promise<CommitResult> {
  const watchVersion = await ledger.watched.version();
  return ledger.scan.commit({ expected: after, blocks, watchVersion });
}

/** A quorum result for a deposit: its recorded data, or other data. */
export function confirmationOf(row: Confirmation['row'], verdict: Partial<InflowVerdict> = {}): Confirmation {
  const { wallet, amount, reason } = row;
  return { row, verdict: { wallet, amount, reason, by: ['first', 'second'], ...verdict } };
}

/** A quorum confirms every deposit as recorded. */
export async function confirmAll(ledger: Ledger): Promise<void> {
  const rows = await ledger.deposits.unconfirmed(100);
  await ledger.deposits.confirm(rows.map((row) => confirmationOf(row)));
}

/** The deposit of a database that has one. */
export async function onlyDeposit({ deposits }: Pick<Ledger, 'deposits'>): Promise<DepositRow> {
  const { rows } = await deposits.list({ limit: 2 });
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`${rows.length} deposits`);
  return row;
}

/** Resolves when `count` statements wait for locks of others. */
export async function waitForLockWaits(db: Database, count = 1): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ n: bigint }>`select count(*) as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    if ((rows[0]?.n ?? 0n) >= BigInt(count)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A process that dies before the statement with this number, from 1, and rolls back its transaction. */
export class Crash extends Error implements KyselyPlugin {
  #left: number;

  constructor(atStatement: number) {
    super(`crashed before statement ${atStatement}`);
    this.#left = atStatement;
  }

  transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => {
    this.#left -= 1;
    if (this.#left === 0) throw this;
    return node;
  };

  transformResult: KyselyPlugin['transformResult'] = async ({ result }) => result;
}
