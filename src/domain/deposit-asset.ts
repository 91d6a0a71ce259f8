/** What we take in: SOL, or the tokens of one mint. */
export interface AssetTerms {
  /** `SOL` or the address of the mint. */
  readonly asset: string;
  /** The token program that owns the mint; null for SOL. */
  readonly program: string | null;
  readonly decimals: number;
  /** Base units: less than that in one account by one transaction is not credited. */
  readonly minimumDeposit: bigint;
  readonly depositsOn: boolean;
}
