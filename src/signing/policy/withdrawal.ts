import { z } from 'zod';
import type { DecodedMessage } from '../../solana/tx/message.ts';
import { MEMO_PROGRAM, TOKEN_2022_PROGRAM } from '../../solana/tx/programs.ts';
import { readTokenTransfer } from '../../solana/tx/token-transfer.ts';
import { composeTransfer, type TokenTransfer } from '../../solana/tx/transfer.ts';
import {
  checkComposed,
  checkLimits,
  type Policy,
  readMessage,
  readTerms,
  refused,
  type SigningBounds,
  type SigningRule,
} from '../checks.ts';

/** The one transfer that may be signed. Amounts are decimal base units; `signer` pays the amount and the fee. */
export type SigningRequest = TransferTerms & { readonly signer: string };

export type TransferTerms = Readonly<Omit<z.infer<typeof terms>, 'nonceAccount'>> & {
  readonly nonceAccount?: string;
};

const terms = z.object({
  withdrawalId: z.string(),
  asset: z.string(),
  amount: z.string(),
  destination: z.string(),
  memo: z.string().nullable(),
  /** Upper limit of the whole fee. The message sets the priority fee, the chain sets the rest. */
  maxFeeLamports: z.string(),
  /** Upper limit of the rent for a created token account. The chain sets the rent; it is not in the message. */
  maxRentLamports: z.string(),
  /** Whether the transfer creates the destination's token account, maybe without rent. */
  createsAccount: z.boolean(),
  /** The wallet's own nonce account that gives the message its lifetime; if absent, the lifetime is a blockhash. */
  nonceAccount: z.string().optional(),
});

const withdrawalPolicy: Policy = (message, asked, signer, bounds) => {
  const { nonceAccount, ...transfer } = readTerms(terms, asked);
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  checkMessage(message, { ...transfer, ...lifetime, signer }, bounds);
};

export const withdrawalRule: SigningRule = { roles: ['hot'], policy: withdrawalPolicy };

/**
 * Throws DomainError SigningRefused unless the bytes are exactly the requested transfer, within `bounds`. The signer
 * composes the request again. Only blockhash, limits, hook accounts, and the token's program, decimals and transfer fee
 * come from the message: the chain refuses false decimals and fees. So any other instruction, account, signer or
 * lookup table is refused.
 */
export function checkMessage(message: Uint8Array, asked: SigningRequest, bounds: SigningBounds): void {
  const decoded = readMessage(message);
  const limits = checkLimits(decoded, asked, bounds);
  const { asset, destination, signer: source, nonceAccount } = asked;
  const token = asset === 'SOL' ? null : tokenOf(decoded, asked);
  if (token !== null && token.hookAccounts.length > 0 && !bounds.allowHookAccounts)
    throw refused('the transfer names extra accounts');
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  const amount = BigInt(asked.amount);
  const memo = asked.memo ?? requiredMemo(decoded, asked, token);
  const toVault = bounds.allowVaults ?? false;
  const spec = { asset, destination, source, amount, memo, token, ...limits, ...lifetime, toVault };
  checkComposed(message, () => composeTransfer(spec));
}

function tokenOf({ instructions }: DecodedMessage, { asset, createsAccount }: SigningRequest): TokenTransfer {
  const transfer = instructions.at(-1);
  const data = transfer === undefined ? null : readTokenTransfer(transfer);
  if (transfer === undefined || data === null)
    throw refused('its last instruction is not a checked token transfer');
  const { program, accounts } = transfer;
  const hookAccounts = accounts.slice(4).map(({ address, writable }) => ({ address, writable }));
  const { decimals, expectedFee } = data;
  return { mint: asset, program, decimals, createAta: createsAccount, expectedFee, hookAccounts };
}

/** A Token-2022 account that requires a memo gets the withdrawal id by default. */
function requiredMemo(
  { instructions }: DecodedMessage,
  { withdrawalId }: SigningRequest,
  token: TokenTransfer | null,
): string | null {
  return token?.program === TOKEN_2022_PROGRAM && instructions.at(-2)?.program === MEMO_PROGRAM
    ? withdrawalId
    : null;
}
