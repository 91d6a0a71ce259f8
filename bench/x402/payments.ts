import { randomUUID } from 'node:crypto';
import type { Keypair } from '@solana/web3.js';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { PRICED } from '../../test/peers/peer-server.ts';
import { type BenchRequirements, paymentTemplate } from './payment-template.ts';

/** A request and the header that pays for it. It is paid once. */
export interface SignedRequest {
  readonly url: string;
  readonly header: string;
}

/** The answer to a paid request: `served`, `settlement_pending`, or the status and text of another answer. */
export type PurchaseOutcome = string;

export const SERVED: PurchaseOutcome = 'served';
export const PENDING: PurchaseOutcome = 'settlement_pending';

const BLOCKHASH_MS = 5_000;
const ANSWER_CHARACTERS = 300;

/** Where the requests of a turn go. `targets`: each to a target of its own, or all to one. */
export interface Purchasing {
  readonly sellerUrl: string;
  /** The node from which the buyers read blockhashes; not a proxy of a seller. */
  readonly nodeUrl: string;
  readonly buyers: readonly Keypair[];
  readonly targets: 'many' | 'one';
}

/** Asks the seller for its terms. Returns a function that signs the next payment, by the buyers in turn, with a blockhash of the last five seconds. */
export async function startPaying(
  purchasing: Purchasing,
): Promise<(index: number) => Promise<SignedRequest>> {
  const { sellerUrl, nodeUrl, buyers, targets } = purchasing;
  const { resource, accepts } = await termsOf(sellerUrl);
  const [accepted] = accepts;
  if (accepted === undefined) throw new Error(`${sellerUrl} accepts no payment`);
  const templates = buyers.map((buyer) => paymentTemplate(buyer, accepted));
  const blockhash = refreshed(() => latestBlockhash(nodeUrl), BLOCKHASH_MS);
  return async (index) => {
    const signed = templates[index % templates.length]?.(await blockhash());
    if (signed === undefined) throw new Error('there are no buyers');
    const url = targets === 'one' ? sellerUrl : `${sellerUrl}?n=${randomUUID()}`;
    const payload = { transaction: signed.toString('base64') };
    const payment = { x402Version: 2, resource: { ...resource, url }, accepted, payload };
    return { url, header: Buffer.from(JSON.stringify(payment)).toString('base64') };
  };
}

/** Sends a paid request and reads the answer. */
export async function present({ url, header }: SignedRequest): Promise<PurchaseOutcome> {
  const response = await fetch(url, { headers: { 'payment-signature': header } });
  const body = await response.text();
  if (response.status === 200 && body === JSON.stringify(PRICED.body)) return SERVED;
  const reason = response.headers.get('payment-response') ?? response.headers.get('payment-required') ?? '';
  const text = `${body} ${Buffer.from(reason, 'base64').toString()}`;
  if (/settlement_pending|timeout/.test(text)) return PENDING;
  return `${response.status} ${text.slice(0, ANSWER_CHARACTERS)}`;
}

async function termsOf(
  url: string,
): Promise<{ readonly resource: object; readonly accepts: readonly BenchRequirements[] }> {
  const response = await fetch(url);
  await response.arrayBuffer();
  const header = response.headers.get('payment-required');
  if (header === null) throw new Error(`${url} answers ${response.status} without PAYMENT-REQUIRED`);
  return JSON.parse(Buffer.from(header, 'base64').toString());
}

async function latestBlockhash(nodeUrl: string): Promise<string> {
  type Latest = { readonly value: { readonly blockhash: string } };
  const { value } = await rpc<Latest>(nodeUrl, 'getLatestBlockhash', [{ commitment: 'confirmed' }]);
  return value.blockhash;
}

/** A value that is read again by the first call after `lifetimeMs`. Calls during that read wait for it. */
function refreshed<T>(read: () => Promise<T>, lifetimeMs: number): () => Promise<T> {
  let value: Promise<T> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (value === undefined || now - readAt > lifetimeMs) {
      value = read();
      readAt = now;
    }
    return value;
  };
}
