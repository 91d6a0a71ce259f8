import { type Alarm, WHOLE } from './alerts.ts';
import type { Slots } from './slots.ts';

/** What an account holds, by the chain or by the record, in base units. `asset` is `SOL` or a mint. */
export interface Holding {
  readonly account: string;
  readonly asset: string;
  readonly amount: bigint;
}

/** What one token account holds, in base units. */
export interface TokenPlace {
  readonly account: string;
  readonly mint: string;
  readonly amount: bigint;
}

/** An account of which chain and record say different things, at one slot. */
export interface Difference {
  readonly account: string;
  readonly asset: string;
  readonly chain: bigint;
  readonly record: bigint;
}

/**
 * How many were compared, and the lowest and the highest slot at which they were; null where none was. A wallet that is asked for again
 * counts again.
 */
export interface Tally {
  readonly wallets: number;
  readonly accounts: number;
  readonly differences: number;
  readonly slots: Slots | null;
}

/** What a reconciliation came to. */
export interface ReconciliationReport {
  readonly wallets: number;
  readonly accounts: number;
  readonly differences: number;
  /** Token accounts in which confidential transfers wait for their receiver. */
  readonly confidential: number;
  /** Wallets that no quorum of nodes showed alike: nothing is said of them, and they are asked for again. */
  readonly unread: number;
  /** False where the scan did not come to what the nodes show: the next round goes on there. */
  readonly complete: boolean;
}

/** A part of a reconciliation; `next`: the wallet behind which the next part begins, null where this round has none. */
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

/** Both parts as one. */
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

/** Where chain and record differ; an account that one of them does not have holds nothing there. */
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

/** What one node says of a wallet, held against the record at the slot at which it says so. */
export interface View {
  readonly slot: bigint;
  readonly differences: readonly Difference[];
  /** Token accounts in which confidential transfers wait. */
  readonly pending: readonly string[];
  /** Token accounts that the issuer has frozen. */
  readonly frozen: readonly TokenPlace[];
  /** Token accounts with tokens whose owner is a token account of the wallet. */
  readonly nested: readonly TokenPlace[];
}

/**
 * The newest of the views on which a quorum agrees, null where none does. `views` has one for each node.
 *
 * Nodes stand at different slots, where a wallet holds different amounts. What they agree on is how far these are from the record, which
 * is the same at every slot. A minority of lying nodes can neither hide a difference nor invent one.
 */
export function agreedOn<V extends View>(quorum: number, views: readonly V[]): V | null {
  const alike = new Map<string, V[]>();
  for (const view of views) alike.set(wordOf(view), [...(alike.get(wordOf(view)) ?? []), view]);
  const agreed = [...alike.values()].find(({ length }) => length >= quorum) ?? [];
  return agreed.reduce<V | null>(
    (newest, one) => (newest === null || one.slot > newest.slot ? one : newest),
    null,
  );
}

/** The same for views that say the same, whatever their slots. */
function wordOf({ differences, pending, frozen, nested }: View): string {
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

/** How far the comparing of all wallets is. */
export interface Standing {
  /** Every wallet that was watched then was compared since, or is among the unread. */
  readonly comparedSince: Date;
  /** The wallet behind which the pass under way goes on; null where it begins, or none is. */
  readonly after: string | null;
  /** Wallets that could not be compared when they were last asked for. */
  readonly unread: number;
  /** The one that waits for the longest time, since when, and why. */
  readonly longest: { readonly wallet: string; readonly since: Date; readonly reason: string } | null;
}

const HOUR_MS = 3_600_000;
/** A pass may take a day; ordinary nodes show blocks for about two: what was missed must be found while they do. */
const LONGEST_UNCOMPARED_MS = 48 * HOUR_MS;
/** Asked for again in each hourly round: no passing trouble of the nodes lasts for so many. */
const LONGEST_UNREAD_MS = 3 * HOUR_MS;

/** The alarm about wallets that were not compared for too long, null where there is none. */
export function behindAlarm({ comparedSince, after, unread, longest }: Standing, now: Date): Alarm | null {
  const lacks: string[] = [];
  if (now.getTime() - comparedSince.getTime() > LONGEST_UNCOMPARED_MS) {
    const where = after === null ? 'no wallet' : `only wallets up to ${after}`;
    lacks.push(`${where} compared since the round that began at ${comparedSince.toISOString()}`);
  }
  if (longest !== null && now.getTime() - longest.since.getTime() > LONGEST_UNREAD_MS) {
    const { wallet, since, reason } = longest;
    lacks.push(`${unread} wallets cannot be compared, ${wallet} since ${since.toISOString()}: ${reason}`);
  }
  if (lacks.length === 0) return null;
  const message = `balances are not held against the record: ${lacks.join('; ')}`;
  const details = { comparedSince: comparedSince.toISOString(), unread, wallet: longest?.wallet ?? null };
  return { kind: 'reconciliation_behind', subject: WHOLE, message, details };
}
