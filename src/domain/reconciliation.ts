import { type Alarm, WHOLE } from './alerts.ts';

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
  readonly record: bigint;
}

/** Counts of a comparison. A wallet that is retried counts again. */
export interface Tally {
  readonly wallets: number;
  readonly accounts: number;
  readonly differences: number;
}

export interface ReconciliationReport extends Tally {
  /** Token accounts with pending confidential transfers. */
  readonly confidential: number;
  /** Wallets that could not be compared, and are retried. */
  readonly unread: number;
  /** False if the scan did not reach the slot of the nodes: the next round continues there. */
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

export function bothOf(a: ReconciliationReport, b: ReconciliationReport): ReconciliationReport {
  return {
    wallets: a.wallets + b.wallets,
    accounts: a.accounts + b.accounts,
    differences: a.differences + b.differences,
    confidential: a.confidential + b.confidential,
    unread: a.unread + b.unread,
    complete: a.complete && b.complete,
  };
}

/** Accounts whose balances differ. An account that is missing on one side has balance 0 there. */
export function differencesOf(chain: readonly Holding[], record: readonly Holding[]): readonly Difference[] {
  const byKey = new Map<string, Difference>();
  const at = ({ account, asset }: Holding): Difference =>
    byKey.get(`${account} ${asset}`) ?? { account, asset, chain: 0n, record: 0n };
  for (const one of chain)
    byKey.set(`${one.account} ${one.asset}`, { ...at(one), chain: at(one).chain + one.amount });
  for (const one of record)
    byKey.set(`${one.account} ${one.asset}`, { ...at(one), record: at(one).record + one.amount });
  return [...byKey.values()].filter((one) => one.chain !== one.record);
}

/** One node's view of a wallet, compared with the database at that node's slot. */
export interface View {
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
 * Nodes answer at different slots, where a wallet has different balances. They agree on the differences from the
 * database, which are equal at every slot. A minority of lying nodes can neither hide a difference nor invent one.
 */
export function agreedOn<V extends View>(quorum: number, views: readonly V[]): V | null {
  const alike = new Map<string, V[]>();
  for (const view of views)
    alike.set(mismatchMessage(view), [...(alike.get(mismatchMessage(view)) ?? []), view]);
  const agreed = [...alike.values()].find(({ length }) => length >= quorum) ?? [];
  return agreed.reduce<V | null>(
    (newest, one) => (newest === null || one.slot > newest.slot ? one : newest),
    null,
  );
}

/** Equal for views with equal content, whatever their slots. */
function mismatchMessage({ differences, pending, frozen, nested }: View): string {
  const excess = differences.map(
    ({ account, asset, chain, record }) => `${account} ${asset} ${chain - record}`,
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
  /** Since then every watched wallet was compared, or is among the unread. */
  readonly comparedSince: Date;
  /** The wallet after which the current pass continues; null at its beginning, or if there is none. */
  readonly after: string | null;
  readonly unread: number;
  /** The wallet that has waited the longest, since when, and why. */
  readonly longest: { readonly wallet: string; readonly since: Date; readonly reason: string } | null;
}

const HOUR_MS = 3_600_000;
/** A pass may take a day, and ordinary nodes keep blocks for about two: missed deposits must be found while they do. */
const LONGEST_UNCOMPARED_MS = 48 * HOUR_MS;
/** Wallets are retried hourly: no temporary node fault lasts for this many rounds. */
const LONGEST_UNREAD_MS = 3 * HOUR_MS;

/** The alert about wallets that were not compared for too long; null if there are none. */
export function behindAlarm(
  { comparedSince, after, unread, longest }: ReconciliationProgress,
  now: Date,
): Alarm | null {
  const lacks: string[] = [];
  if (now.getTime() - comparedSince.getTime() > LONGEST_UNCOMPARED_MS) {
    const where = after === null ? 'no wallet was' : `only wallets up to ${after} were`;
    lacks.push(`${where} compared since the round that began at ${comparedSince.toISOString()}`);
  }
  if (longest !== null && now.getTime() - longest.since.getTime() > LONGEST_UNREAD_MS) {
    const { wallet, since, reason } = longest;
    lacks.push(`${unread} wallets cannot be compared, ${wallet} since ${since.toISOString()}: ${reason}`);
  }
  if (lacks.length === 0) return null;
  const message = `balances are not compared with the database: ${lacks.join('; ')}`;
  const details = { comparedSince: comparedSince.toISOString(), unread, wallet: longest?.wallet ?? null };
  return { kind: 'reconciliation_behind', subject: WHOLE, message, details };
}
