import type { Alarm } from '../../domain/alerts.ts';
import { type AuditOrder, type AuditReport, importsSubject, UNSHOWN } from '../../domain/audit.ts';
import { slotsOf } from '../../domain/slots.ts';
import {
  type AddressAudit,
  type AuditDeps,
  auditAddress,
  reportOf,
  unreadReason,
} from './audit-one-address.ts';

/** Audits addresses again, by the transactions that nodes list for them instead of by blocks. */
export function createAddressAudit(deps: AuditDeps) {
  const { importAudits } = deps.ledger;
  return {
    /**
     * Audits one address; see {@link AuditOrder}. Idempotent. An address that cannot be read completely raises an
     * alert.
     */
    async auditPage(order: AuditOrder): Promise<AuditReport> {
      const audit = await auditAddress(deps, order.address, order);
      await tell(deps, order, audit);
      return reportOf(audit);
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
  };
}

/**
 * Raises alerts for an incomplete audit and closes those that no longer apply. Imports since the same slot
 * share one alert about missing blocks, which closes with the last of them.
 */
async function tell({ ledger }: AuditDeps, order: AuditOrder, audit: AddressAudit): Promise<void> {
  const { alerts } = ledger;
  const { address } = order;
  const reason = unreadReason(audit);
  const subjectOfBlocks = order.cause === 'import' ? importsSubject(order.from) : address;
  const reasons = new Map<string, readonly string[]>([[address, reason === null ? [] : [reason]]]);
  if (audit.kind === 'read' && !audit.isShown)
    reasons.set(subjectOfBlocks, [...(reasons.get(subjectOfBlocks) ?? []), UNSHOWN]);
  for (const [subject, all] of reasons)
    if (all.length === 0) await alerts.close('audit_incomplete', subject);
    else await alerts.raise(incomplete(subject, order, all.join('; ')));
}

function incomplete(subject: string, order: AuditOrder, reason: string): Alarm {
  const message = `slots ${order.from} to ${order.to} of ${order.address} are not audited whole: ${reason}`;
  return { kind: 'audit_incomplete', subject, message, details: { ...order } };
}
