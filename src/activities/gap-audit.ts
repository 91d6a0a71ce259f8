import { activityInfo } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import { type AuditedPage, type AuditOrder, allOf, UNSHOWN } from '../domain/audit.ts';
import { DomainError, isDomainError, messageOf } from '../domain/errors.ts';
import { type Slots, slotsOf } from '../domain/slots.ts';
import type { GapAudit } from '../ledger/gap-audits.ts';
import { type AuditDeps, auditAddress } from './audited-address.ts';

/** The audit of all wallets over a gap that was closed, on the record of that name. */
type GapOrder = AuditOrder & { readonly record: string };

const WALLETS_AT_ONCE = 4;
const WALLETS_OF_A_PAGE = 20;
/** So long, over all tries of a page, nodes that do not answer are waited for without a word. */
const PATIENT_MS = 120_000;

/**
 * Audits some wallets over a closed gap, those behind `after`. May be repeated. One that nodes do not show whole keeps no other from
 * being audited. Throws NoHealthyNode where nodes that do not answer may show the blocks: the page is to be tried again.
 */
export async function auditGapPage(
  deps: AuditDeps,
  order: GapOrder,
  after: string | null,
): Promise<AuditedPage> {
  try {
    const counts = await isCounted(deps, order, after);
    return await auditWallets(deps, order, after, counts);
  } catch (error) {
    if (isDomainError(error, 'NoHealthyNode') && !isPatient())
      await deps.ledger.alerts.raise(incomplete(order, `waits for nodes: ${messageOf(error)}`));
    throw error;
  }
}

async function auditWallets(
  deps: AuditDeps,
  order: GapOrder,
  after: string | null,
  counts: boolean,
): Promise<AuditedPage> {
  const { gapAudits } = deps.ledger;
  const slots = slotsOf(order);
  const wallets = await gapAudits.wallets(slots, after, WALLETS_OF_A_PAGE);
  const parts = await pLimit(WALLETS_AT_ONCE).map(wallets, async (wallet) => {
    const { report, why, isShown } = await auditAddress(deps, wallet, order);
    return { wallet, report, isRead: why === null && (isShown || !counts) };
  });
  const named = (isMeant: boolean) =>
    parts.filter(({ isRead }) => isRead === isMeant).map(({ wallet }) => wallet);
  await gapAudits.noteWallets(slots, { audited: named(true), unread: named(false) }, order.record);
  const next = wallets.length === WALLETS_OF_A_PAGE ? (wallets.at(-1) ?? null) : null;
  return { ...allOf(parts.map(({ report }) => report)), next };
}

/**
 * Whether this walk counts what nodes do not list as a proof that nothing came: where a quorum of them shows the blocks. A walk that
 * began without that settles nothing to its end; what it finds is put on record all the same.
 */
async function isCounted(deps: AuditDeps, order: GapOrder, after: string | null): Promise<boolean> {
  const { gapAudits } = deps.ledger;
  const slots = slotsOf(order);
  const isShown = await isShownBy(deps, slots);
  const gap = await gapAudits.of(slots);
  if (gap === undefined) return false;
  if (isShown && gap.unshownSince !== null && after === null) {
    await gapAudits.begin(slots, order.record);
    return true;
  }
  // Once each has been asked for, what is not shown now leaves unread only those that are asked for again.
  if (isShown || gap.walkedAt !== null) return gap.unshownSince === null;
  await gapAudits.noteUnshown(slots, order.record);
  return false;
}

/** True where a quorum of nodes shows the blocks. Throws NoHealthyNode where others that do not answer might, and are waited for. */
async function isShownBy({ pool, held }: AuditDeps, slots: Slots): Promise<boolean> {
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

/**
 * Every wallet has been asked for: tells people, once for the gap, what keeps it from being audited. A run that began in another record
 * tells nothing.
 */
export async function closeGapAudit({ ledger }: Pick<AuditDeps, 'ledger'>, order: GapOrder): Promise<void> {
  const audit = await ledger.gapAudits.end(slotsOf(order), order.record);
  if (audit === null) return;
  const why = whyNotAudited(audit);
  if (why === null) await ledger.alerts.close('audit_incomplete', subjectOf(order));
  else await ledger.alerts.raise(incomplete(order, why));
}

function whyNotAudited({ auditedAt, unshownSince, unread, wallets }: GapAudit): string | null {
  if (auditedAt !== null) return null;
  const hidden = `nodes do not show all of ${unread} wallets (${wallets.join(', ')})`;
  return [...(unshownSince === null ? [] : [UNSHOWN]), ...(unread === 0 ? [] : [hidden])].join('; ');
}

function incomplete(order: GapOrder, why: string): Alarm {
  const { from, to } = order;
  const message = `the closed gap of slots ${from} to ${to} is not audited whole: ${why}`;
  return { kind: 'audit_incomplete', subject: subjectOf(order), message, details: { from, to } };
}

function subjectOf({ from, to }: GapOrder): string {
  return `${from}-${to}`;
}
