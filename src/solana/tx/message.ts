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

/** A message of version legacy or 0. Null limits = the runtime's default. */
export interface DecodedMessage {
  readonly feePayer: string;
  readonly signers: readonly string[];
  readonly writable: readonly string[];
  readonly accounts: readonly string[];
  readonly blockhash: string;
  readonly lookupTables: number;
  readonly instructions: readonly DecodedInstruction[];
  readonly computeUnitLimit: number | null;
  readonly computeUnitPriceMicroLamports: bigint | null;
}

/** Identity of a message: two transactions with the same hash are one. Hex SHA-256. */
export function messageHashOf(message: Uint8Array): string {
  return bytesToHex(sha256(message));
}

/**
 * Decodes a message of version legacy or 0. Throws DomainError InvalidRequest for bytes that are not exactly one such
 * message, and for a message whose instructions use an account of a lookup table.
 */
export function decodeMessage(bytes: Uint8Array): DecodedMessage {
  const message = deserialize(bytes);
  const keys = message.staticAccountKeys.map((account) => account.toBase58());
  const keyAt = (index: number): string => {
    const address = keys[index];
    if (address === undefined) throw unreadable('an account index points outside the message');
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
    lookupTables: message.addressTableLookups.length,
    instructions,
    ...computeBudget(instructions),
  };
}

/**
 * The blockhash of a message of version legacy or 0. Throws DomainError InvalidRequest for any other version, and for
 * a message with a durable nonce instead, which would never expire.
 */
export function blockhashOf(bytes: Uint8Array): string {
  const message = deserialize(bytes);
  const [first] = message.compiledInstructions;
  const program = first && message.staticAccountKeys[first.programIdIndex];
  if (first !== undefined && isNonceAdvance(program?.toBase58() ?? '', first.data))
    throw unreadable('the message carries a durable nonce in place of a blockhash');
  return message.recentBlockhash;
}

/** True if a durable nonce takes the place of the blockhash: such a message does not expire. */
export function hasNonceLifetime({ instructions }: Pick<DecodedMessage, 'instructions'>): boolean {
  const [first] = instructions;
  return first !== undefined && isNonceAdvance(first.program, first.data);
}

function deserialize(bytes: Uint8Array): VersionedMessage {
  let message: VersionedMessage;
  let canonical: Uint8Array;
  try {
    message = VersionedMessage.deserialize(bytes);
    canonical = message.serialize();
  } catch (error) {
    throw unreadable('the bytes are not a message of a supported version', error);
  }
  // Trailing bytes, or a second encoding of the same lengths, would be signed without having been read.
  if (!Buffer.from(canonical).equals(bytes)) throw unreadable('the message is not in canonical form');
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

function unreadable(reason: string, cause?: unknown): DomainError {
  return new DomainError('InvalidRequest', reason, {}, cause);
}
