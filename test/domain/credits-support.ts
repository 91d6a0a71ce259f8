import { findingOfTransaction, type Ours } from '../../src/domain/credits.ts';
import type {
  AccountChange,
  Inflow,
  ScannedTransaction,
  TokenChange,
  TokenHolding,
  WatchKind,
} from '../../src/domain/deposit.ts';
import type { AssetTerms } from '../../src/domain/deposit-asset.ts';

export const TOKEN = 'token-program';
export const TOKEN_2022 = 'token-2022-program';

/** The name of a token account in these tests: its owner, its mint and its program. */
export const ata = (wallet: string, mint: string, program = TOKEN): string => `${wallet}/${mint}/${program}`;

export function terms(asset: string, changes: Partial<AssetTerms> = {}): AssetTerms {
  const program = asset === 'SOL' ? null : TOKEN;
  return { asset, program, decimals: 6, minimumDeposit: 1n, depositsOn: true, ...changes };
}

/** `dep1`, `dep2`: deposit wallets; `hot1`, `hot2`: hot ones. SOL and `usd` are assets. */
export function ours(changes: Partial<Ours> & { readonly assets?: readonly AssetTerms[] } = {}): Ours {
  const { assets = [terms('SOL'), terms('usd')], ...others } = changes;
  return {
    kindOf: (address): WatchKind | undefined =>
      /^dep\d$/.test(address) ? 'deposit' : /^hot\d$/.test(address) ? 'hot' : undefined,
    ataOf: ata,
    asset: (name) => assets.find(({ asset }) => asset === name),
    isAttempt: () => false,
    ...others,
  };
}

export function account(
  address: string,
  before: bigint,
  after: bigint,
  { signer = false } = {},
): AccountChange {
  return { address, signer, before, after };
}

/** A foreign fee payer that signs and pays the fee. */
export const PAYER = account('stranger', 1_000_000n, 995_000n, { signer: true });

export function holding(
  owner: string,
  amount: bigint,
  program: string | null = TOKEN,
  decimals: number | null = 6,
): TokenHolding {
  return { owner, program, decimals, amount };
}

/** A token account of one owner. */
export function tokens(
  owner: string,
  mint: string,
  before: bigint | null,
  after: bigint | null,
  where: string = ata(owner, mint),
): TokenChange {
  const side = (amount: bigint | null) => (amount === null ? null : holding(owner, amount));
  return { account: where, mint, before: side(before), after: side(after) };
}

export function transaction(changes: Partial<ScannedTransaction> = {}): ScannedTransaction {
  return {
    signature: 'sig',
    version: 0,
    error: null,
    feeLamports: 5_000n,
    accounts: [PAYER],
    tokens: [],
    ...changes,
  };
}

export function inflowsOf(
  changes: Partial<ScannedTransaction>,
  known: Ours = ours(),
): readonly Omit<Inflow, 'signature'>[] {
  const { inflows } = findingOfTransaction(transaction(changes), known);
  return inflows.map(({ account: name, wallet, asset, amount, reason }) => ({
    account: name,
    wallet,
    asset,
    amount,
    reason,
  }));
}
