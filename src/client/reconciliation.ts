/** Result of one pass over all wallets. Times are ISO-8601. */
export interface ReconciledWallets {
  readonly begunAt: string;
  /** Number of comparisons; a wallet that was compared again counts again. */
  readonly wallets: number;
  /** Number of accounts compared, each for SOL or a token. */
  readonly accounts: number;
  /** Number of accounts whose balance did not match the recorded changes; each raised `balance_difference`. */
  readonly differences: number;
}

export interface EndedReconciliation extends ReconciledWallets {
  readonly endedAt: string;
}

/** The pass in progress. It may take several hourly rounds. */
export interface OpenReconciliation extends ReconciledWallets {
  /** Last wallet of the previous round; the next round starts after it. Null before the first round. */
  readonly after: string | null;
  /** Why the last round stopped early; null if it did not. */
  readonly haltedBecause: string | null;
}

/** A wallet that could not be compared. Each round retries it. */
export interface UnreadWallet {
  readonly wallet: string;
  readonly reason: string;
  /** Time since which the wallet could not be compared. */
  readonly since: string;
  readonly askedAt: string;
}

/** Progress of the comparison of balances with the database. `last` and `open` are null before the first pass. */
export interface Reconciliation {
  /** Null until the first pass has ended. */
  readonly last: EndedReconciliation | null;
  /** Null between two passes. */
  readonly open: OpenReconciliation | null;
  /** Number of watched wallets: hot wallets and deposit addresses. An estimate above 100,000. */
  readonly watched: number;
  readonly unread: number;
  /** Up to 100 of them, longest wait first. */
  readonly longestUnread: readonly UnreadWallet[];
}
