import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createAssociatedTokenAccountInstruction,
  createTransferInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import {
  Connection,
  Keypair,
  PublicKey,
  Transaction,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import type { Buyer } from './buyers.ts';

/** `payment` of a 402. Source: docs/interface.md, Payment protocol resources: Quote. */
export interface ExampleQuote {
  readonly recipientWallet: string;
  readonly tokenAccount: string;
  readonly mint: string;
  /** Base units. */
  readonly amount: number;
  readonly cluster: string;
  /** Needed by a buyer that submits its transaction itself. */
  readonly quoteToken?: string;
}

/** The content of X-PAYMENT. */
export type ExamplePayload =
  | { readonly serializedTransaction: string }
  | { readonly signature: string; readonly quoteToken: string };

export interface ExamplePurchase {
  readonly response: Response;
  readonly quote: ExampleQuote;
  /** The payload of X-PAYMENT; {@link showPayment} can send it again. */
  readonly payload: ExamplePayload;
}

export interface ExampleOptions {
  /** Format of the transaction. Default: legacy. */
  readonly version?: 'legacy' | 0;
}

const MEMO_PROGRAM = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const CONFIRMATION_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

/** Buys as the interface's example does: the buyer signs the transfer, and the seller submits it. Source: docs/interface.md, Payment-protected endpoint: Client rules. */
export async function buyAsExample(
  url: string,
  buyer: Buyer,
  options: ExampleOptions = {},
): Promise<ExamplePurchase> {
  const quote = await fetchQuote(url, buyer);
  const transaction = await signTransfer(quote, buyer, options);
  const payload = { serializedTransaction: Buffer.from(transaction).toString('base64') };
  return { response: await showPayment(url, buyer, quote, payload), quote, payload };
}

/** Buys by the interface's alternative: the buyer submits the transfer with a memo, and sends its signature once it is confirmed. */
export async function buyAsSubmitter(
  url: string,
  buyer: Buyer,
  options: ExampleOptions = {},
): Promise<ExamplePurchase> {
  const quote = await fetchQuote(url, buyer);
  const payload = await submitTransfer(quote, buyer, options);
  return { response: await showPayment(url, buyer, quote, payload), quote, payload };
}

/** @throws Error if the seller does not answer 402 with a quote */
export async function fetchQuote(url: string, { fetch = globalThis.fetch }: Buyer): Promise<ExampleQuote> {
  const response = await fetch(url);
  if (response.status !== 402) throw new Error(`${url} answers ${response.status}; expected 402`);
  const { payment } = (await response.json()) as { payment?: ExampleQuote };
  if (payment === undefined) throw new Error(`the 402 of ${url} has no payment`);
  return payment;
}

/** The wire bytes of a transfer of the quoted amount that the buyer has signed and pays for; not submitted. */
export async function signTransfer(
  quote: ExampleQuote,
  buyer: Buyer,
  { version = 'legacy', memo }: ExampleOptions & { readonly memo?: string } = {},
): Promise<Uint8Array> {
  const connection = connectionOf(buyer);
  const payer = Keypair.fromSecretKey(buyer.secretKey);
  const instructions = await transferInstructions(quote, payer.publicKey, connection);
  if (memo !== undefined) instructions.push(memoInstruction(memo));
  const { blockhash } = await connection.getLatestBlockhash('confirmed');
  if (version === 'legacy') {
    const transaction = new Transaction({ feePayer: payer.publicKey, recentBlockhash: blockhash });
    transaction.add(...instructions).sign(payer);
    return transaction.serialize();
  }
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer]);
  return transaction.serialize();
}

/** Submits a transfer with the memo of the quote, and waits until it is confirmed. @throws Error if it fails or is not confirmed in time */
export async function submitTransfer(
  quote: ExampleQuote,
  buyer: Buyer,
  options: ExampleOptions = {},
): Promise<{ readonly signature: string; readonly quoteToken: string }> {
  const { quoteToken } = quote;
  if (quoteToken === undefined) throw new Error('the quote has no quoteToken');
  const transaction = await signTransfer(quote, buyer, { ...options, memo: memoOf(quoteToken) });
  const connection = connectionOf(buyer);
  const signature = await connection.sendRawTransaction(transaction, { preflightCommitment: 'confirmed' });
  await confirmed(connection, signature);
  return { signature, quoteToken };
}

/** The memo that ties a submitted transfer to its quote. */
export function memoOf(quoteToken: string): string {
  return `x402:${createHash('sha256').update(quoteToken).digest('base64url')}`;
}

/** Requests the URL with a payment. A repeat may send the same payload. */
export function showPayment(
  url: string,
  { fetch = globalThis.fetch }: Buyer,
  { cluster }: ExampleQuote,
  payload: ExamplePayload,
): Promise<Response> {
  const network = cluster === 'devnet' ? 'chain-devnet' : 'chain-mainnet';
  const proof = { x402Version: 1, scheme: 'exact', network, payload };
  const header = Buffer.from(JSON.stringify(proof)).toString('base64');
  return fetch(url, { headers: { 'x-payment': header } });
}

async function transferInstructions(
  quote: ExampleQuote,
  payer: PublicKey,
  connection: Connection,
): Promise<TransactionInstruction[]> {
  const mint = new PublicKey(quote.mint);
  const recipient = new PublicKey(quote.tokenAccount);
  const source = getAssociatedTokenAddressSync(mint, payer);
  const { value: balance } = await connection.getTokenAccountBalance(source, 'confirmed');
  if (BigInt(balance.amount) < BigInt(quote.amount))
    throw new Error(`the buyer has ${balance.amount} base units; the price is ${quote.amount}`);
  const transfer = createTransferInstruction(source, recipient, payer, BigInt(quote.amount));
  if ((await connection.getAccountInfo(recipient, 'confirmed')) !== null) return [transfer];
  const wallet = new PublicKey(quote.recipientWallet);
  return [createAssociatedTokenAccountInstruction(payer, recipient, wallet, mint), transfer];
}

function memoInstruction(memo: string): TransactionInstruction {
  return new TransactionInstruction({ programId: MEMO_PROGRAM, keys: [], data: Buffer.from(memo) });
}

async function confirmed(connection: Connection, signature: string): Promise<void> {
  const deadline = Date.now() + CONFIRMATION_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const { value } = await connection.getSignatureStatuses([signature]);
    const status = value[0] ?? null;
    if (status !== null && status.err !== null)
      throw new Error(`transaction ${signature} failed: ${JSON.stringify(status.err)}`);
    if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') return;
    await sleep(POLL_MS);
  }
  throw new Error(`transaction ${signature} is not confirmed after ${CONFIRMATION_TIMEOUT_MS} ms`);
}

function connectionOf({ rpcUrl }: Buyer): Connection {
  return new Connection(rpcUrl, { commitment: 'confirmed', disableRetryOnRateLimit: true });
}
