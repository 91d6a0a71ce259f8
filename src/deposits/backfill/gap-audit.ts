import { activityInfo } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { Alarm } from '../../domain/alerts.ts';
import { type AuditedPage, allOf, type GapAuditOrder, UNSHOWN } from '../../domain/audit.ts';
import { DomainError, isDomainError, messageOf } from '../../domain/errors.ts';
import { type Slots, slotsOf } from '../../domain/slots.ts';
import type { AuditEffect, GapAudit } from '../../ledger/scan/gap-audits.ts';
import { type AuditDeps, auditAddress, reportOf, unreadReason } from './audit-one-address.ts';

const WALLETS_AT_ONCE = 4;
const WALLETS_OF_A_PAGE = 20;
/** Milliseconds, over all tries of a page, before an alert about nodes that do not answer. */
const PATIENT_MS = 120_000;

/**
 * Audits a page of wallets after `after` over a closed gap. Idempotent. A wallet that cannot be read completely blocks
 * no other. Throws NoHealthyNode to retry the page while nodes that do not answer may have the blocks.
 */
export async function auditGapPage(
  deps: AuditDeps,
  order: GapAuditOrder,
  after: string | null,
): Promise<AuditedPage> {
  try {
    const walk = await beginOrResumeWalk(deps, order, after);
    return await auditWallets(deps, order, after, walk);
  } catch (error) {
    if (isDomainError(error, 'NoHealthyNode') && !isPatient())
      await deps.ledger.alerts.raise(incomplete(order, `waits for nodes: ${messageOf(error)}`));
    throw error;
  }
}

async function auditWallets(
  deps: AuditDeps,
  order: GapAuditOrder,
  after: string | null,
  walk: AuditEffect,
): Promise<AuditedPage> {
  const { gapAudits } = deps.ledger;
  const slots = slotsOf(order);
  const wallets = await gapAudits.wallets(slots, after, WALLETS_OF_A_PAGE);
  const parts = await pLimit(WALLETS_AT_ONCE).map(wallets, async (wallet) => {
    const audit = await auditAddress(deps, wallet, order);
    const isEnough = audit.kind === 'read' && (audit.isShown || walk === 'in vain');
    return { wallet, report: reportOf(audit), isRead: isEnough && unreadReason(audit) === null };
  });
  const named = (isMeant: boolean) =>
    parts.filter(({ isRead }) => isRead === isMeant).map(({ wallet }) => wallet);
  const noted = { audited: named(true), unread: named(false) };
  await gapAudits.noteWallets(slots, noted, walk, order.record);
  const next = wallets.length === WALLETS_OF_A_PAGE ? (wallets.at(-1) ?? null) : null;
  return { ...allOf(parts.map(({ report }) => report)), next };
}

/**
 * Begins or resumes a pass. A pass that met blocks without a quorum stays `in vain`; a new one begins once
 * nodes have the blocks.
 */
async function beginOrResumeWalk(
  deps: AuditDeps,
  order: GapAuditOrder,
  after: string | null,
): Promise<AuditEffect> {
  const { gapAudits } = deps.ledger;
  const slots = slotsOf(order);
  const isShown = await quorumShows(deps, slots);
  const gap = await gapAudits.of(slots);
  if (gap === undefined) return 'in vain';
  if (isShown && gap.unshownSince !== null && after === null) {
    await gapAudits.begin(slots, order.record);
    return 'counts';
  }
  // After a full pass, blocks missing now concern only wallets that are audited again.
  if (isShown || gap.walkedAt !== null) return gap.unshownSince === null ? 'counts' : 'in vain';
  await gapAudits.noteUnshown(slots, order.record);
  return 'in vain';
}

/** True if a quorum of nodes has the blocks. Throws NoHealthyNode while silent nodes may complete the quorum. */
async function quorumShows({ pool, held }: AuditDeps, slots: Slots): Promise<boolean> {
  const { quorum, nodes } = pool;
  const { holding, silent } = await held.holdersOf(pool, slots);
  if (holding.size >= quorum) return true;
  const isWaitedFor = holding.size + silent.size >= quorum && isPatient();
  if (!isWaitedFor && nodes.length - silent.size >= quorum) return false;
  const message = `${[...silent].join(', ')} may have the blocks of slots ${slots.from} to ${slots.to}, and does not answer`;
  throw new DomainError('NoHealthyNode', message);
}

function isPatient(): boolean {
  return Date.now() - activityInfo().scheduledTimestampMs < PATIENT_MS;
}

/** Ends a pass with one alert for an incomplete gap. A run that began in another database reports nothing. */
export async function closeGapAudit(
  { ledger }: Pick<AuditDeps, 'ledger'>,
  order: GapAuditOrder,
): Promise<void> {
  const audit = await ledger.gapAudits.end(slotsOf(order), order.record);
  if (audit === null) return;
  const reason = incompleteReason(audit);
  if (reason === null) await ledger.alerts.close('audit_incomplete', subjectOf(order));
  else await ledger.alerts.raise(incomplete(order, reason));
}

function incompleteReason({ auditedAt, unshownSince, unread, wallets }: GapAudit): string | null {
  if (auditedAt !== null) return null;
  const hidden = `nodes do not show all of ${unread} wallets (${wallets.join(', ')})`;
  return [...(unshownSince === null ? [] : [UNSHOWN]), ...(unread === 0 ? [] : [hidden])].join('; ');
}

function incomplete(order: GapAuditOrder, reason: string): Alarm {
  const { from, to } = order;
  const message = `the closed gap of slots ${from} to ${to} is not audited whole: ${reason}`;
  return { kind: 'audit_incomplete', subject: subjectOf(order), message, details: { from, to } };
}

function subjectOf({ from, to }: GapAuditOrder): string {
  return `${from}-${to}`;
}
