import { randomBytes } from 'node:crypto';
import { base58 } from '@scure/base';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import { startDueAudits } from '../../src/deposits/backfill/due-audits.ts';
import type { AlertKind } from '../../src/domain/alerts.ts';
import { type AuditedPage, type AuditOrder, type AuditReport, allOf } from '../../src/domain/audit.ts';
import type { Slots } from '../../src/domain/slots.ts';
import type { ScanRoom } from './scan-fixture.ts';

/** The whole audit, page by page, as its workflow does it, begun `triedForMs` ago. */
export function auditIn(
  room: ScanRoom,
  order: AuditOrder,
  pool = room.pool,
  triedForMs = 0,
): Promise<AuditReport> {
  const activities = createAddressAudit(room.deps(pool));
  return begun(triedForMs).run(async () => {
    const pages: AuditedPage[] = [];
    do pages.push(await activities.auditPage(order, pages.at(-1)?.next ?? null));
    while (pages.at(-1)?.next !== null);
    const report = allOf(pages);
    await activities.closeAudit(order, report);
    return report;
  });
}

/** An activity that has been tried for so long. */
export function begun(triedForMs: number): MockActivityEnvironment {
  return new MockActivityEnvironment({ scheduledTimestampMs: Date.now() - triedForMs });
}

/** The audits that the record waits for. */
export async function dueAuditsIn({ ledger }: ScanRoom): Promise<readonly AuditOrder[]> {
  const orders: AuditOrder[] = [];
  const startAudit = async (order: AuditOrder) => void orders.push(order);
  await startDueAudits({ ledger, runs: { startAudit, runningAudits: async () => new Map() } });
  return orders;
}

/** The slots of a gap that was closed by hand: no node showed its blocks, in which somebody `paid`, until now. */
export async function closedGapIn(room: ScanRoom, pay: () => Promise<unknown>): Promise<Slots> {
  const { localnet } = room;
  const { controls } = localnet;
  await room.scanAll(room.scanner());
  const from = controls.produceSlot();
  await pay();
  const to = controls.produceSlot();
  room.finalize();
  for (const node of localnet.rpcUrls.keys()) controls.setFault(node, 'getBlock', { kind: 'hole', from, to });
  await room.scanAll(room.scanner());
  const slots = await room.closeGap();
  await room.scanAll(room.scanner());
  controls.clearFaults();
  return slots;
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
