import { z } from 'zod';
import { isDomainError } from '../../domain/errors.ts';
import { isNonceAdvance } from '../../solana/nonces/account.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import type { DecodedInstruction } from '../../solana/tx/message.ts';
import {
  isTokenProgram,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
} from '../../solana/tx/programs.ts';
import { readTokenTransfer } from '../../solana/tx/token-transfer.ts';
import { composeTransfer, type TokenTransfer } from '../../solana/tx/transfer.ts';
import {
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
 * Throws DomainError SigningRefused unless the bytes are exactly the requested transfer, within `bounds`. Allowed are
 * a requested nonce advance, compute unit limit and price, at most one created token account, at most one memo, one
 * transfer. Any other program, account, signer or lookup table is refused.
 */
export function checkMessage(message: Uint8Array, asked: SigningRequest, bounds: SigningBounds): void {
  const decoded = readMessage(message);
  if (decoded.lookupTables > 0) throw refused('it uses a lookup table');
  if (decoded.signers.length !== 1 || decoded.feePayer !== asked.signer)
    throw refused('it has another signer');
  const instructions = checkLifetime(decoded.instructions, asked);
  const limits = checkLimits(decoded, instructions, asked, bounds);
  const rest = instructions.slice(2);
  const transfer = rest.pop();
  if (transfer === undefined) throw refused('it holds no transfer');
  const memo = checkMemo(rest, transfer.program, asked);
  const token =
    asked.asset === 'SOL'
      ? checkNative(transfer, asked)
      : checkToken(transfer, asked, rest.length > 0, bounds.allowVaults);
  if (token !== null && token.hookAccounts.length > 0 && !bounds.allowHookAccounts)
    throw refused('the transfer names extra accounts');
  if (rest.length > (token === null ? 0 : 1))
    throw refused('it holds more instructions than the transfer needs');
  const { asset, destination, signer, nonceAccount } = asked;
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  const amount = BigInt(asked.amount);
  const toVault = bounds.allowVaults ?? false;
  const spec = { asset, destination, source: signer, amount, memo, token, ...limits, ...lifetime, toVault };
  // Composing the message again catches everything that the checks above do not name: account flags, unused keys,
  // order.
  if (!Buffer.from(composeTransfer(spec).message).equals(message))
    throw refused('it is not the transfer asked for');
}

/** Returns the instructions after the nonce advance; all instructions if no nonce is requested. */
function checkLifetime(
  instructions: readonly DecodedInstruction[],
  { nonceAccount, signer }: SigningRequest,
): readonly DecodedInstruction[] {
  if (nonceAccount === undefined) return instructions;
  const [first, ...rest] = instructions;
  if (first === undefined || !isNonceAdvance(first.program, first.data))
    throw refused('it does not begin with the advance of a nonce');
  if (first.accounts[0]?.address !== nonceAccount) throw refused('the nonce account is another one');
  if (first.accounts[2]?.address !== signer) throw refused('the nonce account has another authority');
  return rest;
}

/** Removes the memo from the end of `rest`. A token account that requires a memo gets the withdrawal id by default. */
function checkMemo(rest: DecodedInstruction[], program: string, asked: SigningRequest): string | null {
  const last = rest.at(-1);
  if (last?.program !== MEMO_PROGRAM) {
    if (asked.memo !== null) throw refused('the memo is missing');
    return null;
  }
  rest.pop();
  const text = Buffer.from(last.data).toString('utf8');
  const standIn = program === TOKEN_2022_PROGRAM ? asked.withdrawalId : null;
  if (text !== (asked.memo ?? standIn)) throw refused('the memo is another one');
  return text;
}

function checkNative(transfer: DecodedInstruction, asked: SigningRequest): null {
  const view = viewOf(transfer.data);
  if (transfer.program !== SYSTEM_PROGRAM || transfer.data.length !== 12 || view.getUint32(0, true) !== 2) {
    throw refused('its last instruction is not a transfer of SOL');
  }
  if (view.getBigUint64(4, true) !== BigInt(asked.amount)) throw refused('the amount is another one');
  if (transfer.accounts[0]?.address !== asked.signer) throw refused('the source is another one');
  if (transfer.accounts[1]?.address !== asked.destination) throw refused('the destination is another one');
  return null;
}

function checkToken(
  transfer: DecodedInstruction,
  asked: SigningRequest,
  createAta: boolean,
  allowVaults?: boolean,
): TokenTransfer {
  const { program, accounts } = transfer;
  if (!isTokenProgram(program)) throw refused('its last instruction is not a token transfer');
  const read = readTokenTransfer(transfer);
  if (read === null) throw refused('its last instruction is not a checked transfer');
  const { amount, decimals, expectedFee } = read;
  if (amount !== BigInt(asked.amount)) throw refused('the amount is another one');
  const [source, mint, destination, owner] = accounts.map((account) => account.address);
  if (mint !== asked.asset) throw refused('the mint is another one');
  if (source !== deriveAta(asked.signer, asked.asset, program) || owner !== asked.signer) {
    throw refused('the source is another one');
  }
  if (destination !== destinationAccount(asked, program, allowVaults))
    throw refused('the destination is another one');
  if (createAta !== asked.createsAccount)
    throw refused(createAta ? 'it makes a token account' : 'it makes no token account');
  const hookAccounts = accounts.slice(4).map(({ address, writable }) => ({ address, writable }));
  return { mint: asked.asset, program, decimals, createAta, expectedFee, hookAccounts };
}

function destinationAccount(
  { destination, asset }: SigningRequest,
  program: string,
  allowVaults?: boolean,
): string {
  try {
    return deriveAta(destination, asset, program, allowVaults);
  } catch (error) {
    if (isDomainError(error)) throw refused(error.message);
    throw error;
  }
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}
