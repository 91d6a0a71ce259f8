import { sql } from 'kysely';
import { DomainError, messageOf } from '../domain/errors.ts';
import {
  NONCE_ADVANCE,
  NONCE_CREATE,
  type SettlementKind,
  WITHDRAWAL,
  X402,
} from '../domain/settlement-kinds.ts';
import { NO_ENCRYPTION, type TextCipher } from '../domain/webhook.ts';
import { connect, requireDurableCommits } from './connection.ts';
import type { Database } from './database.ts';
import { Assets } from './deposits/assets.ts';
import { DepositAddresses } from './deposits/deposit-addresses.ts';
import { DepositFeed } from './deposits/deposit-feed.ts';
import { Deposits } from './deposits/deposits.ts';
import { Movements } from './deposits/movements.ts';
import { Rejections } from './deposits/rejections.ts';
import { isMigrated, migrate } from './migrate.ts';
import { Alerts } from './operations/alerts.ts';
import { ApiKeys } from './operations/api-keys.ts';
import { Cluster } from './operations/cluster.ts';
import { Continuity } from './operations/continuity.ts';
import { Pauses } from './operations/pauses.ts';
import { Baselines } from './reconciliation/baselines.ts';
import { Reconciliations } from './reconciliation/reconciliations.ts';
import { Backfills } from './scan/backfills.ts';
import { BlockHeaders } from './scan/block-headers.ts';
import { Gaps } from './scan/gaps.ts';
import { ImportAudits } from './scan/import-audits.ts';
import { Scan } from './scan/scan.ts';
import { ScanPauses } from './scan/scan-pauses.ts';
import { ScanStatusStore } from './scan/scan-status.ts';
import { StagedRanges } from './scan/staged-ranges.ts';
import { WatchedWallets } from './scan/watched.ts';
import { Attempts } from './settlements/attempts.ts';
import { InFlightAttempts } from './settlements/in-flight.ts';
import { LostNonces, Nonces } from './settlements/nonces.ts';
import type { EventsByKind, KindEvents } from './settlements/settlement-row.ts';
import { SettlementViews } from './settlements/settlement-views.ts';
import { Settlements } from './settlements/settlements.ts';
import { Spends, WalletHistory } from './settlements/wallet-history.ts';
import { Deliveries } from './webhooks/deliveries.ts';
import { Webhooks } from './webhooks/webhooks.ts';
import { withdrawalEvents } from './withdrawals/withdrawal-events.ts';
import { Withdrawals } from './withdrawals/withdrawals.ts';
import { AccessPasses } from './x402/access-passes.ts';
import { Catalog } from './x402/catalog.ts';
import { Obligations } from './x402/obligations.ts';
import { Offers } from './x402/offers.ts';
import { PaymentCosts } from './x402/payment-costs.ts';
import { PaymentCounts } from './x402/payment-counts.ts';
import { paymentEvents } from './x402/payment-events.ts';
import { Payments } from './x402/payments.ts';
import { RouteVersions } from './x402/route-versions.ts';

/** The repositories of the database, which has all state that must outlive Temporal. They share one connection pool. */
export type Ledger = Readonly<Awaited<ReturnType<typeof openLedger>>>;

/** Callbacks for the events of each kind of settlement. Settlements of nonce accounts need none. */
export const EVENTS_BY_KIND: Readonly<Record<SettlementKind, KindEvents>> = {
  [WITHDRAWAL]: withdrawalEvents,
  [X402]: paymentEvents,
  [NONCE_CREATE]: {},
  [NONCE_ADVANCE]: {},
};

/**
 * Connects to the database and migrates its schema; many processes can call this at the same time. `cipher` encrypts
 * webhook secrets and buyers' requests; by default they are stored as plain text. Throws DomainError Unavailable.
 */
export async function openLedger(
  databaseUrl: string,
  cipher: TextCipher = NO_ENCRYPTION,
  eventsByKind: EventsByKind = EVENTS_BY_KIND,
) {
  const db = await connectAndMigrate(databaseUrl);
  return {
    ...repositories(db, databaseUrl, cipher, eventsByKind),
    db,
    /** Rejects if PostgreSQL does not answer. */
    ping: async (): Promise<void> => void (await sql`select 1`.execute(db)),
    close: (): Promise<void> => db.destroy(),
  };
}

function repositories(db: Database, databaseUrl: string, cipher: TextCipher, eventsByKind: EventsByKind) {
  return {
    settlements: new Settlements(db, eventsByKind),
    settlementViews: new SettlementViews(db),
    withdrawals: new Withdrawals(db),
    attempts: new Attempts(db, eventsByKind),
    inFlight: new InFlightAttempts(db),
    nonces: new Nonces(db),
    lostNonces: new LostNonces(db),
    walletHistory: new WalletHistory(db),
    spends: new Spends(db),
    pauses: new Pauses(db, eventsByKind),
    watched: new WatchedWallets(db, databaseUrl),
    scan: new Scan(db),
    scanPauses: new ScanPauses(db),
    scanStatus: new ScanStatusStore(db),
    blockHeaders: new BlockHeaders(db),
    backfills: new Backfills(db),
    gaps: new Gaps(db),
    importAudits: new ImportAudits(db),
    stagedRanges: new StagedRanges(db),
    addresses: new DepositAddresses(db),
    assets: new Assets(db),
    deposits: new Deposits(db),
    depositFeed: new DepositFeed(db),
    rejections: new Rejections(db),
    movements: new Movements(db),
    baselines: new Baselines(db),
    reconciliations: new Reconciliations(db),
    payments: new Payments(db, cipher),
    paymentCosts: new PaymentCosts(db),
    paymentCounts: new PaymentCounts(db),
    obligations: new Obligations(db, cipher),
    offers: new Offers(db),
    accessPasses: new AccessPasses(db),
    catalog: new Catalog(db),
    routeVersions: new RouteVersions(db, cipher),
    webhooks: new Webhooks(db, cipher),
    deliveries: new Deliveries(db),
    apiKeys: new ApiKeys(db),
    alerts: new Alerts(db),
    continuity: new Continuity(db),
    cluster: new Cluster(db),
  };
}

async function connectAndMigrate(databaseUrl: string): Promise<Database> {
  const db = connect(databaseUrl);
  try {
    // This query has a timeout, so it fails if the server does not answer; the connection of `migrate` would wait.
    await requireDurableCommits(db);
    if (!(await isMigrated(db))) await migrate(databaseUrl);
    return db;
  } catch (error) {
    await db.destroy();
    const reason = messageOf(error);
    const message = `cannot open the database of DATABASE_URL, or of the running "npm run dev": ${reason}`;
    throw new DomainError('Unavailable', message, {}, error);
  }
}
