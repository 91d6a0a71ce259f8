import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { Connection, Keypair, PublicKey, VersionedTransaction } from '@solana/web3.js';
import { type BuyerWallet, memoInstruction, signTransaction, transferOf } from './buyer-transaction.ts';

/** Payment formats: x402 version 2 and 1, and the exchange interface's payment that the gateway or the buyer sends. */
export const FORMS = ['v2', 'v1', 'example', 'submitted'] as const;
export type PaymentForm = (typeof FORMS)[number];

/** x402 payment requirements. The amount is in `amount` in version 2, in `maxAmountRequired` in version 1. */
interface PaymentRequirements {
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount?: string;
  readonly maxAmountRequired?: string;
  readonly extra: { readonly feePayer: string; readonly memo?: string };
}

/** The field `payment` of a 402 answer. Source: docs/interface.md, Payment protocol resources: Quote. */
interface Quote {
  readonly recipientWallet: string;
  readonly mint: string;
  readonly amount: number;
  readonly cluster: string;
  readonly quoteToken: string;
}

export interface SellerTerms {
  readonly v2: { readonly resource: unknown; readonly accepts: readonly PaymentRequirements[] };
  readonly v1: readonly PaymentRequirements[];
  readonly quotes: readonly Quote[];
}

export type PaymentHeaders = Readonly<Record<string, string>>;

const CONFIRMATION_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

/** Requests the payment terms of a URL. Throws if the answer is not a 402 with x402 terms. */
export async function fetchTerms(url: string, signal?: AbortSignal): Promise<SellerTerms> {
  return readTerms(await fetch(url, signal === undefined ? {} : { signal }));
}

/** The payment terms in a 402 answer. Throws if the answer is not a 402 with x402 terms. */
export async function readTerms(response: Response): Promise<SellerTerms> {
  const { url, status, headers } = response;
  if (status !== 402) throw new Error(`${url} answered ${status}; expected 402`);
  const header = headers.get('payment-required');
  if (header === null) throw new Error(`the 402 answer of ${url} has no header PAYMENT-REQUIRED`);
  const body = (await response.json()) as {
    readonly accepts: PaymentRequirements[];
    readonly payment: Quote;
    /** Only where several assets are offered. */
    readonly payments?: readonly Quote[];
  };
  const { accepts, payment, payments = [payment] } = body;
  return { v2: fromHeader(header) as SellerTerms['v2'], v1: accepts, quotes: payments };
}

/** Mints in which the seller can be paid, in the seller's order. */
export function offeredAssets({ v2 }: SellerTerms): readonly string[] {
  return [...new Set(v2.accepts.map(({ asset }) => asset))];
}

/** The terms for one of the offered assets. */
export function termsFor({ v2, v1, quotes }: SellerTerms, asset: string): SellerTerms {
  return {
    v2: { ...v2, accepts: v2.accepts.filter((one) => one.asset === asset) },
    v1: v1.filter((one) => one.asset === asset),
    quotes: quotes.filter(({ mint }) => mint === asset),
  };
}

/** A signed payment, before anything is sent. */
export interface SignedPayment {
  /** Headers that present it. */
  readonly headers: PaymentHeaders;
  /** The transaction in wire format. */
  readonly transaction: Uint8Array;
}

/** Signs a payment and, with `submitted`, sends it. Returns the headers that present it. */
export async function pay(
  form: PaymentForm,
  terms: SellerTerms,
  key: Uint8Array,
  rpcUrl: string,
): Promise<PaymentHeaders> {
  const { headers, transaction } = await signPayment(form, terms, key, rpcUrl);
  if (form === 'submitted') await submit(transaction, rpcUrl);
  return headers;
}

/** Signs a payment for these terms. Sends nothing. `key` has the 64 bytes of a solana-keygen file. */
export async function signPayment(
  form: PaymentForm,
  terms: SellerTerms,
  key: Uint8Array,
  rpcUrl: string,
): Promise<SignedPayment> {
  const wallet = { buyer: Keypair.fromSecretKey(key), connection: connectionTo(rpcUrl) };
  switch (form) {
    case 'v2':
      return payVersion2(terms, wallet);
    case 'v1':
      return payVersion1(terms, wallet);
    case 'example': {
      const quote = firstOf(terms.quotes);
      const transaction = await signQuotePayment(quote, wallet, randomUUID());
      const headers = quoteHeaders(quote, { serializedTransaction: base64(transaction) });
      return { headers, transaction };
    }
    case 'submitted':
      return signSubmitted(firstOf(terms.quotes), wallet);
  }
}

/** Sends a transaction unless the node knows it already, and waits until it is confirmed. */
export async function submit(transaction: Uint8Array, rpcUrl: string): Promise<void> {
  const connection = connectionTo(rpcUrl);
  const signature = transactionSignature(transaction);
  const { value } = await connection.getSignatureStatuses([signature], { searchTransactionHistory: true });
  if (value[0] === null) await connection.sendRawTransaction(transaction);
  await waitUntilConfirmed(connection, signature);
}

function transactionSignature(transaction: Uint8Array): string {
  const [signature] = VersionedTransaction.deserialize(transaction).signatures;
  if (signature === undefined) throw new Error('the transaction has no signature');
  return base58.encode(signature);
}

function connectionTo(rpcUrl: string): Connection {
  return new Connection(rpcUrl, { commitment: 'confirmed', disableRetryOnRateLimit: true });
}

export function presentPayment(
  url: string,
  headers: PaymentHeaders,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, { headers, ...(signal === undefined ? {} : { signal }) });
}

/** The payment's transaction signature (base58) in the seller's answer; null if the answer has none. */
export function paymentSignature({ headers }: Response): string | null {
  const header = headers.get('payment-response') ?? headers.get('x-payment-response');
  const { transaction = '' } = header === null ? {} : (fromHeader(header) as { transaction?: string });
  return transaction === '' ? null : transaction;
}

/** The access pass in the seller's answer; null if the answer has none. */
export function accessPass({ headers }: Response): string | null {
  return headers.get('sluice-access-pass');
}

async function payVersion2({ v2 }: SellerTerms, wallet: BuyerWallet): Promise<SignedPayment> {
  const accepted = firstOf(v2.accepts);
  const transaction = await signExactPayment(accepted, wallet);
  const extensions = { 'payment-identifier': { info: { required: false, id: `buyer-${randomUUID()}` } } };
  const { resource } = v2;
  const payload = { transaction: base64(transaction) };
  const payment = { x402Version: 2, resource, accepted, payload, extensions };
  return { headers: { 'payment-signature': toHeader(payment) }, transaction };
}

async function payVersion1({ v1 }: SellerTerms, wallet: BuyerWallet): Promise<SignedPayment> {
  const accepted = firstOf(v1);
  const transaction = await signExactPayment(accepted, wallet);
  const { network } = accepted;
  const payload = { transaction: base64(transaction) };
  const headers = { 'x-payment': toHeader({ x402Version: 1, scheme: 'exact', network, payload }) };
  return { headers, transaction };
}

/** Scheme `exact`: the transaction still needs the signature of the seller's fee payer. Source: scheme_exact_svm. */
async function signExactPayment(requirements: PaymentRequirements, wallet: BuyerWallet): Promise<Uint8Array> {
  const { asset: mint, payTo, amount, maxAmountRequired, extra } = requirements;
  const transferTerms = { mint, payTo, amount: BigInt(amount ?? maxAmountRequired ?? 0) };
  const transfer = await transferOf(transferTerms, wallet);
  const memo = memoInstruction(extra.memo ?? randomUUID());
  return signTransaction([transfer.instruction, memo], new PublicKey(extra.feePayer), wallet);
}

/** The buyer pays the fee, and the rent of the seller's token account if that account does not exist. */
async function signQuotePayment(quote: Quote, wallet: BuyerWallet, memo: string): Promise<Uint8Array> {
  const { mint, recipientWallet: payTo, amount } = quote;
  const transfer = await transferOf({ mint, payTo, amount: BigInt(amount) }, wallet);
  const instructions = [transfer.createAccount, transfer.instruction, memoInstruction(memo)];
  return signTransaction(instructions, wallet.buyer.publicKey, wallet);
}

async function signSubmitted(quote: Quote, wallet: BuyerWallet): Promise<SignedPayment> {
  const { quoteToken } = quote;
  // The gateway accepts a sent transfer only if its memo has the hash of the quote.
  const memo = `x402:${createHash('sha256').update(quoteToken).digest('base64url')}`;
  const transaction = await signQuotePayment(quote, wallet, memo);
  const signature = transactionSignature(transaction);
  return { headers: quoteHeaders(quote, { signature, quoteToken }), transaction };
}

function quoteHeaders({ cluster }: Quote, payload: object): PaymentHeaders {
  const network = cluster === 'devnet' ? 'chain-devnet' : 'chain-mainnet';
  return { 'x-payment': toHeader({ x402Version: 1, scheme: 'exact', network, payload }) };
}

async function waitUntilConfirmed(connection: Connection, signature: string): Promise<void> {
  const end = Date.now() + CONFIRMATION_TIMEOUT_MS;
  while (Date.now() < end) {
    const { value } = await connection.getSignatureStatuses([signature]);
    const [status] = value;
    if (status?.err) throw new Error(`transaction ${signature} failed: ${JSON.stringify(status.err)}`);
    if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') return;
    await sleep(POLL_MS);
  }
  throw new Error(`transaction ${signature} was not confirmed within ${CONFIRMATION_TIMEOUT_MS} ms`);
}

function firstOf<T>(offered: readonly T[]): T {
  const [first] = offered;
  if (first === undefined) throw new Error('the 402 answer has no payment requirements');
  return first;
}

function toHeader(value: object): string {
  return base64(Buffer.from(JSON.stringify(value), 'utf8'));
}

function fromHeader(header: string): unknown {
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
