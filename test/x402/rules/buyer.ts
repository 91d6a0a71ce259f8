import {
  ComputeBudgetProgram,
  Keypair,
  MessageV0,
  PublicKey,
  Transaction,
  TransactionInstruction,
  VersionedTransaction,
} from '@solana/web3.js';
import { expect } from 'vitest';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { type Checked, type Limits, NETWORKS, type Terms } from '../../../src/x402/terms.ts';

const keypair = (seed: number): Keypair => Keypair.fromSeed(new Uint8Array(32).fill(seed));
const address = (key: Keypair): string => key.publicKey.toBase58();

export const buyerKey = keypair(1);
export const feePayerKeyName = keypair(2);
export const retiredKey = keypair(3);
export const strangerKey = keypair(4);
export const BUYER = address(buyerKey);
export const FEE_PAYER = address(feePayerKeyName);
export const RETIRED = address(retiredKey);
export const STRANGER = address(strangerKey);
export const SELLER = address(keypair(5));
export const MINT = address(keypair(6));
export const BLOCKHASH = address(keypair(7));
export const OTHER_PROGRAM = address(keypair(8));
export const PRICE = 2_500n;

export const SOURCE = deriveAta(BUYER, MINT, TOKEN_PROGRAM);
export const DESTINATION = deriveAta(SELLER, MINT, TOKEN_PROGRAM);
export const TERMS: Terms = {
  network: NETWORKS.devnet,
  asset: MINT,
  tokenProgram: TOKEN_PROGRAM,
  decimals: 6,
  amount: PRICE,
  payTo: SELLER,
  tokenAccount: DESTINATION,
  feePayer: FEE_PAYER,
  maxTimeoutSeconds: 60,
  memo: null,
};
export const LIMITS: Limits = {
  maxComputeUnits: 60_000,
  maxFeeLamports: 15_000n,
  maxPriceMicroLamports: 5_000_000n,
  assetLamports: new Map(),
  maxFeePercent: 100n,
  maxSigners: 2,
};
export const BOUNDS = { managed: [FEE_PAYER, RETIRED], limits: LIMITS };

/** An account of an instruction: `s` signs, `w` is writable. */
export type Key = readonly [address: string, flags?: '' | 's' | 'w' | 'sw'];

export function instruction(program: string, keys: readonly Key[], data: Uint8Array): TransactionInstruction {
  return new TransactionInstruction({
    programId: new PublicKey(program),
    keys: keys.map(([at, flags = '']) => ({
      pubkey: new PublicKey(at),
      isSigner: flags.includes('s'),
      isWritable: flags.includes('w'),
    })),
    data: Buffer.from(data),
  });
}

export const units = (limit = 20_000): TransactionInstruction =>
  ComputeBudgetProgram.setComputeUnitLimit({ units: limit });
export const price = (microLamports: bigint | number = 1): TransactionInstruction =>
  ComputeBudgetProgram.setComputeUnitPrice({ microLamports });

export interface TransferParts {
  readonly program?: string;
  readonly keys?: readonly Key[];
  readonly amount?: bigint;
  readonly decimals?: number;
  readonly trailing?: readonly number[];
}

export const CHECKED_KEYS: readonly Key[] = [[SOURCE, 'w'], [MINT], [DESTINATION, 'w'], [BUYER, 's']];

export function transferChecked(parts: TransferParts = {}): TransactionInstruction {
  const { program = TOKEN_PROGRAM, keys = CHECKED_KEYS, amount = PRICE, decimals = 6, trailing = [] } = parts;
  return instruction(program, keys, Buffer.from([12, ...u64(amount), decimals, ...trailing]));
}

export function plainTransfer(parts: TransferParts = {}): TransactionInstruction {
  const keys = parts.keys ?? CHECKED_KEYS.filter(([at]) => at !== MINT);
  const { program = TOKEN_PROGRAM, amount = PRICE, trailing = [] } = parts;
  return instruction(program, keys, Buffer.from([3, ...u64(amount), ...trailing]));
}

export function memo(text = 'a nonce', keys: readonly Key[] = []): TransactionInstruction {
  return instruction(MEMO_PROGRAM, keys, Buffer.from(text, 'utf8'));
}

export function u64(value: bigint): readonly number[] {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return [...bytes];
}

export interface WireParts {
  readonly instructions?: readonly TransactionInstruction[];
  readonly payer?: string;
  readonly signers?: readonly Keypair[];
}

/** A transaction like that of the official client: two limits, the transfer, a memo; signed by the buyer alone. */
export function wireOf(parts: WireParts = {}): Uint8Array {
  const { payer = FEE_PAYER, signers = [buyerKey] } = parts;
  const instructions = [...(parts.instructions ?? [units(), price(), transferChecked(), memo()])];
  const compiled = { payerKey: new PublicKey(payer), recentBlockhash: BLOCKHASH, instructions };
  const transaction = new VersionedTransaction(MessageV0.compile(compiled));
  transaction.sign([...signers]);
  return transaction.serialize();
}

export function legacyWire(instructions: readonly TransactionInstruction[]): Uint8Array {
  const transaction = new Transaction({ feePayer: new PublicKey(FEE_PAYER), recentBlockhash: BLOCKHASH });
  transaction.add(...instructions);
  transaction.partialSign(buyerKey);
  return transaction.serialize({ requireAllSignatures: false });
}

/** The payment. Fails the test if the rules refuse it. */
export function paid(checked: Checked) {
  if (!checked.ok) expect.fail(`${checked.reason}: ${checked.message}`);
  return checked.payment;
}

/** The refusal without its message. */
export function refusal(checked: Checked): { readonly reason: string; readonly payer: string | null } {
  if (checked.ok) expect.fail('the rules accept it');
  const { reason, payer } = checked;
  return { reason, payer };
}
