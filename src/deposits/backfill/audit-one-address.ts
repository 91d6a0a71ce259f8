import { cancellationSignal, log } from '@temporalio/activity';
import {
  type AuditCommand,
  type AuditDifference,
  type AuditReport,
  type ComparedTransfer,
  differenceAlarm,
  differencesBetween,
  NOTHING_AUDITED,
} from '../../domain/audit.ts';
import { DomainError, isDomainError, messageOf } from '../../domain/errors.ts';
import { slotsOf } from '../../domain/scan.ts';
import { isDatabaseUnavailable } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { tokenAccountsOf } from '../../solana/history/token-accounts.ts';
import { progressOf } from '../../solana/history/wallet-history.ts';
import type { MatchedTransaction } from '../credits/agreed-transaction.ts';
import { derivedAccountsOf, nestedAccountsOf } from '../credits/derived-accounts.ts';
import { describeDefect, isOperational } from '../scan/failure-alerts.ts';
import { type HistoryDeps, historyFor } from './address-history.ts';

export interface AuditDeps extends HistoryDeps {
  readonly ledger: Ledger;
}

/**
 * The audit of one address. `reason`: why its history is incomplete, or null. `hasQuorum`: false if no quorum of nodes
 * has the blocks, so that transactions can be absent from the lists.
 */
export interface AddressAudit {
  readonly report: AuditReport;
  readonly reason: string | null;
  readonly hasQuorum: boolean;
}

const MAX_SIGNATURES_IN_REASON = 3;
const MAX_DIFFERENCES_IN_REPORT = 100;

/**
 * Compares an address's transactions on chain with its recorded deposits, and stores missing deposits if `command.repair`
 * is true. A failure is reported as unread. It is thrown only if the audit must be retried: see
 * {@link affectsEveryAddress}.
 */
export async function auditAddress(
  deps: AuditDeps,
  address: string,
  command: AuditCommand,
): Promise<AddressAudit> {
  try {
    return await auditOne(deps, address, command);
  } catch (error) {
    if (await affectsEveryAddress(deps, command, error)) throw error;
    const isKnown = isOperational(error);
    if (!isKnown) log.error('the audit of an address failed', { address, error });
    const reason = isKnown ? messageOf(error) : describeDefect(error);
    return { report: { ...NOTHING_AUDITED, unread: 1 }, reason, hasQuorum: true };
  }
}

/**
 * True if the failure affects every address, not only this one: a cancellation, an unavailable database, an unfinished
 * list of signatures, or a watch set that must be loaded again. For imports also if fewer nodes than a quorum answer.
 */
async function affectsEveryAddress(
  { pool }: AuditDeps,
  { cause }: AuditCommand,
  error: unknown,
): Promise<boolean> {
  if (isDomainError(error, 'Unavailable') || isDatabaseUnavailable(error) || cancellationSignal().aborted)
    return true;
  if (cause === 'operator' || !isDomainError(error, 'NoHealthyNode')) return false;
  return (await progressOf(pool)).length < pool.quorum;
}

async function auditOne(deps: AuditDeps, address: string, command: AuditCommand): Promise<AddressAudit> {
  const { ledger } = deps;
  const { from, to } = slotsOf(command);
  const before = await ledger.movements.inflowsOf(address, from, to);
  const accounts = await accountsOf(deps, address, before, command);
  const { transactions, unread, isComplete } = await historyFor(deps, accounts, from, to, [address]);
  if (command.repair) await storeFindings(deps, transactions);
  const now = command.repair ? await ledger.movements.inflowsOf(address, from, to) : before;
  const unreadSignatures = new Set(unread);
  const onChain = inflowsOf(address, transactions);
  const differences = differencesBetween(onChain, before, now).filter(
    ({ signature, chain }) => !unreadSignatures.has(signature) && (isComplete || chain !== null),
  );
  if (differences.length > 0) await raiseAlerts(deps, command, differences);
  const report = {
    transactions: transactions.length + unread.length,
    differences: differences.slice(0, MAX_DIFFERENCES_IN_REPORT),
    found: differences.length,
    remaining: differences.filter(({ repaired }) => !repaired).length,
    unread: unread.length + (isComplete ? 0 : 1),
  };
  const reason = `no quorum of nodes returns ${unread.slice(0, MAX_SIGNATURES_IN_REASON).join(', ')}`;
  return { report, reason: unread.length === 0 ? null : reason, hasQuorum: isComplete };
}

/** Raises an alert for each deposit that the scan missed, except those from before an imported address was watched. */
async function raiseAlerts(
  { ledger }: AuditDeps,
  command: AuditCommand,
  differences: readonly AuditDifference[],
): Promise<void> {
  const row = command.cause === 'import' ? await ledger.addresses.byAddress(command.address) : null;
  const scannedAfter = row === null ? -1n : (row?.watchedAfter ?? slotsOf(command).to);
  for (const one of differences)
    if (BigInt(one.slot) > scannedAfter) await ledger.alerts.raise(differenceAlarm(one));
}

/**
 * Accounts whose transactions are listed. Transfers to a token account do not name its wallet, so that each is queried.
 */
async function accountsOf(
  { ledger, pool }: AuditDeps,
  address: string,
  recorded: readonly ComparedTransfer[],
  command: AuditCommand,
): Promise<ReadonlySet<string>> {
  const assets = await ledger.assets.list();
  const derived = derivedAccountsOf(assets, address);
  const recordedAccounts = recorded.map(({ account }) => account);
  // Only an operator's audit asks nodes for token accounts of token accounts: with millions of imports that would be
  // slow.
  const owners = command.cause === 'operator' ? [address, ...derived] : [address];
  const { to } = slotsOf(command);
  const listedAccounts: string[] = [];
  for (const owner of owners) listedAccounts.push(...(await tokenAccountsOf(pool, owner, to)));
  return new Set([
    address,
    ...derived,
    ...nestedAccountsOf(assets, address).keys(),
    ...recordedAccounts,
    ...listedAccounts,
  ]);
}

function inflowsOf(
  address: string,
  transactions: readonly MatchedTransaction[],
): readonly ComparedTransfer[] {
  return transactions.flatMap(({ slot, finding }) =>
    finding.inflows.filter(({ wallet }) => wallet === address).map((inflow) => ({ ...inflow, slot })),
  );
}

/** Stores findings by the rules of the scan, so that repeated audits and scans make only one row per deposit. */
export async function storeFindings(
  { ledger, matcher }: Pick<AuditDeps, 'ledger' | 'matcher'>,
  transactions: readonly MatchedTransaction[],
): Promise<void> {
  if (transactions.length === 0) return;
  const { version } = await matcher.watch();
  const blocks = transactions.map(({ slot, time, finding }) => ({
    header: { slot, time, blockhash: null },
    finding,
  }));
  // The current watch version is safe here: `transactions` concern only the audited address, which was watched before.
  // Addresses that were added meanwhile get their own scan or audit.
  const result = await ledger.scan.upsert({ blocks, watchVersion: version });
  if (result === 'committed') return;
  matcher.forget();
  throw new DomainError(
    'Unavailable',
    'the watch set in memory is newer than the one in the database: the set is loaded again at the next attempt',
  );
}
