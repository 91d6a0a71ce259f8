import { randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import {
  ComputeBudgetProgram,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import type { SimulatedChain } from './chain/chain.ts';
import { toBase58 } from './encoding/bytes.ts';
import { decodeTransaction } from './encoding/wire.ts';

/** A key pair of the simulated chain itself: its faucet, or a new mint. */
export interface Wallet {
  readonly address: string;
  readonly publicKey: PublicKey;
  readonly seed: Uint8Array;
}

export function newWallet(): Wallet {
  const seed = new Uint8Array(randomBytes(32));
  const address = toBase58(ed25519.getPublicKey(seed));
  return { address, publicKey: new PublicKey(address), seed };
}

/** Signs a version-0 transaction with the newest blockhash, queues it and returns its signature. The first signer pays the fee. */
export function submitSigned(
  chain: SimulatedChain,
  instructions: readonly TransactionInstruction[],
  signers: readonly [Wallet, ...Wallet[]],
): string {
  const message = new TransactionMessage({
    payerKey: signers[0].publicKey,
    recentBlockhash: chain.ledger.tip.blockhash,
    instructions: [...instructions],
  }).compileToV0Message();
  const signed = new VersionedTransaction(message);
  const bytes = message.serialize();
  for (const { publicKey, seed } of signers) signed.addSignature(publicKey, ed25519.sign(bytes, seed));
  const transaction = decodeTransaction(signed.serialize());
  chain.submit(transaction);
  return transaction.signature;
}

const MIN_UNIT_LIMIT = 1000;
let airdropCount = 0;

/** Queues a transfer from the faucet. The compute unit limit differs each time, so that equal airdrops get different signatures. */
export function airdrop(chain: SimulatedChain, faucet: Wallet, address: string, lamports: bigint): string {
  airdropCount += 1;
  const units = MIN_UNIT_LIMIT + (airdropCount % 100_000);
  const limit = ComputeBudgetProgram.setComputeUnitLimit({ units });
  const transfer = SystemProgram.transfer({
    fromPubkey: faucet.publicKey,
    toPubkey: new PublicKey(address),
    lamports,
  });
  return submitSigned(chain, [limit, transfer], [faucet]);
}
