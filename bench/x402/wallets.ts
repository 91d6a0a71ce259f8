import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import type { LocalChain } from '../../devkit/localstack/chain.ts';
import type { Token } from '../../devkit/localstack/payer.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import {
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '../../src/shims/spl-token.ts';
import { MEMO_PROGRAM } from '../../src/solana/tx/programs.ts';

/** A request and the header that pays for it. It is paid once. */
export interface PaidRequest {
  readonly url: string;
  readonly header: string;
}

interface PayableRequirements {
  readonly asset: string;
  readonly payTo: string;
  readonly amount: string;
  readonly extra: { readonly feePayer: string };
}

const DECIMALS = 6;
const BUYER_UNITS = 1_000_000_000n;
const COMPUTE_UNITS = 40_000;
const POLL_MS = 200;

/** Buyers with tokens; they have no SOL, because the seller's fee payer pays the fees. */
export async function fundBuyers(
  chain: LocalChain,
  token: Token,
  count: number,
): Promise<readonly Keypair[]> {
  const buyers = Array.from({ length: count }, () => Keypair.generate());
  await Promise.all(buyers.map(({ publicKey }) => chain.mintTo(token, publicKey.toBase58(), BUYER_UNITS)));
  const url = chain.info.rpcUrls[0] ?? '';
  for (const { publicKey } of buyers)
    while ((await balance(url, token, publicKey.toBase58(), 'confirmed')) === 0n) await sleep(POLL_MS);
  return buyers;
}

/** Balance of a wallet's token account in base units; 0 if the account does not exist. */
export async function balance(
  url: string,
  { mint }: Token,
  owner: string,
  commitment: 'confirmed' | 'finalized',
): Promise<bigint> {
  const account = getAssociatedTokenAddressSync(new PublicKey(mint), new PublicKey(owner), true);
  const params = [account.toBase58(), { commitment }];
  const answer = await rpc<{ readonly value: { readonly amount: string } }>(
    url,
    'getTokenAccountBalance',
    params,
  ).catch(() => null);
  return BigInt(answer?.value.amount ?? 0);
}

/** Signs a payment for each request of a round with a fresh blockhash. Each URL has a query of its own, and each payment a memo. */
export async function signPayments(
  sellerUrl: string,
  nodeUrl: string,
  buyers: readonly Keypair[],
  count: number,
): Promise<readonly PaidRequest[]> {
  const { resource, accepts } = await termsOf(sellerUrl);
  const [accepted] = accepts;
  if (accepted === undefined) throw new Error(`${sellerUrl} accepts no payment`);
  type Latest = { readonly value: { readonly blockhash: string } };
  const { value } = await rpc<Latest>(nodeUrl, 'getLatestBlockhash', [{ commitment: 'confirmed' }]);
  return Array.from({ length: count }, (_, index) => {
    const buyer = buyers[index % buyers.length];
    if (buyer === undefined) throw new Error('there are no buyers');
    const url = `${sellerUrl}?n=${randomUUID()}`;
    const transaction = Buffer.from(signTransfer(buyer, accepted, value.blockhash)).toString('base64');
    const payment = { x402Version: 2, resource: { ...resource, url }, accepted, payload: { transaction } };
    return { url, header: Buffer.from(JSON.stringify(payment)).toString('base64') };
  });
}

async function termsOf(
  url: string,
): Promise<{ readonly resource: object; readonly accepts: readonly PayableRequirements[] }> {
  const response = await fetch(url);
  await response.arrayBuffer();
  const header = response.headers.get('payment-required');
  if (header === null) throw new Error(`${url} answers ${response.status} without PAYMENT-REQUIRED`);
  return JSON.parse(Buffer.from(header, 'base64').toString());
}

function signTransfer(
  buyer: Keypair,
  { asset, payTo, amount, extra }: PayableRequirements,
  blockhash: string,
) {
  const mint = new PublicKey(asset);
  const from = getAssociatedTokenAddressSync(mint, buyer.publicKey);
  const to = getAssociatedTokenAddressSync(mint, new PublicKey(payTo), true);
  const message = new TransactionMessage({
    payerKey: new PublicKey(extra.feePayer),
    recentBlockhash: blockhash,
    instructions: [
      ComputeBudgetProgram.setComputeUnitLimit({ units: COMPUTE_UNITS }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
      createTransferCheckedInstruction(from, mint, to, buyer.publicKey, BigInt(amount), DECIMALS),
      { programId: new PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(randomUUID()) },
    ],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([buyer]);
  return transaction.serialize();
}
