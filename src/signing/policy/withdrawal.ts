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
  type SigningBounds,
  type SigningRule,
  signingRefused,
} from '../checks.ts';

/** The only transfer that may be signed. Amounts are decimal base units. `signer` pays the amount and the fee. */
export type SigningRequest = TransferTerms & { readonly signer: string };

export type TransferTerms = Readonly<Omit<z.infer<typeof termsSchema>, 'nonceAccount'>> & {
  readonly nonceAccount?: string;
};

const termsSchema = z.object({
  withdrawalId: z.string(),
  asset: z.string(),
  amount: z.string(),
  destination: z.string(),
  memo: z.string().nullable(),
  /** Maximum fee, in decimal lamports. The message sets the priority fee; the chain sets the base fee. */
  maxFeeLamports: z.string(),
  /** Maximum rent of a token account that the transfer creates, in decimal lamports. The chain sets the actual rent. */
  maxRentLamports: z.string(),
  /** Whether the transfer creates the destination's token account. The rent can be 0. */
  createsAccount: z.boolean(),
  /** The wallet's own nonce account, for a durable transaction. Absent: the transaction expires with its blockhash. */
  nonceAccount: z.string().optional(),
});

const withdrawalPolicy: Policy = (message, terms, signer, bounds) => {
  const { nonceAccount, ...transfer } = readTerms(termsSchema, terms);
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  checkMessage(message, { ...transfer, ...lifetime, signer }, bounds);
};

export const withdrawalRule: SigningRule = { roles: ['hot'], policy: withdrawalPolicy };

/**
 * Throws DomainError SigningRefused unless the bytes are exactly the requested transfer, within `bounds`. The signer
 * composes the transfer again, so that any other instruction, account, signer or lookup table is refused. Only these
 * values come from the message: the blockhash or nonce, the compute limits, hook accounts, and the token's program,
 * decimals and transfer fee. The chain rejects wrong decimals and fees.
 */
export function checkMessage(message: Uint8Array, request: SigningRequest, bounds: SigningBounds): void {
  const decoded = readMessage(message);
  const limits = checkLimits(decoded, request, bounds);
  const { asset, destination, signer: source, nonceAccount } = request;
  const token = asset === 'SOL' ? null : tokenOf(decoded, request);
  if (token !== null && token.hookAccounts.length > 0 && !bounds.allowHookAccounts)
    throw signingRefused(
      'the transfer names extra accounts of a transfer hook, which the settings of the signer do not allow',
    );
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  const amount = BigInt(request.amount);
  const memo = request.memo ?? requiredMemo(decoded, request, token);
  const toVault = bounds.allowVaults ?? false;
  const spec = { asset, destination, source, amount, memo, token, ...limits, ...lifetime, toVault };
  checkComposed(message, () => composeTransfer(spec));
}

function tokenOf({ instructions }: DecodedMessage, { asset, createsAccount }: SigningRequest): TokenTransfer {
  const transfer = instructions.at(-1);
  const data = transfer === undefined ? null : readTokenTransfer(transfer);
  if (transfer === undefined || data === null)
    throw signingRefused('its last instruction is not a checked token transfer');
  const { program, accounts } = transfer;
  const hookAccounts = accounts.slice(4).map(({ address, writable }) => ({ address, writable }));
  const { decimals, expectedFee } = data;
  return { mint: asset, program, decimals, createAta: createsAccount, expectedFee, hookAccounts };
}

/** The withdrawal id, if the message has a memo that its terms do not: some Token-2022 accounts require a memo. */
function requiredMemo(
  { instructions }: DecodedMessage,
  { withdrawalId }: SigningRequest,
  token: TokenTransfer | null,
): string | null {
  return token?.program === TOKEN_2022_PROGRAM && instructions.at(-2)?.program === MEMO_PROGRAM
    ? withdrawalId
    : null;
}
