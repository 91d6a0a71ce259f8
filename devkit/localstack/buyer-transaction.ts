import {
  ComputeBudgetProgram,
  type Connection,
  type Keypair,
  PublicKey,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  getMint,
} from '../../src/shims/spl-token.ts';
import { MEMO_PROGRAM } from '../../src/solana/tx/programs.ts';

interface Transfer {
  readonly mint: string;
  readonly payTo: string;
  readonly amount: bigint;
}

/** A wallet, with the node that it asks. */
export interface BuyerWallet {
  readonly buyer: Keypair;
  readonly connection: Connection;
}

const COMPUTE_UNITS = 40_000;
const PRICE_MICRO_LAMPORTS = 1;

/** The transfer, and the instruction that creates the account which receives it. */
export async function transferOf({ mint, payTo, amount }: Transfer, { buyer, connection }: BuyerWallet) {
  const [asset, recipient, owner] = [new PublicKey(mint), new PublicKey(payTo), buyer.publicKey];
  const account = await connection.getAccountInfo(asset);
  if (account === null)
    throw new Error(`mint ${mint} does not exist on the chain of ${connection.rpcEndpoint}`);
  const program = account.owner;
  const { decimals } = await getMint(connection, asset, undefined, program);
  const source = getAssociatedTokenAddressSync(asset, owner, false, program);
  const target = getAssociatedTokenAddressSync(asset, recipient, true, program);
  return {
    instruction: createTransferCheckedInstruction(
      source,
      asset,
      target,
      owner,
      amount,
      decimals,
      [],
      program,
    ),
    createAccount: createAssociatedTokenAccountIdempotentInstruction(
      owner,
      target,
      recipient,
      asset,
      program,
    ),
  };
}

export function memoInstruction(memo: string): TransactionInstruction {
  return { programId: new PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(memo, 'utf8') };
}

/** The signed transaction in wire format. Another key than the buyer's may pay the fee, and sign later. */
export async function signTransaction(
  instructions: readonly TransactionInstruction[],
  payerKey: PublicKey,
  { buyer, connection }: BuyerWallet,
): Promise<Uint8Array> {
  const { blockhash: recentBlockhash } = await connection.getLatestBlockhash();
  const budget = [
    ComputeBudgetProgram.setComputeUnitLimit({ units: COMPUTE_UNITS }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: PRICE_MICRO_LAMPORTS }),
  ];
  const message = new TransactionMessage({
    payerKey,
    recentBlockhash,
    instructions: [...budget, ...instructions],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([buyer]);
  return transaction.serialize();
}
