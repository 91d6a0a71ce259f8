import { randomBytes } from 'node:crypto';
import { base58 } from '@scure/base';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createAddressAudit } from '../../src/activities/address-audit.ts';
import type { AlertKind } from '../../src/domain/alerts.ts';
import { type AuditedPage, type AuditOrder, type AuditReport, allOf } from '../../src/domain/audit.ts';
import type { ScanRoom } from './scan-room.ts';

/** The whole audit, page by page, as its workflow does it. */
export function auditIn(room: ScanRoom, order: AuditOrder): Promise<AuditReport> {
  const activities = createAddressAudit(room.deps());
  return new MockActivityEnvironment().run(async () => {
    const pages: AuditedPage[] = [];
    do pages.push(await activities.auditPage(order, pages.at(-1)?.next ?? null));
    while (pages.at(-1)?.next !== null);
    const report = allOf(pages);
    await activities.closeAudit(order, report);
    return report;
  });
}

/** The subjects of the open alerts of a kind. */
export async function openAlertsIn(room: ScanRoom, kind: AlertKind): Promise<readonly string[]> {
  const { rows } = await room.ledger.alerts.list({ open: true, limit: 100 });
  return rows.filter((row) => row.kind === kind).map(({ subject }) => subject);
}

/** Of no transaction. */
export function newSignature(): string {
  return base58.encode(randomBytes(64));
}
