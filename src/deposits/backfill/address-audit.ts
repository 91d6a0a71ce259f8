import type { Alarm } from '../../domain/alerts.ts';
import {
  type AuditOrder,
  type AuditReport,
  importsSubject,
  NOTHING_AUDITED,
  UNSHOWN,
} from '../../domain/audit.ts';
import { type BackfillOrder, isOfImport } from '../../domain/backfill.ts';
import { slotsOf } from '../../domain/scan.ts';
import { type AddressAudit, type AuditDeps, auditAddress } from './audit-one-address.ts';
import { runStored } from './run-stored.ts';

/** Activities that audit addresses by the transactions that nodes list for them, independently of the block scan. */
export function createAddressAudit(deps: AuditDeps) {
  const { backfills, importAudits } = deps.ledger;
  const audits = {
    /**
     * Audits one address; see {@link AuditOrder}. Raises an alert if its transactions cannot be read completely.
     * Idempotent.
     */
    async auditPage(order: AuditOrder): Promise<AuditReport> {
      const audit = await auditAddress(deps, order.address, order);
      await updateAlerts(deps, order, audit);
      return audit.report;
    },

    /**
     * Stores that the audit of an import has ended, or postpones the audit if transactions or slots are unread. Does
     * nothing for an operator's audit, or if the database was restored after the audit began.
     */
    async closeAudit(order: AuditOrder, { unread }: Pick<AuditReport, 'unread'>): Promise<void> {
      if (order.cause !== 'import') return;
      const { address, record } = order;
      if (unread === 0) await importAudits.markAudited(address, slotsOf(order), record);
      else await importAudits.scheduleRetry(address, record);
    },

    /**
     * Audits one address and stores the end: in the row of the address for an import, else in the row of the backfill.
     */
    async audit(order: Extract<BackfillOrder, { readonly address: string }>): Promise<AuditReport> {
      if (isOfImport(order)) {
        const report = await audits.auditPage(order);
        await audits.closeAudit(order, report);
        return report;
      }
      const { address, from, to, repair } = order;
      const { report } = await runStored(deps.ledger, order, async (run) =>
        backfills.endAudit(run, await audits.auditPage({ address, from, to, repair, cause: 'operator' })),
      );
      return report ?? NOTHING_AUDITED;
    },
  };
  return audits;
}

/**
 * Raises the alerts for an incomplete audit and closes those that no longer apply. Imports with the same first slot
 * share one alert about missing blocks.
 */
async function updateAlerts(
  { ledger }: AuditDeps,
  order: AuditOrder,
  { reason, hasQuorum }: AddressAudit,
): Promise<void> {
  const { alerts } = ledger;
  const { address } = order;
  const blocksSubject = order.cause === 'import' ? importsSubject(order.from) : address;
  const reasons = new Map<string, readonly string[]>([[address, reason === null ? [] : [reason]]]);
  if (!hasQuorum) reasons.set(blocksSubject, [...(reasons.get(blocksSubject) ?? []), UNSHOWN]);
  for (const [subject, all] of reasons)
    if (all.length === 0) await alerts.close('audit_incomplete', subject);
    else await alerts.raise(incompleteAlert(subject, order, all.join('; ')));
}

function incompleteAlert(subject: string, order: AuditOrder, reason: string): Alarm {
  const message = `the audit of address ${order.address} in slots ${order.from} to ${order.to} is incomplete: ${reason}`;
  return { kind: 'audit_incomplete', subject, message, details: { ...order } };
}
