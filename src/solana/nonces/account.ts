import { sha256 } from '@noble/hashes/sha2.js';
import { base58 } from '@scure/base';
import { PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import type { AccountInfo } from '../rpc/schemas.ts';
import { SYSTEM_PROGRAM } from '../tx/programs.ts';

export const NONCE_ACCOUNT_SIZE = 80;

/** `nonce`: the value that a transaction has in place of a recent blockhash. */
export interface NonceState {
  readonly authority: string;
  readonly nonce: string;
}

const SEED_PATTERN = /^sluice-nonce-[1-9][0-9]{0,8}$/;
const AUTHORITY_OFFSET = 8;
const NONCE_OFFSET = 40;

/** The seed of a wallet's nonce account; `index` starts at 1. */
export function nonceSeed(index: number): string {
  return `sluice-nonce-${index}`;
}

export function isNonceSeed(seed: string): boolean {
  return SEED_PATTERN.test(seed);
}

/** The address that the system program derives from the wallet and the seed, so that the account has no private key. */
export function nonceAddress(wallet: string, seed: string): string {
  const parts = [base58.decode(wallet), Buffer.from(seed, 'utf8'), base58.decode(SYSTEM_PROGRAM)];
  return base58.encode(sha256(Buffer.concat(parts)));
}

/** The state of a nonce account; null if the account is not an initialized nonce account of the current version. */
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
 * An AdvanceNonceAccount instruction. It must be the first instruction, also before those of the compute budget, so
 * that the runtime accepts the nonce in place of a recent blockhash. Source: docs/interface.md, Prioritization fee
 * rules 4.
 */
export function advanceNonce(nonceAccount: string, authority: string): TransactionInstruction {
  return SystemProgram.nonceAdvance({
    noncePubkey: new PublicKey(nonceAccount),
    authorizedPubkey: new PublicKey(authority),
  });
}

/**
 * True if the runtime executes the instruction as AdvanceNonceAccount: its data starts with the u32 4. A transaction
 * whose first instruction this is does not expire with a blockhash.
 */
export function isNonceAdvance(program: string, data: Uint8Array): boolean {
  if (program !== SYSTEM_PROGRAM || data.length < 4) return false;
  return (
    new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(0, true) ===
    ADVANCE_NONCE_INSTRUCTION
  );
}

/** Like {@link isNonceAdvance}, for base58 data from a node. Text longer than a transaction is not decoded. */
export function isNonceAdvanceText(program: string, data: string): boolean {
  if (program !== SYSTEM_PROGRAM || !INSTRUCTION_DATA_TEXT.test(data)) return false;
  return isNonceAdvance(program, base58.decode(data));
}

const ADVANCE_NONCE_INSTRUCTION = 4;
/** Base58 text no longer than instruction data that fills a packet. */
const INSTRUCTION_DATA_TEXT = /^[1-9A-HJ-NP-Za-km-z]{4,1700}$/;
