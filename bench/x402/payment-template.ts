import { randomUUID, sign } from 'node:crypto';
import { base58 } from '@scure/base';
import {
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import {
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '../../src/shims/spl-token.ts';
import { privateKeyOf } from '../../src/signing/ed25519.ts';
import { MEMO_PROGRAM } from '../../src/solana/tx/programs.ts';

/** The terms of a seller, in version 2 of the protocol. */
export interface BenchRequirements {
  readonly asset: string;
  readonly payTo: string;
  readonly amount: string;
  readonly extra: { readonly feePayer: string };
}

const DECIMALS = 6;
const COMPUTE_UNITS = 40_000;
const SEED_BYTES = 32;
/** In a transaction with two signers, the fee payer and the buyer: their number, and two signatures before the message. */
const BUYER_SIGNATURE = 1 + 64;
const MESSAGE = 1 + 2 * 64;

/**
 * Returns a function that signs a payment of `buyer` with the given blockhash and a memo of its own. Payments are signed while the
 * sellers are measured, so the transaction is composed once: each payment writes only its blockhash, memo and signature (about 0.1 ms).
 */
export function paymentTemplate(buyer: Keypair, accepted: BenchRequirements): (blockhash: string) => Buffer {
  const [placeholder, memo] = [Keypair.generate().publicKey.toBase58(), randomUUID()];
  const template = composed(buyer.publicKey, accepted, placeholder, memo);
  const blockhashAt = template.indexOf(base58.decode(placeholder));
  const memoAt = template.indexOf(memo);
  const key = privateKeyOf(buyer.secretKey.subarray(0, SEED_BYTES), buyer.publicKey.toBytes());
  return (blockhash) => {
    const bytes = Buffer.from(template);
    bytes.set(base58.decode(blockhash), blockhashAt);
    bytes.write(randomUUID(), memoAt);
    bytes.set(sign(null, bytes.subarray(MESSAGE), key), BUYER_SIGNATURE);
    return bytes;
  };
}

function composed(
  buyer: PublicKey,
  { asset, payTo, amount, extra }: BenchRequirements,
  blockhash: string,
  memo: string,
): Buffer {
  const mint = new PublicKey(asset);
  const from = getAssociatedTokenAddressSync(mint, buyer);
  const to = getAssociatedTokenAddressSync(mint, new PublicKey(payTo), true);
  const message = new TransactionMessage({
    payerKey: new PublicKey(extra.feePayer),
    recentBlockhash: blockhash,
    instructions: [
      ComputeBudgetProgram.setComputeUnitLimit({ units: COMPUTE_UNITS }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
      createTransferCheckedInstruction(from, mint, to, buyer, BigInt(amount), DECIMALS),
      { programId: new PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(memo) },
    ],
  }).compileToV0Message();
  if (message.header.numRequiredSignatures !== 2 || !message.staticAccountKeys[1]?.equals(buyer))
    throw new Error('a payment must be signed by the fee payer and the buyer');
  return Buffer.from(new VersionedTransaction(message).serialize());
}
