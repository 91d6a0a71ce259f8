import { isDomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { TokenHold } from '../domain/token-holds.ts';
import type { TokenPolicy } from '../domain/token-rules.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import type { Chain } from '../solana/chain.ts';
import type { AccountView } from '../solana/rpc/agreed-accounts.ts';
import { type AccountAnswer, lowestSlot } from '../solana/rpc/agreed-accounts.ts';
import { ataRent, deriveAta } from '../solana/tokens/ata.ts';
import { resolveHookAccounts } from '../solana/tokens/hooks.ts';
import { type MintInfo, readMint, transferFee } from '../solana/tokens/mint.ts';
import { readTokenAccount, type TokenAccountInfo } from '../solana/tokens/token-account.ts';
import { tokenPolicy } from '../solana/tokens/token-policy.ts';
import type { TokenTransfer } from '../solana/tx/transfer.ts';

/** The token transfer of a withdrawal, and what the hot wallet has and needs for it. */
export interface TokenSide {
  readonly transfer: TokenTransfer;
  /** Finalized balance of the hot wallet's token account, in base units. */
  readonly hotAmount: bigint;
  readonly rentLamports: bigint;
  readonly memoRequired: boolean;
}

/** A mint as it was when its asset was listed. The asset SOL has no program. */
export interface ListedMint {
  readonly program: string | null;
  readonly decimals: number;
}

export interface TokenReading {
  readonly chain: Pick<Chain, 'rentMinimum' | 'epoch'>;
  readonly view: AccountView;
  readonly rules: { readonly hotWallet: string; readonly tokenPolicy: TokenPolicy };
  readonly row: WithdrawalRow;
  readonly isVault: boolean;
  readonly listed: ListedMint | undefined;
}

/**
 * Returns the token side, with the lowest slot at which its accounts were read, or why the withdrawal must be held or
 * rejected. Throws AssetRejected.
 */
export async function readTokenSide(
  reading: TokenReading,
  mintReading: AccountAnswer,
): Promise<{ readonly slot: bigint; readonly ataFunded: boolean; readonly side: TokenSide } | Refusal> {
  const { chain, view, rules, row, isVault } = reading;
  const mint = usableMint(reading, mintReading);
  if ('reason' in mint) return mint;
  const to = deriveAta(row.destination, mint.address, mint.program, isVault);
  const from = deriveAta(rules.hotWallet, mint.address, mint.program);
  const [receiverReading, sourceReading] = await Promise.all([view.account(to), view.account(from)]);
  const receiver = readTokenAccount(to, receiverReading.account);
  const verdict = tokenPolicy(mint, receiver, row.destination, rules.tokenPolicy);
  if (!verdict.ok)
    return verdict.mayPass ? hold(verdict.reason) : { kind: 'rejected', reason: verdict.reason };
  const source = sourceAccount(mint, rules.hotWallet, sourceReading);
  if (source !== null && 'reason' in source) return source;
  const { createAta, memoRequired } = verdict;
  const transfer = await tokenTransfer(reading, mint, createAta);
  if ('reason' in transfer) return transfer;
  return {
    slot: lowestSlot([receiverReading, sourceReading]),
    ataFunded: createAta && (receiverReading.account?.lamports ?? 0n) > 0n,
    side: {
      transfer,
      hotAmount: source?.amount ?? 0n,
      rentLamports: createAta ? ataRent(receiverReading.account, await chain.rentMinimum(mint.ataSize)) : 0n,
      memoRequired,
    },
  };
}

/**
 * Returns the mint. Holds the withdrawal if a listed mint was closed or created again, because the mint is then no
 * longer the asset of the customers.
 */
function usableMint({ row, listed }: TokenReading, { account }: AccountAnswer): MintInfo | Refusal {
  if (listed === undefined) return readMint(row.asset, account);
  try {
    const mint = readMint(row.asset, account);
    if (mint.program === listed.program && mint.decimals === listed.decimals) return mint;
    return mintChanged(row.asset, listed, `it has ${mint.decimals} decimals under program ${mint.program}`);
  } catch (error) {
    if (isDomainError(error, 'AssetRejected')) return mintChanged(row.asset, listed, error.message);
    throw error;
  }
}

function mintChanged(mint: string, { program, decimals }: ListedMint, change: string): Refusal {
  const before = `the mint ${mint} was listed with ${decimals} decimals under program ${program}`;
  return holdFor('mint_changed', `${before}, but has changed on chain: ${change}`);
}

/**
 * The hot wallet's own account, null if there is none. A fault of the account holds the withdrawal but never rejects
 * it.
 */
function sourceAccount(
  { address }: MintInfo,
  hotWallet: string,
  reading: AccountAnswer,
): TokenAccountInfo | null | Refusal {
  const name = `the hot wallet's token account ${reading.address} for mint ${address}`;
  try {
    const source = readTokenAccount(reading.address, reading.account);
    if (source === null) return null;
    if (source.owner !== hotWallet || source.mint !== address)
      return holdFor('cannot_prepare', `${name} has owner ${source.owner} and mint ${source.mint}`);
    if (!source.frozen) return source;
    return holdFor(
      'hot_account_frozen',
      `the issuer of ${address} has frozen ${reading.address}, the hot wallet's token account`,
    );
  } catch (error) {
    if (!isDomainError(error, 'AssetRejected')) throw error;
    return holdFor('cannot_prepare', `${name} cannot be used: ${error.message}`);
  }
}

async function tokenTransfer(
  { chain, view, rules, row, isVault }: TokenReading,
  mint: MintInfo,
  createAta: boolean,
): Promise<TokenTransfer | Refusal> {
  const { amount, destination } = row;
  const { address, program, decimals } = mint;
  const expectedFee = mint.transferFee === null ? null : transferFee(mint, amount, await chain.epoch());
  const hookTransfer = { source: rules.hotWallet, destination, amount, createAta, toVault: isVault };
  const hookAccounts = await resolveHookAccounts(view, mint, hookTransfer).catch(hookFault);
  if ('reason' in hookAccounts) return hookAccounts;
  return { mint: address, program, decimals, createAta, expectedFee, hookAccounts };
}

/**
 * Holds the withdrawal but does not reject it: the issuer can change the account list of the hook, and a listed
 * account can still be created.
 */
function hookFault(error: unknown): Refusal {
  if (!isDomainError(error, 'AssetRejected')) throw error;
  return holdFor('cannot_prepare', error.message);
}

function holdFor(code: TokenHold, message: string): Refusal {
  return hold({ code, message });
}

function hold(reason: StatusReason): Refusal {
  return { kind: 'held', reason };
}
