import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { VersionedMessage } from '@solana/web3.js';
import { DomainError } from '../../domain/errors.ts';
import { isNonceAdvance } from '../nonces/account.ts';
import { COMPUTE_BUDGET_PROGRAM } from './programs.ts';

export interface DecodedInstruction {
  readonly program: string;
  readonly accounts: readonly {
    readonly address: string;
    readonly signer: boolean;
    readonly writable: boolean;
  }[];
  readonly data: Uint8Array;
}

/** A message of version legacy or 0. */
export interface DecodedMessage {
  readonly feePayer: string;
  readonly signers: readonly string[];
  readonly writable: readonly string[];
  readonly accounts: readonly string[];
  readonly blockhash: string;
  readonly lookupTableCount: number;
  readonly instructions: readonly DecodedInstruction[];
  /** Null: the message does not set the limit, so the runtime's default applies. Also for the price. */
  readonly computeUnitLimit: number | null;
  readonly computeUnitPriceMicroLamports: bigint | null;
}

/** Hex SHA-256 of a message. Identifies the transaction: the chain executes a message at most once. */
export function messageHashOf(message: Uint8Array): string {
  return bytesToHex(sha256(message));
}

/**
 * Decodes a message of version legacy or 0. Throws DomainError InvalidRequest if the bytes are not exactly one such
 * message, or if an instruction uses an account from a lookup table.
 */
export function decodeMessage(bytes: Uint8Array): DecodedMessage {
  const message = deserialize(bytes);
  const keys = message.staticAccountKeys.map((account) => account.toBase58());
  const keyAt = (index: number): string => {
    const address = keys[index];
    if (address === undefined)
      throw invalidMessage('an instruction uses an account that is not in the message itself');
    return address;
  };
  const instructions = message.compiledInstructions.map((item) => ({
    program: keyAt(item.programIdIndex),
    accounts: item.accountKeyIndexes.map((index) => ({
      address: keyAt(index),
      signer: message.isAccountSigner(index),
      writable: message.isAccountWritable(index),
    })),
    data: item.data,
  }));
  return {
    feePayer: keyAt(0),
    signers: keys.slice(0, message.header.numRequiredSignatures),
    writable: keys.filter((_, index) => message.isAccountWritable(index)),
    accounts: keys,
    blockhash: message.recentBlockhash,
    lookupTableCount: message.addressTableLookups.length,
    instructions,
    ...computeBudget(instructions),
  };
}

/**
 * The blockhash of a message of version legacy or 0. Throws DomainError InvalidRequest for other versions, and for a
 * message with a durable nonce, which never expires.
 */
export function blockhashOf(bytes: Uint8Array): string {
  const message = deserialize(bytes);
  const [first] = message.compiledInstructions;
  const program = first && message.staticAccountKeys[first.programIdIndex];
  if (first !== undefined && isNonceAdvance(program?.toBase58() ?? '', first.data))
    throw invalidMessage('the message has a durable nonce instead of a recent blockhash');
  return message.recentBlockhash;
}

/** True if the message has a durable nonce instead of a recent blockhash, so that it never expires. */
export function hasNonceLifetime({ instructions }: Pick<DecodedMessage, 'instructions'>): boolean {
  const [first] = instructions;
  return first !== undefined && isNonceAdvance(first.program, first.data);
}

function deserialize(bytes: Uint8Array): VersionedMessage {
  let message: VersionedMessage;
  let reserialized: Uint8Array;
  try {
    message = VersionedMessage.deserialize(bytes);
    reserialized = message.serialize();
  } catch (error) {
    throw invalidMessage('the bytes are not a message of version legacy or 0', error);
  }
  // A signature covers all bytes, so a message with unread bytes is refused: trailing bytes, or longer encoded lengths.
  if (!Buffer.from(reserialized).equals(bytes))
    throw invalidMessage(
      'the message is not in canonical form: it has trailing bytes, or lengths in a longer encoding',
    );
  return message;
}

function computeBudget(instructions: readonly DecodedInstruction[]) {
  let computeUnitLimit: number | null = null;
  let computeUnitPriceMicroLamports: bigint | null = null;
  for (const { program, data } of instructions) {
    if (program !== COMPUTE_BUDGET_PROGRAM) continue;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    if (data[0] === 2 && data.length === 5) computeUnitLimit = view.getUint32(1, true);
    if (data[0] === 3 && data.length === 9) computeUnitPriceMicroLamports = view.getBigUint64(1, true);
  }
  return { computeUnitLimit, computeUnitPriceMicroLamports };
}

function invalidMessage(reason: string, cause?: unknown): DomainError {
  return new DomainError('InvalidRequest', reason, {}, cause);
}
