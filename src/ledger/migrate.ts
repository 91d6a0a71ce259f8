import { type Migration, Migrator } from 'kysely';
import { connect } from './connection.ts';
import { withdrawals } from './migrations/0001-withdrawals.ts';
import { watch } from './migrations/0002-watch.ts';
import { nonces } from './migrations/0003-nonces.ts';
import { lostNonces } from './migrations/0004-lost-nonces.ts';
import { deposits } from './migrations/0005-deposits.ts';
import { webhooks } from './migrations/0006-webhooks.ts';
import { cluster } from './migrations/0007-cluster.ts';
import { judgedSpends } from './migrations/0008-judged-spends.ts';
import { generations } from './migrations/0009-generations.ts';
import { walletBaselines } from './migrations/0010-wallet-baselines.ts';
import { scanOrders } from './migrations/0011-scan-orders.ts';
import { doubtfulAddresses } from './migrations/0012-doubtful-addresses.ts';
import { witnessedDeposits } from './migrations/0015-witnessed-deposits.ts';
import { endedAttempts } from './migrations/0016-ended-attempts.ts';
import { reconciliation } from './migrations/0017-reconciliation.ts';
import { phantoms } from './migrations/0019-phantoms.ts';
import { auditTurns } from './migrations/0021-audit-turns.ts';
import { doubtfulPositions } from './migrations/0023-doubtful-positions.ts';
import { assignedAfter } from './migrations/0024-assigned-after.ts';
import { oneDeposit } from './migrations/0025-one-deposit.ts';
import { creditsFirst } from './migrations/0026-credits-first.ts';
import { unshownSlots } from './migrations/0027-unshown-slots.ts';
import { rescanResults } from './migrations/0029-rescan-results.ts';
import { reconciliationPasses } from './migrations/0030-reconciliation-passes.ts';
import { stagedText } from './migrations/0031-staged-text.ts';
import { rescanRuns } from './migrations/0032-rescan-runs.ts';
import { importsSince } from './migrations/0033-imports-since.ts';
import { unreadRescans } from './migrations/0034-unread-rescans.ts';
import { importedAfter } from './migrations/0035-imported-after.ts';

/**
 * Every migration by its name; the names order them. Never change one that has shipped. From 0029 on, one changes no more
 * than one table that older processes use, and begins with what takes the strongest lock: while it waits for that it holds none.
 */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-withdrawals': withdrawals,
  '0002-watch': watch,
  '0003-nonces': nonces,
  '0004-lost-nonces': lostNonces,
  '0005-deposits': deposits,
  '0006-webhooks': webhooks,
  '0007-cluster': cluster,
  '0008-judged-spends': judgedSpends,
  '0009-generations': generations,
  '0010-wallet-baselines': walletBaselines,
  '0011-scan-orders': scanOrders,
  '0012-doubtful-addresses': doubtfulAddresses,
  '0015-witnessed-deposits': witnessedDeposits,
  '0016-ended-attempts': endedAttempts,
  '0017-reconciliation': reconciliation,
  '0019-phantoms': phantoms,
  '0021-audit-turns': auditTurns,
  '0023-doubtful-positions': doubtfulPositions,
  '0024-assigned-after': assignedAfter,
  '0025-one-deposit': oneDeposit,
  '0026-credits-first': creditsFirst,
  '0027-unshown-slots': unshownSlots,
  '0029-rescan-results': rescanResults,
  '0030-reconciliation-passes': reconciliationPasses,
  '0031-staged-text': stagedText,
  '0032-rescan-runs': rescanRuns,
  '0033-imports-since': importsSince,
  '0034-unread-rescans': unreadRescans,
  '0035-imported-after': importedAfter,
};

/**
 * Brings the database to the newest schema. Many processes may call it at once: the migrator holds an advisory lock. Each migration has
 * a transaction of its own: the locks of one, held while the next waits for others, would deadlock with older processes.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const db = connect(databaseUrl, { unlimited: true });
  try {
    const provider = { getMigrations: async () => MIGRATIONS };
    // What the migrator takes for their order is the clocks of the processes that ran them, which do it in turns.
    const migrator = new Migrator({ db, provider, allowUnorderedMigrations: true });
    while (await isOneMore(migrator));
  } finally {
    await db.destroy();
  }
}

/** Runs the next migration; false where there is none. */
async function isOneMore(migrator: Migrator): Promise<boolean> {
  const { error, results = [] } = await migrator.migrateUp();
  if (error === undefined) return results.length > 0;
  throw error instanceof Error ? error : new Error('a migration failed', { cause: error });
}
