import { isDomainError } from '../../domain/errors.ts';
import type { AccountInfo } from '../../solana/rpc/schemas.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { type MintInfo, readMint } from '../../solana/tokens/mint.ts';
import { readTokenAccount } from '../../solana/tokens/token-account.ts';
import { SYSTEM_PROGRAM } from '../../solana/tx/programs.ts';
import { recipientRefusal, walletRefusal } from '../rules/mint-policy.ts';
import type { FormOffer, TermsFault } from './offer.ts';

/** Finalized accounts by address. */
export type AccountsByAddress = ReadonlyMap<string, AccountInfo | null>;
export type ReadAccounts = (addresses: readonly string[]) => Promise<AccountsByAddress>;

export interface OnChain {
  readonly faults: readonly TermsFault[];
  /** Decimals by mint. */
  readonly decimals: ReadonlyMap<string, number>;
}

/** Two signatures, of the buyer and the fee payer. Priority fees of clients are small. */
const FEE_LAMPORTS = 10_000n;

/**
 * Checks the mints, wallets, token accounts and fee payers of offers on one chain. `rent`: lamports that a fee payer
 * must keep.
 */
export async function chainFaults(
  offers: readonly FormOffer[],
  readAccounts: ReadAccounts,
  rent: bigint,
): Promise<OnChain> {
  const sales = uniqueBy(offers, ({ asset, payTo }) => `${asset} ${payTo}`);
  const sponsored = uniqueBy(offers, ({ feePayer }) => feePayer ?? '').filter(
    ({ feePayer }) => feePayer !== null,
  );
  const accounts = await readAccounts([
    ...new Set(offers.flatMap(({ asset, payTo, feePayer }) => [asset, payTo, feePayer ?? []].flat())),
  ]);
  const read = sales.map((offer) => ({ offer, mint: mintOf(offer.asset, accounts) }));
  const recipients = await readAccounts(read.flatMap(({ offer, mint }) => recipientOf(offer, mint) ?? []));
  const saleFaults = read.flatMap(({ offer, mint }) => saleFault(offer, mint, accounts, recipients) ?? []);
  const feeFaults = sponsored.flatMap((offer) => feePayerFault(offer, accounts, rent) ?? []);
  const mints = read.flatMap(({ mint }) => (typeof mint === 'string' ? [] : [mint]));
  return {
    faults: [...saleFaults, ...feeFaults],
    decimals: new Map(mints.map(({ address, decimals }) => [address, decimals])),
  };
}

function uniqueBy(offers: readonly FormOffer[], keyOf: (offer: FormOffer) => string): readonly FormOffer[] {
  return [...new Map(offers.toReversed().map((offer) => [keyOf(offer), offer])).values()].toReversed();
}

/** The mint, or why the account is none. */
function mintOf(asset: string, accounts: AccountsByAddress): MintInfo | string {
  return rejectionOr(() => readMint(asset, accounts.get(asset) ?? null));
}

function recipientOf({ payTo, asset }: FormOffer, mint: MintInfo | string): string | null {
  return typeof mint === 'string' ? null : deriveAta(payTo, asset, mint.program, true);
}

function saleFault(
  offer: FormOffer,
  mint: MintInfo | string,
  accounts: AccountsByAddress,
  recipients: AccountsByAddress,
): TermsFault | null {
  const { place, payTo } = offer;
  if (typeof mint === 'string')
    return { place: `${place} asset`, expected: 'must be the mint of a token on this chain', found: mint };
  const noWallet = walletRefusal(payTo, accounts.get(payTo) ?? null);
  const address = recipientOf(offer, mint) ?? '';
  const refusal =
    noWallet ??
    rejectionOr(() =>
      recipientRefusal(mint, readTokenAccount(address, recipients.get(address) ?? null), payTo),
    );
  if (refusal === null) return null;
  const found = typeof refusal === 'string' ? refusal : refusal.message;
  return { place: `${place} payTo`, expected: 'must be able to receive exactly the price', found };
}

function feePayerFault(
  { place, feePayer }: FormOffer,
  accounts: AccountsByAddress,
  rent: bigint,
): TermsFault | null {
  const account = accounts.get(feePayer ?? '') ?? null;
  const needed = rent + FEE_LAMPORTS;
  const isWallet = account === null || account.owner === SYSTEM_PROGRAM;
  if (isWallet && (account?.lamports ?? 0n) >= needed) return null;
  return {
    place: `${place} extra.feePayer`,
    expected: `must be a wallet with at least ${needed} lamports, to pay the fee`,
    found: isWallet
      ? `${feePayer} with ${account?.lamports ?? 0n} lamports`
      : `an account of program ${account.owner}`,
  };
}

/** The result, or the message of a rejection. */
function rejectionOr<Result>(read: () => Result): Result | string {
  try {
    return read();
  } catch (error) {
    if (isDomainError(error, 'AssetRejected')) return error.message;
    throw error;
  }
}
