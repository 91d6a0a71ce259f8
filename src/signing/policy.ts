import { DomainError, isDomainError } from '../domain/errors.ts';
import { deriveAta } from '../solana/ata.ts';
import { type DecodedInstruction, type DecodedMessage, decodeMessage } from '../solana/message.ts';
import { isNonceAdvance } from '../solana/nonces.ts';
import { MAX_COMPUTE_UNITS, priorityLamports } from '../solana/priority-fee.ts';
import {
  COMPUTE_BUDGET_PROGRAM,
  isTokenProgram,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
} from '../solana/programs.ts';
import { readTokenTransfer } from '../solana/token-transfer.ts';
import { composeTransfer, type TokenTransfer } from '../solana/transactions.ts';

/** The one transfer that may be signed. Amounts are decimal base units; `signer` is the wallet that pays it and its fee. */
export interface SigningRequest {
  readonly withdrawalId: string;
  readonly signer: string;
  readonly asset: string;
  readonly amount: string;
  readonly destination: string;
  readonly memo: string | null;
  /** Bound of the whole fee. The message decides the priority part of it, the chain the rest. */
  readonly maxFeeLamports: string;
  /** `0` forbids making a token account. What one costs is not in the message: the chain decides, and it is made at most once. */
  readonly maxRentLamports: string;
  /** The wallet's own nonce account that gives the message its lifetime; without it only a blockhash may. */
  readonly nonceAccount?: string;
}

/** What the signer grants whoever asks, from its own settings: a worker that was taken over can ask for more, but not get it. */
export interface SigningBounds {
  /** Highest price of a compute unit, in micro-lamports. */
  readonly priceCapMicroLamports: bigint;
  /** Accept the extra accounts of a transfer hook. */
  readonly allowHookAccounts: boolean;
}

/**
 * Throws DomainError SigningRefused unless the bytes are exactly the transfer asked for: the advance of the nonce account where one
 * is asked for, limit, price, at most one
 * token account made, at most one memo, one transfer; no other program, account, signer or lookup table; all within `bounds`.
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
    asked.asset === 'SOL' ? checkNative(transfer, asked) : checkToken(transfer, asked, rest.length > 0);
  if (token !== null && token.hookAccounts.length > 0 && !bounds.allowHookAccounts)
    throw refused('the transfer names extra accounts');
  if (rest.length > (token === null ? 0 : 1))
    throw refused('it holds more instructions than the transfer needs');
  const { asset, destination, signer, nonceAccount } = asked;
  const lifetime = nonceAccount === undefined ? {} : { nonceAccount };
  const amount = BigInt(asked.amount);
  const spec = { asset, destination, source: signer, amount, memo, token, ...limits, ...lifetime };
  // Whatever the checks above do not name (flags of accounts, unused keys, order) is caught by composing it anew.
  if (!Buffer.from(composeTransfer(spec).message).equals(message))
    throw refused('it is not the transfer asked for');
}

/** @throws DomainError SigningRefused for bytes that are no message. */
export function readMessage(message: Uint8Array): DecodedMessage {
  try {
    return decodeMessage(message);
  } catch (error) {
    if (isDomainError(error)) throw refused(error.message);
    throw error;
  }
}

/** What follows the advance of the nonce; everything where none is asked for. */
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

/** The limits and the blockhash of a message whose `instructions` begin with both limits, within the bounds. */
export function checkLimits(
  decoded: DecodedMessage,
  instructions: readonly DecodedInstruction[],
  asked: Pick<SigningRequest, 'maxFeeLamports'>,
  bounds: SigningBounds,
) {
  const { computeUnitLimit, computeUnitPriceMicroLamports, blockhash } = decoded;
  const leading = instructions.slice(0, 2).map((instruction) => instruction.program);
  if (leading.length < 2 || leading.some((program) => program !== COMPUTE_BUDGET_PROGRAM)) {
    throw refused('it does not begin with compute unit limit and price');
  }
  if (computeUnitLimit === null || computeUnitPriceMicroLamports === null) {
    throw refused('it sets no compute unit limit or price');
  }
  if (computeUnitLimit > MAX_COMPUTE_UNITS) throw refused(`its compute unit limit is ${computeUnitLimit}`);
  if (computeUnitPriceMicroLamports > bounds.priceCapMicroLamports)
    throw refused(`its price of a compute unit is ${computeUnitPriceMicroLamports} micro-lamports`);
  const priority = priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
  if (priority > BigInt(asked.maxFeeLamports)) throw refused(`its priority fee is ${priority} lamports`);
  return { computeUnitLimit, computeUnitPriceMicroLamports, blockhash };
}

/** Takes the memo off the end of `rest`. Without a memo asked for, a token account that demands one gets the withdrawal id. */
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

function checkToken(transfer: DecodedInstruction, asked: SigningRequest, createAta: boolean): TokenTransfer {
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
  if (destination !== deriveAta(asked.destination, asked.asset, program))
    throw refused('the destination is another one');
  if (createAta && asked.maxRentLamports === '0') throw refused('it makes a token account');
  const hookAccounts = accounts.slice(4).map(({ address, writable }) => ({ address, writable }));
  return { mint: asked.asset, program, decimals, createAta, expectedFee, hookAccounts };
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

/** The error for a message that may not be signed. */
export function refused(why: string): DomainError {
  return new DomainError('SigningRefused', `the message was not signed: ${why}`);
}
