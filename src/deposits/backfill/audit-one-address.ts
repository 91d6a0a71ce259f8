import { cancellationSignal, log } from '@temporalio/activity';
import {
  type Arrived,
  type AuditDifference,
  type AuditOrder,
  type AuditReport,
  differenceAlarm,
  differencesBetween,
  NOTHING_AUDITED,
} from '../../domain/audit.ts';
import { DomainError, isDomainError, messageOf } from '../../domain/errors.ts';
import { slotsOf } from '../../domain/slots.ts';
import { isDatabaseAway } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { tokenAccountsOf } from '../../solana/history/token-accounts.ts';
import { progressOf } from '../../solana/history/wallet-history.ts';
import type { Shown } from '../credits/agreed-transaction.ts';
import { derivedAccountsOf, nestedAccountsOf } from '../credits/derived-accounts.ts';
import { defectInWords, isOperational } from '../scan/failure-alerts.ts';
import { type HistoryDeps, listedFor } from './address-history.ts';

export interface AuditDeps extends HistoryDeps {
  readonly ledger: Ledger;
}

/**
 * What the audit of one address came to: nothing of it was read (`failed`), or all but `unread`, transactions that no quorum of nodes shows
 * alike. `isShown`: false where no quorum has shown the blocks of the slots, there may be more than nodes list.
 */
export type AddressAudit =
  | { readonly kind: 'failed'; readonly reason: string }
  | {
      readonly kind: 'read';
      readonly transactions: number;
      readonly differences: readonly AuditDifference[];
      readonly unread: readonly string[];
      readonly isShown: boolean;
    };

const MOST_NAMED = 3;

/**
 * Holds what nodes list for an address against the record, and repairs that where it is asked for. A failure leaves the address unread.
 * Throws where the whole page should be tried again: see {@link concernsWholePage}.
 */
export async function auditAddress(
  deps: AuditDeps,
  address: string,
  order: AuditOrder,
): Promise<AddressAudit> {
  try {
    return await auditOne(deps, address, order);
  } catch (error) {
    if (await concernsWholePage(deps, order, error)) throw error;
    if (isOperational(error)) return { kind: 'failed', reason: messageOf(error) };
    log.error('an audit failed', { error });
    return { kind: 'failed', reason: defectInWords(error) };
  }
}

/** As people are told of it. */
export function reportOf(audit: AddressAudit): AuditReport {
  if (audit.kind === 'failed') return { ...NOTHING_AUDITED, unread: 1 };
  const { transactions, differences, unread, isShown } = audit;
  return {
    addresses: 1,
    transactions,
    differences,
    found: differences.length,
    remaining: differences.filter(({ repaired }) => !repaired).length,
    unread: unread.length + (isShown ? 0 : 1),
  };
}

/** Why transactions, or all of it, were not read; null where nodes show all that they list. */
export function unreadReason(audit: AddressAudit): string | null {
  if (audit.kind === 'failed') return audit.reason;
  const { unread } = audit;
  return unread.length === 0 ? null : `no quorum of nodes shows ${unread.slice(0, MOST_NAMED).join(', ')}`;
}

/**
 * True for what no other address would get over now: a list that is not read to its end, a database that is away, a cancellation; and
 * for audits that nobody waits for, too few nodes that answer: they are asked.
 */
async function concernsWholePage(
  { pool }: AuditDeps,
  { cause }: AuditOrder,
  error: unknown,
): Promise<boolean> {
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
  if (order.repair) await putOnRecord(deps, found);
  const now = order.repair ? await ledger.movements.arrivalsOf(address, from, to) : before;
  const hidden = new Set(unread);
  const shown = arrivalsAt(address, found);
  const differences = differencesBetween(shown, before, now).filter(
    ({ signature, chain }) => !hidden.has(signature) && (isWhole || chain !== null),
  );
  if (differences.length > 0) await tell(deps, order, differences);
  const transactions = found.length + unread.length;
  return { kind: 'read', transactions, differences, unread, isShown: isWhole };
}

/** Raises an alert for each that the scan should have found: what came to an import before it was watched surprises nobody. */
async function tell(
  { ledger }: AuditDeps,
  order: AuditOrder,
  differences: readonly AuditDifference[],
): Promise<void> {
  const row = order.cause === 'import' ? await ledger.addresses.byAddress(order.address) : null;
  const scannedAfter = row === null ? -1n : (row?.watchedAfter ?? slotsOf(order).to);
  for (const one of differences)
    if (BigInt(one.slot) > scannedAfter) await ledger.alerts.raise(differenceAlarm(one));
}

/**
 * Transfers to a token account do not name its wallet: each account is asked for by itself, one that something on record came to
 * although it is closed since.
 */
async function accountsOf(
  { ledger, pool }: AuditDeps,
  address: string,
  onRecord: readonly Arrived[],
  order: AuditOrder,
): Promise<ReadonlySet<string>> {
  const assets = await ledger.assets.list();
  const derived = derivedAccountsOf(assets, address);
  const known = onRecord.map(({ account }) => account);
  // Nodes are asked for the token accounts of each owner: of millions of imports, only for those of the wallet itself.
  const owners = order.cause === 'operator' ? [address, ...derived] : [address];
  const { to } = slotsOf(order);
  const owned: string[] = [];
  for (const owner of owners) owned.push(...(await tokenAccountsOf(pool, owner, to)));
  return new Set([address, ...derived, ...nestedAccountsOf(assets, address).keys(), ...known, ...owned]);
}

function arrivalsAt(address: string, found: readonly Shown[]): readonly Arrived[] {
  return found.flatMap(({ slot, finding }) =>
    finding.inflows.filter(({ wallet }) => wallet === address).map((inflow) => ({ ...inflow, slot })),
  );
}

/** By the rules of the scan, and with the hash of the block where that is on record: any number of audits and scans make one row. */
export async function putOnRecord(
  { ledger, matcher }: Pick<AuditDeps, 'ledger' | 'matcher'>,
  found: readonly Shown[],
): Promise<void> {
  if (found.length === 0) return;
  const { version } = await matcher.watch();
  const blocks = found.map(({ slot, time, finding }) => ({
    header: { slot, time, blockhash: null },
    finding,
  }));
  // Only the audited address counts here, and it was known: what came in since is scanned, or audited, by itself.
  const result = await ledger.scan.upsert({ blocks, watchVersion: version, rematch: () => blocks });
  if (result === 'committed') return;
  matcher.forget();
  throw new DomainError('Unavailable', 'the watch set on record is older than the one in memory: read anew');
}
