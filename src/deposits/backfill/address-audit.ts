import type { Alarm } from '../../domain/alerts.ts';
import {
  type AuditCommand,
  type AuditReport,
  BLOCKS_NOT_RETURNED,
  importsSubject,
  NOTHING_AUDITED,
} from '../../domain/audit.ts';
import { type BackfillCommand, isOfImport } from '../../domain/backfill.ts';
import { slotsOf } from '../../domain/scan.ts';
import { type AddressAudit, type AuditDeps, auditAddress } from './audit-one-address.ts';
import { runStored } from './run-stored.ts';

/** Activities that audit addresses by the transactions that nodes list for them, independently of the block scan. */
export function createAddressAudit(deps: AuditDeps) {
  const { backfills, importAudits } = deps.ledger;
  const audits = {
    /**
     * Audits one address; see {@link AuditCommand}. Raises an alert if its transactions cannot be read completely.
     * Idempotent.
     */
    async auditPage(command: AuditCommand): Promise<AuditReport> {
      const audit = await auditAddress(deps, command.address, command);
      await updateAlerts(deps, command, audit);
      return audit.report;
    },

    /**
     * Stores that the audit of an import has ended, or postpones the audit if transactions or slots are unread. Does
     * nothing for an operator's audit, or if the database was restored after the audit began.
     */
    async closeAudit(command: AuditCommand, { unread }: Pick<AuditReport, 'unread'>): Promise<void> {
      if (command.cause !== 'import') return;
      const { address, databaseId } = command;
      if (unread === 0) await importAudits.markAudited(address, slotsOf(command), databaseId);
      else await importAudits.scheduleRetry(address, databaseId);
    },

    /**
     * Audits one address and stores the end: in the row of the address for an import, else in the row of the backfill.
     */
    async audit(command: Extract<BackfillCommand, { readonly address: string }>): Promise<AuditReport> {
      if (isOfImport(command)) {
        const report = await audits.auditPage(command);
        await audits.closeAudit(command, report);
        return report;
      }
      const { address, from, to, repair } = command;
      const { report } = await runStored(deps.ledger, command, async (run) =>
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
  command: AuditCommand,
  { reason, hasQuorum }: AddressAudit,
): Promise<void> {
  const { alerts } = ledger;
  const { address } = command;
  const blocksSubject = command.cause === 'import' ? importsSubject(command.from) : address;
  const reasons = new Map<string, readonly string[]>([[address, reason === null ? [] : [reason]]]);
  if (!hasQuorum) reasons.set(blocksSubject, [...(reasons.get(blocksSubject) ?? []), BLOCKS_NOT_RETURNED]);
  for (const [subject, all] of reasons)
    if (all.length === 0) await alerts.close('audit_incomplete', subject);
    else await alerts.raise(incompleteAlert(subject, command, all.join('; ')));
}

function incompleteAlert(subject: string, command: AuditCommand, reason: string): Alarm {
  const message = `the audit of address ${command.address} in slots ${command.from} to ${command.to} is incomplete: ${reason}`;
  return { kind: 'audit_incomplete', subject, message, details: { ...command } };
}
