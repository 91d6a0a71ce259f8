import { sql } from 'kysely';
import { DomainError, messageOf } from '../domain/errors.ts';
import { PLAIN_SEAL, type Seal } from '../domain/webhook.ts';
import { connect, requireDurableCommits } from './connection.ts';
import type { Database } from './database.ts';
import { Assets } from './deposits/assets.ts';
import { DepositAddresses } from './deposits/deposit-addresses.ts';
import { DepositFeed } from './deposits/deposit-feed.ts';
import { Deposits } from './deposits/deposits.ts';
import { Movements } from './deposits/movements.ts';
import { Outflows } from './deposits/outflows.ts';
import { Rejections } from './deposits/rejections.ts';
import { isMigrated, migrate } from './migrate.ts';
import { Alerts } from './operations/alerts.ts';
import { ApiKeys } from './operations/api-keys.ts';
import { Cluster } from './operations/cluster.ts';
import { Continuity } from './operations/continuity.ts';
import { NodeLedgers } from './operations/node-ledgers.ts';
import { NodeViews } from './operations/node-views.ts';
import { Pauses } from './operations/pauses.ts';
import { Baselines } from './reconciliation/baselines.ts';
import { Reconciliations } from './reconciliation/reconciliations.ts';
import { Backfills } from './scan/backfills.ts';
import { Gaps } from './scan/gaps.ts';
import { ImportAudits } from './scan/import-audits.ts';
import { KeptBlocks } from './scan/kept-blocks.ts';
import { Scan } from './scan/scan.ts';
import { ScanPauses } from './scan/scan-pauses.ts';
import { StagedRanges } from './scan/staged-ranges.ts';
import { Watched } from './scan/watched.ts';
import { Attempts } from './settlements/attempts.ts';
import { Traffic } from './settlements/in-flight.ts';
import { KINDS } from './settlements/kinds.ts';
import { Nonces } from './settlements/nonces.ts';
import { Reservations } from './settlements/reservations.ts';
import { LostNonces } from './settlements/restored-nonces.ts';
import { SettlementViews } from './settlements/settlement-views.ts';
import { Settlements } from './settlements/settlements.ts';
import { Spends } from './settlements/spends.ts';
import { WalletHistory } from './settlements/wallet-history.ts';
import { Deliveries } from './webhooks/deliveries.ts';
import type { Kinds } from './webhooks/subject-events.ts';
import { Webhooks } from './webhooks/webhooks.ts';
import { Withdrawals } from './withdrawals/withdrawals.ts';
import { Obligations } from './x402/obligations.ts';
import { Offers } from './x402/offers.ts';
import { Payments } from './x402/payments.ts';

/** The database: all state that must outlive Temporal. One for each process, with one connection pool. */
export interface Ledger {
  readonly settlements: Settlements;
  readonly settlementViews: SettlementViews;
  readonly withdrawals: Withdrawals;
  readonly attempts: Attempts;
  readonly traffic: Traffic;
  readonly reservations: Reservations;
  readonly apiKeys: ApiKeys;
  readonly alerts: Alerts;
  readonly pauses: Pauses;
  readonly payments: Payments;
  readonly obligations: Obligations;
  readonly offers: Offers;
  readonly continuity: Continuity;
  readonly cluster: Cluster;
  readonly walletHistory: WalletHistory;
  readonly nonces: Nonces;
  readonly lostNonces: LostNonces;
  readonly watched: Watched;
  readonly spends: Spends;
  readonly addresses: DepositAddresses;
  readonly assets: Assets;
  readonly scan: Scan;
  readonly scanPauses: ScanPauses;
  readonly keptBlocks: KeptBlocks;
  readonly backfills: Backfills;
  readonly gaps: Gaps;
  readonly importAudits: ImportAudits;
  readonly stagedRanges: StagedRanges;
  readonly deposits: Deposits;
  readonly depositFeed: DepositFeed;
  readonly rejections: Rejections;
  readonly movements: Movements;
  readonly outflows: Outflows;
  readonly baselines: Baselines;
  readonly reconciliations: Reconciliations;
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly nodeLedgers: NodeLedgers;
  readonly nodeViews: NodeViews;
  readonly db: Database;
  /** Rejects if PostgreSQL does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects and migrates the schema; safe from many processes at once. `seal` encrypts webhook secrets and buyers'
 * requests, by default not at all. `kinds`: callbacks for subjects. Throws DomainError Unavailable.
 */
export async function openLedger(
  databaseUrl: string,
  seal: Seal = PLAIN_SEAL,
  kinds: Kinds = KINDS,
): Promise<Ledger> {
  const db = await migrated(databaseUrl);
  return {
    ...settling(db, kinds),
    settlementViews: new SettlementViews(db),
    withdrawals: new Withdrawals(db),
    traffic: new Traffic(db),
    reservations: new Reservations(db),
    apiKeys: new ApiKeys(db),
    alerts: new Alerts(db),
    continuity: new Continuity(db),
    cluster: new Cluster(db),
    walletHistory: new WalletHistory(db),
    watched: new Watched(db, databaseUrl),
    spends: new Spends(db),
    addresses: new DepositAddresses(db),
    assets: new Assets(db),
    scan: new Scan(db),
    scanPauses: new ScanPauses(db),
    keptBlocks: new KeptBlocks(db),
    backfills: new Backfills(db),
    gaps: new Gaps(db),
    importAudits: new ImportAudits(db),
    stagedRanges: new StagedRanges(db),
    deposits: new Deposits(db),
    depositFeed: new DepositFeed(db),
    rejections: new Rejections(db),
    movements: new Movements(db),
    outflows: new Outflows(db),
    baselines: new Baselines(db),
    reconciliations: new Reconciliations(db),
    ...selling(db, seal),
    webhooks: new Webhooks(db, seal),
    deliveries: new Deliveries(db),
    ...seen(db),
    db,
    ping: async () => void (await sql`select 1`.execute(db)),
    close: () => db.destroy(),
  };
}

function settling(
  db: Database,
  kinds: Kinds,
): Pick<Ledger, 'settlements' | 'attempts' | 'pauses' | 'nonces' | 'lostNonces'> {
  return {
    nonces: new Nonces(db),
    lostNonces: new LostNonces(db),
    settlements: new Settlements(db, kinds),
    attempts: new Attempts(db, kinds),
    pauses: new Pauses(db, kinds),
  };
}

function seen(db: Database): Pick<Ledger, 'nodeLedgers' | 'nodeViews'> {
  return { nodeLedgers: new NodeLedgers(db), nodeViews: new NodeViews(db) };
}

function selling(db: Database, seal: Seal): Pick<Ledger, 'payments' | 'obligations' | 'offers'> {
  return {
    payments: new Payments(db, seal),
    obligations: new Obligations(db, seal),
    offers: new Offers(db),
  };
}

async function migrated(databaseUrl: string): Promise<Database> {
  const db = connect(databaseUrl);
  try {
    // Fails here if the server does not answer, before a connection without timeouts waits for it.
    await requireDurableCommits(db);
    if (!(await isMigrated(db))) await migrate(databaseUrl);
    return db;
  } catch (error) {
    await db.destroy();
    const reason = messageOf(error);
    const message = `the database (DATABASE_URL, or that of a running dev) cannot be opened: ${reason}`;
    throw new DomainError('Unavailable', message, {}, error);
  }
}
