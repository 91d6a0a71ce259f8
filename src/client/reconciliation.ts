/** What a pass through all wallets has compared with the record. Times are ISO-8601. */
export interface ReconciledWallets {
  readonly begunAt: string;
  /** Wallets that were compared; one that was asked for again counts again. */
  readonly wallets: number;
  /** Accounts of theirs, each for SOL or for a token. */
  readonly accounts: number;
  /** How often an account held something else than what came and went: each was the alert `balance_difference`. */
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
  /** The wallet behind which it goes on; null at its beginning. */
  readonly after: string | null;
  /** Why its last round ended before the pass did; null where none was ended since the last wallets. */
  readonly haltedBecause: string | null;
}

/** A wallet of which no quorum of nodes shows what it holds: it is asked for again in each round. */
export interface UnreadWallet {
  readonly wallet: string;
  readonly why: string;
  /** Since when it could not be compared. */
  readonly since: string;
  /** When it was last asked for. */
  readonly askedAt: string;
}

/** How far the balances of our wallets are held against the record; `last` and `open` are both null where that was never begun. */
export interface Reconciliation {
  /** Null until the first pass has ended. */
  readonly last: EndedReconciliation | null;
  /** Null between two passes. */
  readonly open: OpenReconciliation | null;
  /** Wallets that are watched: those that we pay from, and deposit addresses; above 100,000 an estimate. */
  readonly watched: number;
  /** Wallets that could not be compared when they were last asked for. */
  readonly unread: number;
  /** Up to 100 of them, those that wait for the longest time first. */
  readonly longestUnread: readonly UnreadWallet[];
}
