import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ComputeBudgetProgram,
  Connection,
  Keypair,
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

/** How a buyer shows a payment: x402 version 2 or 1, or one of the two forms of the interface. */
export const FORMS = ['v2', 'v1', 'example', 'submitted'] as const;
export type PaymentForm = (typeof FORMS)[number];

/** Payment requirements of x402; version 1 names the amount in `maxAmountRequired`. */
interface PaymentRequirements {
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount?: string;
  readonly maxAmountRequired?: string;
  readonly extra: { readonly feePayer: string; readonly memo?: string };
}

/** `payment` of a 402. Source: docs/interface.md, Payment protocol resources: Quote. */
interface Quote {
  readonly recipientWallet: string;
  readonly mint: string;
  readonly amount: number;
  readonly cluster: string;
  readonly quoteToken: string;
}

export interface AskedTerms {
  readonly v2: { readonly resource: unknown; readonly accepts: readonly PaymentRequirements[] };
  readonly v1: readonly PaymentRequirements[];
  readonly quote: Quote;
}

export type PaymentHeaders = Readonly<Record<string, string>>;

interface Transfer {
  readonly mint: string;
  readonly payTo: string;
  readonly amount: bigint;
}

interface BuyerWallet {
  readonly buyer: Keypair;
  readonly connection: Connection;
}

const COMPUTE_UNITS = 40_000;
const PRICE_MICRO_LAMPORTS = 1;
const CONFIRMATION_MS = 30_000;
const LOOK_MS = 100;

/** @throws Error if the URL does not answer 402 with terms of x402 */
export async function askTerms(url: string, signal?: AbortSignal): Promise<AskedTerms> {
  const response = await fetch(url, signal === undefined ? {} : { signal });
  if (response.status !== 402) throw new Error(`${url} answers ${response.status}; expected 402`);
  const header = response.headers.get('payment-required');
  if (header === null) throw new Error(`the 402 of ${url} has no header PAYMENT-REQUIRED`);
  const { accepts, payment } = (await response.json()) as { accepts: PaymentRequirements[]; payment: Quote };
  return { v2: fromHeader(header) as AskedTerms['v2'], v1: accepts, quote: payment };
}

/**
 * Signs a payment of these terms; the form `submitted` also sends it and waits until it is confirmed.
 *
 * @param key the 64 bytes of a solana-keygen file
 */
export async function pay(
  form: PaymentForm,
  terms: AskedTerms,
  key: Uint8Array,
  rpcUrl: string,
): Promise<PaymentHeaders> {
  const connection = new Connection(rpcUrl, { commitment: 'confirmed', disableRetryOnRateLimit: true });
  const wallet = { buyer: Keypair.fromSecretKey(key), connection };
  switch (form) {
    case 'v2':
      return payVersion2(terms, wallet);
    case 'v1':
      return payVersion1(terms, wallet);
    case 'example': {
      const serializedTransaction = base64(await buyersTransaction(terms.quote, wallet, randomUUID()));
      return shownAsExample(terms.quote, { serializedTransaction });
    }
    case 'submitted':
      return submit(terms.quote, wallet);
  }
}

export function show(url: string, headers: PaymentHeaders, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { headers, ...(signal === undefined ? {} : { signal }) });
}

/** The signature of the payment by the seller's answer, base58; null where the answer names none. */
export function signatureIn({ headers }: Response): string | null {
  const header = headers.get('payment-response') ?? headers.get('x-payment-response');
  const { transaction = '' } = header === null ? {} : (fromHeader(header) as { transaction?: string });
  return transaction === '' ? null : transaction;
}

async function payVersion2({ v2 }: AskedTerms, wallet: BuyerWallet): Promise<PaymentHeaders> {
  const accepted = firstOf(v2.accepts);
  const transaction = base64(await exactTransaction(accepted, wallet));
  const extensions = { 'payment-identifier': { info: { required: false, id: `buyer-${randomUUID()}` } } };
  const { resource } = v2;
  const payment = { x402Version: 2, resource, accepted, payload: { transaction }, extensions };
  return { 'payment-signature': toHeader(payment) };
}

async function payVersion1({ v1 }: AskedTerms, wallet: BuyerWallet): Promise<PaymentHeaders> {
  const accepted = firstOf(v1);
  const transaction = base64(await exactTransaction(accepted, wallet));
  const { network } = accepted;
  return { 'x-payment': toHeader({ x402Version: 1, scheme: 'exact', network, payload: { transaction } }) };
}

/** Scheme `exact`: the seller's fee payer signs it after the buyer. Source: scheme_exact_svm. */
async function exactTransaction(requirements: PaymentRequirements, wallet: BuyerWallet): Promise<Uint8Array> {
  const { asset: mint, payTo, amount, maxAmountRequired, extra } = requirements;
  const transferTerms = { mint, payTo, amount: BigInt(amount ?? maxAmountRequired ?? 0) };
  const transfer = await transferOf(transferTerms, wallet);
  const memo = memoInstruction(extra.memo ?? randomUUID());
  return signed([transfer.instruction, memo], new PublicKey(extra.feePayer), wallet);
}

/** The buyer pays the fee and, where the seller has none, for the token account. */
async function buyersTransaction(quote: Quote, wallet: BuyerWallet, memo: string): Promise<Uint8Array> {
  const { mint, recipientWallet: payTo, amount } = quote;
  const transfer = await transferOf({ mint, payTo, amount: BigInt(amount) }, wallet);
  const instructions = [transfer.makeAccount, transfer.instruction, memoInstruction(memo)];
  return signed(instructions, wallet.buyer.publicKey, wallet);
}

async function submit(quote: Quote, wallet: BuyerWallet): Promise<PaymentHeaders> {
  const { quoteToken } = quote;
  // The memo ties the transfer to the quote.
  const memo = `x402:${createHash('sha256').update(quoteToken).digest('base64url')}`;
  const transaction = await buyersTransaction(quote, wallet, memo);
  const signature = await wallet.connection.sendRawTransaction(transaction);
  await confirmed(wallet.connection, signature);
  return shownAsExample(quote, { signature, quoteToken });
}

function shownAsExample({ cluster }: Quote, payload: object): PaymentHeaders {
  const network = cluster === 'devnet' ? 'chain-devnet' : 'chain-mainnet';
  return { 'x-payment': toHeader({ x402Version: 1, scheme: 'exact', network, payload }) };
}

async function transferOf({ mint, payTo, amount }: Transfer, { buyer, connection }: BuyerWallet) {
  const [asset, recipient, owner] = [new PublicKey(mint), new PublicKey(payTo), buyer.publicKey];
  const account = await connection.getAccountInfo(asset);
  if (account === null) throw new Error(`${connection.rpcEndpoint} has no mint ${mint}`);
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
    makeAccount: createAssociatedTokenAccountIdempotentInstruction(owner, target, recipient, asset, program),
  };
}

function memoInstruction(memo: string): TransactionInstruction {
  return { programId: new PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(memo, 'utf8') };
}

async function signed(
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

async function confirmed(connection: Connection, signature: string): Promise<void> {
  const end = Date.now() + CONFIRMATION_MS;
  while (Date.now() < end) {
    const { value } = await connection.getSignatureStatuses([signature]);
    const [status] = value;
    if (status?.err) throw new Error(`transaction ${signature} failed: ${JSON.stringify(status.err)}`);
    if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') return;
    await sleep(LOOK_MS);
  }
  throw new Error(`transaction ${signature} is not confirmed after ${CONFIRMATION_MS} ms`);
}

function firstOf(accepts: readonly PaymentRequirements[]): PaymentRequirements {
  const [first] = accepts;
  if (first === undefined) throw new Error('the 402 accepts no payment');
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
