import type { Alarm } from '../../domain/alerts.ts';
import {
  type AuditOrder,
  type AuditReport,
  BLOCKS_NOT_RETURNED,
  importsSubject,
  NOTHING_AUDITED,
} from '../../domain/audit.ts';
import { type BackfillOrder, isOfImport } from '../../domain/backfill.ts';
import { slotsOf } from '../../domain/scan.ts';
import { type AddressAudit, type AuditDeps, auditAddress } from './audit-one-address.ts';
import { runStored } from './run-stored.ts';

/** Audits addresses again, by the transactions that nodes list for them instead of by blocks. */
export function createAddressAudit(deps: AuditDeps) {
  const { backfills, importAudits } = deps.ledger;
  const audits = {
    /**
     * Audits one address; see {@link AuditOrder}. Idempotent. An address that cannot be read completely raises an
     * alert.
     */
    async auditPage(order: AuditOrder): Promise<AuditReport> {
      const audit = await auditAddress(deps, order.address, order);
      await updateAlerts(deps, order, audit);
      return audit.report;
    },

    /**
     * Stores the end of an audit. An operator's audit settles nothing, nor does one that began in another
     * database. An audit with unread transactions or slots is postponed.
     */
    async closeAudit(order: AuditOrder, { unread }: Pick<AuditReport, 'unread'>): Promise<void> {
      if (order.cause !== 'import') return;
      const { address, record } = order;
      if (unread === 0) await importAudits.markAudited(address, slotsOf(order), record);
      else await importAudits.putOff(address, record);
    },

    /** Audits one address and stores the end: in its row for an import, else in the row of the order. */
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
 * Raises alerts for an incomplete audit and closes those that no longer apply. Imports since the same slot
 * share one alert about missing blocks, which closes with the last of them.
 */
async function updateAlerts(
  { ledger }: AuditDeps,
  order: AuditOrder,
  { reason, isShown }: AddressAudit,
): Promise<void> {
  const { alerts } = ledger;
  const { address } = order;
  const subjectOfBlocks = order.cause === 'import' ? importsSubject(order.from) : address;
  const reasons = new Map<string, readonly string[]>([[address, reason === null ? [] : [reason]]]);
  if (!isShown) reasons.set(subjectOfBlocks, [...(reasons.get(subjectOfBlocks) ?? []), BLOCKS_NOT_RETURNED]);
  for (const [subject, all] of reasons)
    if (all.length === 0) await alerts.close('audit_incomplete', subject);
    else await alerts.raise(incomplete(subject, order, all.join('; ')));
}

function incomplete(subject: string, order: AuditOrder, reason: string): Alarm {
  const message = `slots ${order.from} to ${order.to} of ${order.address} are not audited whole: ${reason}`;
  return { kind: 'audit_incomplete', subject, message, details: { ...order } };
}
