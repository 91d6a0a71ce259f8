/** Balances of a hot wallet at its first comparison with the database. */
export interface WalletBaseline {
  readonly slot: string;
  readonly takenAt: string;
  /** Base units as decimal strings; `asset` is `SOL` or the address of a mint. */
  readonly balances: readonly { readonly account: string; readonly asset: string; readonly amount: string }[];
}

export interface HotWallet {
  readonly address: string;
  /** Null until the first reconciliation. */
  readonly baseline: WalletBaseline | null;
}
