/** What an account holds, by the chain or by the record, in base units. `asset` is `SOL` or a mint. */
export interface Holding {
  readonly account: string;
  readonly asset: string;
  readonly amount: bigint;
}

/** An account of which chain and record say different things, at one slot. */
export interface Difference {
  readonly account: string;
  readonly asset: string;
  readonly chain: bigint;
  readonly record: bigint;
}

/** What a reconciliation came to. */
export interface ReconciliationReport {
  readonly wallets: number;
  readonly accounts: number;
  readonly differences: number;
  /** Token accounts in which confidential transfers wait for their receiver. */
  readonly confidential: number;
  /** Wallets that no node showed: nothing is said of them. */
  readonly unread: number;
  /** False where the scan did not come to what the nodes show: the other wallets are left to the next round. */
  readonly complete: boolean;
}

/** A part of a reconciliation; `next`: the wallet behind which the next part begins, null where there is none. */
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
