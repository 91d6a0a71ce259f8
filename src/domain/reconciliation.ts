import { type Alarm, WHOLE_SYSTEM } from './alerts.ts';

/** The balance of an account, on chain or in the database, in base units. `asset` is `SOL` or a mint. */
export interface Holding {
  readonly account: string;
  readonly asset: string;
  readonly amount: bigint;
}

export interface TokenPlace {
  readonly account: string;
  readonly mint: string;
  readonly amount: bigint;
}

export interface Difference {
  readonly account: string;
  readonly asset: string;
  readonly chain: bigint;
  readonly stored: bigint;
}

/** Counts of a comparison. A wallet that is retried is counted again. */
export interface Tally {
  readonly wallets: number;
  readonly accounts: number;
  readonly differences: number;
}

export interface ReconciliationReport extends Tally {
  /** Token accounts with pending confidential transfers. */
  readonly confidential: number;
  /** Wallets that could not be compared and will be retried. */
  readonly unread: number;
  /** False if the round ended early because the scan had not reached the nodes' slot. The next round continues. */
  readonly complete: boolean;
}

/** A page of a reconciliation. `next`: the wallet after which the next page begins; null if this round has none. */
export interface ReconciledPage extends ReconciliationReport {
  readonly next: string | null;
}

export const NOTHING_RECONCILED: ReconciliationReport = {
  wallets: 0,
  accounts: 0,
  differences: 0,
  confidential: 0,
  unread: 0,
  complete: true,
};

export function sumOfReports(a: ReconciliationReport, b: ReconciliationReport): ReconciliationReport {
  return {
    wallets: a.wallets + b.wallets,
    accounts: a.accounts + b.accounts,
    differences: a.differences + b.differences,
    confidential: a.confidential + b.confidential,
    unread: a.unread + b.unread,
    complete: a.complete && b.complete,
  };
}

/** Balances that differ between chain and database. An account that is missing on one side has balance 0 there. */
export function differencesOf(chain: readonly Holding[], stored: readonly Holding[]): readonly Difference[] {
  const byKey = new Map<string, Difference>();
  const at = ({ account, asset }: Holding): Difference =>
    byKey.get(`${account} ${asset}`) ?? { account, asset, chain: 0n, stored: 0n };
  for (const one of chain)
    byKey.set(`${one.account} ${one.asset}`, { ...at(one), chain: at(one).chain + one.amount });
  for (const one of stored)
    byKey.set(`${one.account} ${one.asset}`, { ...at(one), stored: at(one).stored + one.amount });
  return [...byKey.values()].filter((one) => one.chain !== one.stored);
}

/** A wallet's balances as one node returned them, compared with the database at that node's slot. */
export interface WalletView {
  readonly slot: bigint;
  readonly differences: readonly Difference[];
  /** Token accounts with pending confidential transfers. */
  readonly pending: readonly string[];
  readonly frozen: readonly TokenPlace[];
  /** Non-empty token accounts whose owner is a token account of the wallet. */
  readonly nested: readonly TokenPlace[];
}

/**
 * The newest view on which a quorum agrees; null if there is none. `views` has one for each node.
 *
 * Nodes answer at different slots, where a wallet can have different balances. So the views are compared by their
 * differences from the database, which are equal at every slot. A lying minority can neither hide nor invent one.
 */
export function agreedOn<V extends WalletView>(quorum: number, views: readonly V[]): V | null {
  const viewsByContent = new Map<string, V[]>();
  for (const view of views)
    viewsByContent.set(contentKey(view), [...(viewsByContent.get(contentKey(view)) ?? []), view]);
  const agreed = [...viewsByContent.values()].find(({ length }) => length >= quorum) ?? [];
  return agreed.reduce<V | null>(
    (newest, one) => (newest === null || one.slot > newest.slot ? one : newest),
    null,
  );
}

/** A text that is equal for views with equal content, whatever their slots. */
function contentKey({ differences, pending, frozen, nested }: WalletView): string {
  const excess = differences.map(
    ({ account, asset, chain, stored }) => `${account} ${asset} ${chain - stored}`,
  );
  const lists = [frozen, nested].map((places) =>
    places
      .map(({ account }) => account)
      .toSorted()
      .join(),
  );
  return [...excess.toSorted(), '', ...pending.toSorted(), ...lists].join('\n');
}

export interface ReconciliationProgress {
  /** Every watched wallet has been compared after this time, or is counted in `unread`. */
  readonly comparedSince: Date;
  /** The wallet after which the current pass continues; null at the beginning of a pass, or if no pass is open. */
  readonly after: string | null;
  readonly unread: number;
  /**
   * The unread wallet that has waited the longest, with the start and the reason of its wait; null if there is none.
   */
  readonly longest: { readonly wallet: string; readonly since: Date; readonly reason: string } | null;
}

const HOUR_MS = 3_600_000;
/**
 * Longer than a pass, which can take a day. Ordinary nodes retain blocks for about two days, in which deposits can be
 * found.
 */
const MAX_UNCOMPARED_MS = 48 * HOUR_MS;
/** Three hourly retries: longer than a temporary node fault. */
const MAX_UNREAD_MS = 3 * HOUR_MS;

/** The alert about wallets that were not compared for too long; null if there are none. */
export function behindAlarm(
  { comparedSince, after, unread, longest }: ReconciliationProgress,
  now: Date,
): Alarm | null {
  const problems: string[] = [];
  if (now.getTime() - comparedSince.getTime() > MAX_UNCOMPARED_MS) {
    const where = after === null ? 'no wallet was' : `only wallets up to ${after} were`;
    problems.push(`${where} compared since the round that began at ${comparedSince.toISOString()}`);
  }
  if (longest !== null && now.getTime() - longest.since.getTime() > MAX_UNREAD_MS) {
    const { wallet, since, reason } = longest;
    problems.push(
      `${unread} wallets could not be compared; wallet ${wallet} has waited since ${since.toISOString()}: ${reason}`,
    );
  }
  if (problems.length === 0) return null;
  const message = `balances are not compared with the database: ${problems.join('; ')}`;
  const details = { comparedSince: comparedSince.toISOString(), unread, wallet: longest?.wallet ?? null };
  return { kind: 'reconciliation_behind', subject: WHOLE_SYSTEM, message, details };
}
