import { randomBytes } from 'node:crypto';
import { base58 } from '@scure/base';
import { createReconciliation } from '../../src/activities/reconciliation.ts';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import { startDueAudits } from '../../src/deposits/backfill/due-audits.ts';
import type { AlertKind } from '../../src/domain/alerts.ts';
import { type AuditCommand, type AuditReport, type ImportAuditCommand } from '../../src/domain/audit.ts';
import { type ReconciledPage } from '../../src/domain/reconciliation.ts';
import { runActivity } from '../support/activity.ts';
import type { ScanFixture } from './scan-fixture.ts';

/** The whole audit, as its workflow runs it. */
export function auditIn(
  fixture: ScanFixture,
  order: AuditCommand,
  pool = fixture.pool,
): Promise<AuditReport> {
  const activities = createAddressAudit(fixture.deps(pool));
  return runActivity(async () => {
    const report = await activities.auditPage(order);
    await activities.closeAudit(order, report);
    return report;
  });
}

/** A page of the reconciliation: all wallets where they are no more than `pageSize`. */
export function reconcileIn(
  fixture: ScanFixture,
  changes: { readonly isScanning?: boolean; readonly pageSize?: number } = {},
): Promise<ReconciledPage> {
  const activities = createReconciliation({ ...fixture.deps(), maxWaitMs: 0, ...changes });
  return runActivity(() => activities.reconcilePage());
}

/** The due audits of the database. */
export async function dueAuditsIn({ ledger }: ScanFixture): Promise<readonly AuditCommand[]> {
  const orders: ImportAuditCommand[] = [];
  const startBackfill = async (order: ImportAuditCommand) => void orders.push(order);
  await startDueAudits({ ledger, runs: { startBackfill, runningBackfills: async () => new Map() } });
  return orders;
}

/** The subjects of the open alerts of a kind. */
export async function openAlertsIn(fixture: ScanFixture, kind: AlertKind): Promise<readonly string[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.filter((row) => row.kind === kind).map(({ subject }) => subject);
}

/** A signature of no transaction. */
export function newSignature(): string {
  return base58.encode(randomBytes(64));
}
