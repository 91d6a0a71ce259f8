/** What a pass through all wallets has compared with the record. Times are ISO-8601. */
export interface ReconciledWallets {
  readonly begunAt: string;
  /** Number of comparisons; a wallet that was compared again counts again. */
  readonly wallets: number;
  /** Number of accounts compared, each for SOL or a token. */
  readonly accounts: number;
  /** Number of accounts whose balance did not match the recorded changes; each raised the alert `balance_difference`. */
  readonly differences: number;
  /** The lowest and the highest finalized slot at which a wallet was compared, decimal strings; null where none was. */
  readonly slots: { readonly from: string; readonly to: string } | null;
}

/** The last pass that came to its end. */
export interface EndedReconciliation extends ReconciledWallets {
  readonly endedAt: string;
}

/** The pass under way, over as many hourly rounds as it takes. */
export interface OpenReconciliation extends ReconciledWallets {
  /** Last wallet of the previous round; the next round starts after it. Null before the first round. */
  readonly after: string | null;
  /** Why the last round stopped early; null if it did not. */
  readonly haltedBecause: string | null;
}

/** A wallet of which no quorum of nodes shows what it holds: it is asked for again in each round. */
export interface UnreadWallet {
  readonly wallet: string;
  readonly reason: string;
  /** Time since which the wallet could not be compared. */
  readonly since: string;
  /** Time of the last try. */
  readonly askedAt: string;
}

/** How far the balances of our wallets are held against the record; `last` and `open` are both null where that was never begun. */
export interface Reconciliation {
  /** Null until the first pass has ended. */
  readonly last: EndedReconciliation | null;
  /** Null between two passes. */
  readonly open: OpenReconciliation | null;
  /** Number of watched wallets: hot wallets and deposit addresses. An estimate above 100,000. */
  readonly watched: number;
  /** Number of wallets whose last comparison failed. */
  readonly unread: number;
  /** Up to 100 of them, those that wait for the longest time first. */
  readonly longestUnread: readonly UnreadWallet[];
}
