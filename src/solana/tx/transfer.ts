import { base58, base64 } from '@scure/base';
import {
  ComputeBudgetProgram,
  MessageV0,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';
import { DomainError } from '../../domain/errors.ts';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  createTransferCheckedWithFeeInstruction,
} from '../../shims/spl-token.ts';
import { advanceNonce } from '../nonces/account.ts';
import { deriveAta } from '../tokens/ata.ts';
import { ATA_PROGRAM, MEMO_PROGRAM } from './programs.ts';

/** An extra account for a transfer hook; never a signer. */
export interface HookAccount {
  readonly address: string;
  readonly writable: boolean;
}

/** The token of a transfer. `expectedFee`: transfer fee in base units; null for a mint without a transfer fee. */
export interface TokenTransfer {
  readonly mint: string;
  readonly program: string;
  readonly decimals: number;
  readonly createAta: boolean;
  readonly expectedFee: bigint | null;
  readonly hookAccounts: readonly HookAccount[];
}

/** All inputs of a transfer message. `source` (a wallet) pays `amount` base units to `destination`. */
export interface TransferSpec {
  readonly asset: string;
  readonly amount: bigint;
  readonly source: string;
  readonly destination: string;
  readonly memo: string | null;
  readonly token: TokenTransfer | null;
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** A recent blockhash, or the nonce of `nonceAccount`. */
  readonly blockhash: string;
  /** A nonce account of `source`, for a durable transaction. Absent: the transaction expires with its blockhash. */
  readonly nonceAccount?: string;
  /** Permits a destination off the curve, such as a program's vault. Default false. */
  readonly toVault?: boolean;
}

export type TransferDraft = Omit<TransferSpec, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

/** Size of one packet, the largest transaction that nodes accept. */
const MAX_TRANSACTION_BYTES = 1232;
/** The count of signatures and one signature. */
const SIGNATURE_BYTES = 65;
/** More signatures do not fit into a packet, because each signer also has an address in the message. */
const MAX_SIGNATURES = 12;
const MAX_MESSAGE_BYTES = MAX_TRANSACTION_BYTES - SIGNATURE_BYTES;

/**
 * The version-0 message of a transfer. Its instructions: nonce advance, compute unit limit, compute unit price,
 * creation of the token account, memo, transfer. Token-2022 requires the memo directly before the transfer. Throws
 * DomainError InvalidRequest if the transaction exceeds a packet.
 */
export function composeTransfer(spec: TransferSpec): Uint8Array {
  const message = serialized(spec);
  if (message === null) throw new DomainError('InvalidRequest', tooLarge(spec), { field: 'memo' });
  return message;
}

function serialized(spec: TransferSpec): Uint8Array | null {
  const compiled = MessageV0.compile({
    payerKey: new PublicKey(spec.source),
    instructions: instructionsOf(spec),
    recentBlockhash: spec.blockhash,
  });
  try {
    const message = compiled.serialize();
    return message.length <= MAX_MESSAGE_BYTES ? message : null;
  } catch (error) {
    // web3.js writes into a buffer of one packet, and throws a RangeError if the message is larger.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function instructionsOf(spec: TransferSpec): TransactionInstruction[] {
  return [
    ...(spec.nonceAccount === undefined ? [] : [advanceNonce(spec.nonceAccount, spec.source)]),
    ComputeBudgetProgram.setComputeUnitLimit({ units: spec.computeUnitLimit }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: spec.computeUnitPriceMicroLamports }),
    ...(spec.token === null ? [] : createAta(spec, spec.token)),
    ...(spec.memo === null ? [] : [memoInstruction(spec.memo)]),
    spec.token === null ? nativeTransfer(spec) : tokenTransfer(spec, spec.token),
  ];
}

function tooLarge(spec: TransferSpec): string {
  const tooLong = `the transaction would be larger than ${MAX_TRANSACTION_BYTES} bytes`;
  if (spec.memo === null) return tooLong;
  const maxBytes = maxMemoBytes(spec);
  if (maxBytes === null) return `${tooLong}, even without its memo`;
  return `${tooLong}: its memo has ${Buffer.byteLength(spec.memo, 'utf8')} bytes, but at most ${maxBytes} fit`;
}

function maxMemoBytes(spec: TransferSpec): number | null {
  const shortest = serialized({ ...spec, memo: 'x' });
  if (shortest === null) return null;
  const maxBytes = MAX_MESSAGE_BYTES - shortest.length + 1;
  // From 128 bytes on, the length prefix of the memo takes two bytes.
  return maxBytes < 128 ? maxBytes : Math.max(127, maxBytes - 1);
}

/**
 * Returns a transaction's base64 wire bytes (`raw`) and its first signature in base58. `signatures`: 64 bytes each, at
 * least one, in the order of the message's signers. Throws DomainError InvalidRequest for other signatures.
 */
export function assembleTransaction(
  message: Uint8Array,
  ...signatures: readonly Uint8Array[]
): { raw: string; signature: string } {
  const [first] = signatures;
  if (
    first === undefined ||
    signatures.length > MAX_SIGNATURES ||
    signatures.some(({ length }) => length !== 64)
  )
    throw new DomainError(
      'InvalidRequest',
      `a transaction needs 1 to ${MAX_SIGNATURES} signatures of 64 bytes each`,
    );
  const raw = Buffer.concat([Uint8Array.of(signatures.length), ...signatures, message]);
  return { raw: base64.encode(raw), signature: base58.encode(first) };
}

function nativeTransfer(spec: TransferSpec): TransactionInstruction {
  return SystemProgram.transfer({
    fromPubkey: new PublicKey(spec.source),
    toPubkey: new PublicKey(spec.destination),
    lamports: spec.amount,
  });
}

function createAta(spec: TransferSpec, token: TokenTransfer): TransactionInstruction[] {
  if (!token.createAta) return [];
  return [
    createAssociatedTokenAccountIdempotentInstruction(
      new PublicKey(spec.source),
      new PublicKey(deriveAta(spec.destination, token.mint, token.program, spec.toVault)),
      new PublicKey(spec.destination),
      new PublicKey(token.mint),
      new PublicKey(token.program),
      new PublicKey(ATA_PROGRAM),
    ),
  ];
}

function tokenTransfer(spec: TransferSpec, token: TokenTransfer): TransactionInstruction {
  const from = new PublicKey(deriveAta(spec.source, token.mint, token.program));
  const to = new PublicKey(deriveAta(spec.destination, token.mint, token.program, spec.toVault));
  const mint = new PublicKey(token.mint);
  const owner = new PublicKey(spec.source);
  const program = new PublicKey(token.program);
  const { amount } = spec;
  const { decimals, expectedFee } = token;
  const instruction =
    expectedFee === null
      ? createTransferCheckedInstruction(from, mint, to, owner, amount, decimals, [], program)
      : createTransferCheckedWithFeeInstruction(
          from,
          mint,
          to,
          owner,
          amount,
          decimals,
          expectedFee,
          [],
          program,
        );
  for (const { address, writable } of token.hookAccounts) {
    instruction.keys.push({ pubkey: new PublicKey(address), isSigner: false, isWritable: writable });
  }
  return instruction;
}

function memoInstruction(memo: string): TransactionInstruction {
  return new TransactionInstruction({
    programId: new PublicKey(MEMO_PROGRAM),
    keys: [],
    data: Buffer.from(memo, 'utf8'),
  });
}
