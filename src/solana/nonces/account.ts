import { sha256 } from '@noble/hashes/sha2.js';
import { base58 } from '@scure/base';
import { PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import type { AccountInfo } from '../rpc/schemas.ts';
import { SYSTEM_PROGRAM } from '../tx/programs.ts';

/** Data bytes of a nonce account. */
export const NONCE_ACCOUNT_SIZE = 80;

/** Who may advance a nonce account, and the value that a transaction carries in place of a blockhash. */
export interface NonceState {
  readonly authority: string;
  readonly nonce: string;
}

const SEED = /^sluice-nonce-[1-9][0-9]{0,8}$/;
const AUTHORITY_OFFSET = 8;
const NONCE_OFFSET = 40;

/** The seed of a wallet's `index`-th nonce account (1 = first). */
export function nonceSeed(index: number): string {
  return `sluice-nonce-${index}`;
}

/** True for a seed that {@link nonceSeed} gives. */
export function isNonceSeed(seed: string): boolean {
  return SEED.test(seed);
}

/** The address that the system program gives an account of this wallet and seed: it needs no key of its own. */
export function nonceAddress(wallet: string, seed: string): string {
  const parts = [base58.decode(wallet), Buffer.from(seed, 'utf8'), base58.decode(SYSTEM_PROGRAM)];
  return base58.encode(sha256(Buffer.concat(parts)));
}

/** Null where the account is not an initialized nonce account of the present version. */
export function readNonceAccount(account: AccountInfo | null): NonceState | null {
  if (account?.owner !== SYSTEM_PROGRAM || account.data.length !== NONCE_ACCOUNT_SIZE) return null;
  const { data } = account;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (view.getUint32(0, true) !== 1 || view.getUint32(4, true) !== 1) return null;
  return {
    authority: base58.encode(data.subarray(AUTHORITY_OFFSET, NONCE_OFFSET)),
    nonce: base58.encode(data.subarray(NONCE_OFFSET, NONCE_OFFSET + 32)),
  };
}

/**
 * Uses up the nonce. As the first instruction, before those of the compute budget, it makes the nonce the transaction's lifetime.
 * Source: docs/interface.md, Prioritization fee rules 4.
 */
export function advanceNonce(nonceAccount: string, authority: string): TransactionInstruction {
  return SystemProgram.nonceAdvance({
    noncePubkey: new PublicKey(nonceAccount),
    authorizedPubkey: new PublicKey(authority),
  });
}

/** True for data of exactly the instruction that {@link advanceNonce} makes. */
export function isNonceAdvance(program: string, data: Uint8Array): boolean {
  return program === SYSTEM_PROGRAM && Buffer.from(data).equals(ADVANCE_DATA);
}

/** {@link isNonceAdvance} for data as a node writes it, in base58: what is none, or long, is never decoded. */
export function isWrittenNonceAdvance(program: string, data: string): boolean {
  return program === SYSTEM_PROGRAM && data === WRITTEN_ADVANCE;
}

const ADVANCE_DATA = Buffer.from([4, 0, 0, 0]);
const WRITTEN_ADVANCE = base58.encode(ADVANCE_DATA);
