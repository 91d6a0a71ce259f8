import { sha256 } from '@noble/hashes/sha2.js';
import { addressBytes, ByteReader, toBase58 } from '../encoding/bytes.ts';
import { isWritable, type WireMessage } from '../encoding/wire.ts';
import { SYSTEM_PROGRAM } from './programs.ts';
import type { StoredAccount } from './vm.ts';

const ADVANCE_NONCE = 4;
const NONCE_ACCOUNT_SIZE = 80;
const NONCE_OFFSET = 40;

/** An initialized nonce account. A durable-nonce transaction has `nonce` in place of a blockhash. */
export interface NonceData {
  readonly authority: string;
  readonly nonce: string;
  readonly lamportsPerSignature: bigint;
}

/** Reads a nonce account; null if the account is not a nonce account or not initialized. */
export function readNonce(account: StoredAccount | null): NonceData | null {
  if (account?.owner !== SYSTEM_PROGRAM || account.data.length !== NONCE_ACCOUNT_SIZE) return null;
  const reader = new ByteReader(account.data);
  const isCurrentVersion = reader.u32() === 1;
  const isInitialized = reader.u32() === 1;
  if (!isCurrentVersion || !isInitialized) return null;
  return { authority: reader.address(), nonce: reader.address(), lamportsPerSignature: reader.u64() };
}

/** The nonce account that the first instruction of a durable-nonce transaction advances; null for any other transaction. */
export function nonceAccountOf(message: WireMessage): string | null {
  const first = message.instructions[0];
  if (!first || message.keys[first.programIdIndex] !== SYSTEM_PROGRAM || first.data.length < 4) return null;
  if (new ByteReader(first.data).u32() !== ADVANCE_NONCE) return null;
  const index = first.accounts[0];
  if (index === undefined || index >= message.keys.length || !isWritable(message, index)) return null;
  return message.keys[index] ?? null;
}

/** True if the authority is an account of the first instruction and signs the transaction. */
export function isSignedByAuthority(message: WireMessage, authority: string): boolean {
  const first = message.instructions[0];
  return (first?.accounts ?? []).some(
    (index) => index < message.header.signatures && message.keys[index] === authority,
  );
}

export function nextNonce(seed: string): string {
  return toBase58(
    sha256(new Uint8Array([...new TextEncoder().encode('DURABLE_NONCE'), ...addressBytes(seed)])),
  );
}

/** The nonce account after an advance. A failed durable-nonce transaction advances the nonce, too. */
export function withAdvancedNonce(account: StoredAccount, seed: string): StoredAccount {
  const data = account.data.slice();
  data.set(addressBytes(nextNonce(seed)), NONCE_OFFSET);
  return { ...account, data };
}
