import { sha256 } from '@noble/hashes/sha2.js';
import { addressBytes, ByteReader, toBase58 } from '../encoding/bytes.ts';
import { isWritable, type WireMessage } from '../encoding/wire.ts';
import { SYSTEM_PROGRAM } from './programs.ts';
import type { StoredAccount } from './vm.ts';

const ADVANCE_NONCE = 4;
const NONCE_ACCOUNT_SIZE = 80;
const NONCE_OFFSET = 40;

/** An initialized nonce account. `nonce` is what a transaction carries in place of a blockhash. */
export interface NonceData {
  readonly authority: string;
  readonly nonce: string;
  readonly lamportsPerSignature: bigint;
}

/** Reads a nonce account; null when it is none or not initialized. */
export function readNonce(account: StoredAccount | null): NonceData | null {
  if (account?.owner !== SYSTEM_PROGRAM || account.data.length !== NONCE_ACCOUNT_SIZE) return null;
  const reader = new ByteReader(account.data);
  const current = reader.u32() === 1;
  const initialized = reader.u32() === 1;
  if (!current || !initialized) return null;
  return { authority: reader.address(), nonce: reader.address(), lamportsPerSignature: reader.u64() };
}

/** The nonce account of a durable-nonce transaction: only a first instruction that advances a writable account counts. */
export function nonceAccountOf(message: WireMessage): string | null {
  const first = message.instructions[0];
  if (!first || message.keys[first.programIdIndex] !== SYSTEM_PROGRAM || first.data.length < 4) return null;
  if (new ByteReader(first.data).u32() !== ADVANCE_NONCE) return null;
  const index = first.accounts[0];
  if (index === undefined || index >= message.keys.length || !isWritable(message, index)) return null;
  return message.keys[index] ?? null;
}

/** True where the first instruction lists the authority among the signers. */
export function signedByAuthority(message: WireMessage, authority: string): boolean {
  const first = message.instructions[0];
  return (first?.accounts ?? []).some(
    (index) => index < message.header.signatures && message.keys[index] === authority,
  );
}

/** The nonce that an advance in a block with this seed leaves behind. */
export function nextNonce(seed: string): string {
  return toBase58(
    sha256(new Uint8Array([...new TextEncoder().encode('DURABLE_NONCE'), ...addressBytes(seed)])),
  );
}

/** The nonce account after an advance; what a failed transaction leaves too. */
export function advanced(account: StoredAccount, seed: string): StoredAccount {
  const data = account.data.slice();
  data.set(addressBytes(nextNonce(seed)), NONCE_OFFSET);
  return { ...account, data };
}
