import type { Alarm } from '../../domain/alerts.ts';
import {
  type AuditedPage,
  type AuditOrder,
  type AuditReport,
  type ImportAuditOrder,
  importsSubject,
  type OperatorAuditOrder,
  UNSHOWN,
} from '../../domain/audit.ts';
import { slotsOf } from '../../domain/slots.ts';
import {
  type AddressAudit,
  type AuditDeps,
  auditAddress,
  reportOf,
  unreadReason,
} from './audit-one-address.ts';
import { auditGapPage, closeGapAudit } from './gap-audit.ts';

type AuditOfOne = ImportAuditOrder | OperatorAuditOrder;

/** Looks again at what came to addresses, past the blocks: by what nodes list for them. */
export function createAddressAudit(deps: AuditDeps) {
  const { importAudits } = deps.ledger;
  return {
    /**
     * Audits one address, or some of all, those behind `after`; see {@link AuditOrder}. May be repeated. One that nodes do not show whole
     * is alarmed, and keeps no other from being audited.
     */
    async auditPage(order: AuditOrder, after: string | null): Promise<AuditedPage> {
      if (order.cause === 'gap') return auditGapPage(deps, order, after);
      const audit = await auditAddress(deps, order.address, order);
      await tell(deps, order, audit);
      return { ...reportOf(audit), next: null };
    },

    /**
     * Puts on record that every part of the audit is done. An operator's, and one that began in another record, settles nothing; nor does
     * that of one address which could not read all, or whose slots no quorum of nodes has shown. After that of a gap only those that it
     * could not read are asked for again, or all of them once its blocks are shown.
     */
    async closeAudit(order: AuditOrder, { unread }: Pick<AuditReport, 'unread'>): Promise<void> {
      if (order.cause === 'gap') await closeGapAudit(deps, order);
      if (order.cause !== 'import') return;
      const { address, record } = order;
      if (unread === 0) await importAudits.markAudited(address, slotsOf(order), record);
      else await importAudits.putOff(address, record);
    },
  };
}

/**
 * Opens the alerts about what keeps the audit of one address from being whole, and closes those about what does not any more. Imports
 * since one slot have one for all of them where no quorum of nodes has shown the blocks: it ends with the last of them.
 */
async function tell({ ledger }: AuditDeps, order: AuditOfOne, audit: AddressAudit): Promise<void> {
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

function incomplete(subject: string, order: AuditOfOne, reason: string): Alarm {
  const message = `slots ${order.from} to ${order.to} of ${order.address} are not audited whole: ${reason}`;
  return { kind: 'audit_incomplete', subject, message, details: { ...order } };
}
