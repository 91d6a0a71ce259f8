import { cancellationSignal, log } from '@temporalio/activity';
import {
  type AuditDifference,
  type AuditOrder,
  type AuditReport,
  type ComparedTransfer,
  differenceAlarm,
  differencesBetween,
  NOTHING_AUDITED,
} from '../../domain/audit.ts';
import { DomainError, isDomainError, messageOf } from '../../domain/errors.ts';
import { slotsOf } from '../../domain/scan.ts';
import { isDatabaseAway } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { tokenAccountsOf } from '../../solana/history/token-accounts.ts';
import { progressOf } from '../../solana/history/wallet-history.ts';
import type { JudgedTransaction } from '../credits/agreed-transaction.ts';
import { derivedAccountsOf, nestedAccountsOf } from '../credits/derived-accounts.ts';
import { describeDefect, isOperational } from '../scan/failure-alerts.ts';
import { type HistoryDeps, listedFor } from './address-history.ts';

export interface AuditDeps extends HistoryDeps {
  readonly ledger: Ledger;
}

/**
 * Result for one address. `reason`: why the history is incomplete, else null. `isShown` is false if no quorum has the
 * blocks, so that nodes may list too little.
 */
export interface AddressAudit {
  readonly report: AuditReport;
  readonly reason: string | null;
  readonly isShown: boolean;
}

const MAX_NAMED = 3;
const LISTED = 100;

/**
 * Compares an address's transactions on chain with its recorded deposits, and repairs the difference if the
 * order asks for it. A failure leaves the address unread. Throws if the audit must be retried: see
 * {@link concernsAll}.
 */
export async function auditAddress(
  deps: AuditDeps,
  address: string,
  order: AuditOrder,
): Promise<AddressAudit> {
  try {
    return await auditOne(deps, address, order);
  } catch (error) {
    if (await concernsAll(deps, order, error)) throw error;
    const isKnown = isOperational(error);
    if (!isKnown) log.error('an audit failed', { error });
    const reason = isKnown ? messageOf(error) : describeDefect(error);
    return { report: { ...NOTHING_AUDITED, unread: 1 }, reason, isShown: true };
  }
}

/**
 * True if the failure affects every address, not only this one: an unfinished list, no database, a
 * cancellation. For imports also if fewer nodes than a quorum answer at all.
 */
async function concernsAll({ pool }: AuditDeps, { cause }: AuditOrder, error: unknown): Promise<boolean> {
  if (isDomainError(error, 'Unavailable') || isDatabaseAway(error) || cancellationSignal().aborted)
    return true;
  if (cause === 'operator' || !isDomainError(error, 'NoHealthyNode')) return false;
  return (await progressOf(pool)).length < pool.quorum;
}

async function auditOne(deps: AuditDeps, address: string, order: AuditOrder): Promise<AddressAudit> {
  const { ledger } = deps;
  const { from, to } = slotsOf(order);
  const before = await ledger.movements.arrivalsOf(address, from, to);
  const accounts = await accountsOf(deps, address, before, order);
  const { listed: found, unread, isWhole } = await listedFor(deps, accounts, from, to, [address]);
  if (order.repair) await storeFindings(deps, found);
  const now = order.repair ? await ledger.movements.arrivalsOf(address, from, to) : before;
  const hidden = new Set(unread);
  const shown = arrivalsAt(address, found);
  const differences = differencesBetween(shown, before, now).filter(
    ({ signature, chain }) => !hidden.has(signature) && (isWhole || chain !== null),
  );
  if (differences.length > 0) await raiseAlerts(deps, order, differences);
  const report = {
    transactions: found.length + unread.length,
    differences: differences.slice(0, LISTED),
    found: differences.length,
    remaining: differences.filter(({ repaired }) => !repaired).length,
    unread: unread.length + (isWhole ? 0 : 1),
  };
  const reason = `no quorum of nodes returns ${unread.slice(0, MAX_NAMED).join(', ')}`;
  return { report, reason: unread.length === 0 ? null : reason, isShown: isWhole };
}

/** Raises an alert for each deposit that the scan missed, but not for those before an import was watched. */
async function raiseAlerts(
  { ledger }: AuditDeps,
  order: AuditOrder,
  differences: readonly AuditDifference[],
): Promise<void> {
  const row = order.cause === 'import' ? await ledger.addresses.byAddress(order.address) : null;
  const scannedAfter = row === null ? -1n : (row?.watchedAfter ?? slotsOf(order).to);
  for (const one of differences)
    if (BigInt(one.slot) > scannedAfter) await ledger.alerts.raise(differenceAlarm(one));
}

/** Transfers to a token account do not name its wallet, so each account is queried, even a closed one. */
async function accountsOf(
  { ledger, pool }: AuditDeps,
  address: string,
  recorded: readonly ComparedTransfer[],
  order: AuditOrder,
): Promise<ReadonlySet<string>> {
  const assets = await ledger.assets.list();
  const derived = derivedAccountsOf(assets, address);
  const recordedAccounts = recorded.map(({ account }) => account);
  // Only an operator's audit asks nodes for the accounts of every owner: there may be millions of imports.
  const owners = order.cause === 'operator' ? [address, ...derived] : [address];
  const { to } = slotsOf(order);
  const owned: string[] = [];
  for (const owner of owners) owned.push(...(await tokenAccountsOf(pool, owner, to)));
  return new Set([
    address,
    ...derived,
    ...nestedAccountsOf(assets, address).keys(),
    ...recordedAccounts,
    ...owned,
  ]);
}

function arrivalsAt(address: string, found: readonly JudgedTransaction[]): readonly ComparedTransfer[] {
  return found.flatMap(({ slot, finding }) =>
    finding.inflows.filter(({ wallet }) => wallet === address).map((inflow) => ({ ...inflow, slot })),
  );
}

/** Stores findings by the scan's rules, so that repeated audits and scans make one row per deposit. */
export async function storeFindings(
  { ledger, matcher }: Pick<AuditDeps, 'ledger' | 'matcher'>,
  found: readonly JudgedTransaction[],
): Promise<void> {
  if (found.length === 0) return;
  const { version } = await matcher.watch();
  const blocks = found.map(({ slot, time, finding }) => ({
    header: { slot, time, blockhash: null },
    finding,
  }));
  // Only the audited address matters, and it was watched already. Later addresses are scanned or audited
  // themselves.
  const result = await ledger.scan.upsert({ blocks, watchVersion: version });
  if (result === 'committed') return;
  matcher.forget();
  throw new DomainError(
    'Unavailable',
    'the watch set in memory is newer than the one in the database: it is loaded again',
  );
}
