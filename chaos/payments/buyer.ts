import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { Keypair, VersionedTransaction } from '@solana/web3.js';
import { fetchTerms, type PaymentHeaders, pay, presentPayment } from '../../devkit/localstack/buyer.ts';
import type { PlannedPurchase } from './plan.ts';
import { type BuyerReaction, reactionTo } from './reaction.ts';

/** What one buyer did, and what the gateway answered at the end. */
export interface Bought {
  readonly purchase: PlannedPurchase;
  /** The buyer's own signature in each payment that it showed, base58. */
  readonly signatures: readonly string[];
  /** How often it showed a payment. */
  readonly shown: number;
  /** `none`: the gateway did not decide before the end of the run. */
  readonly end: Exclude<BuyerReaction, { kind: 'undecided' | 'pay-again' }> | { readonly kind: 'none' };
  /** The last answer, or the last failure, for people. */
  readonly last: string;
}

export interface BuyerDeps {
  readonly gatewayUrl: string;
  /** The 64 bytes of the key file. */
  readonly key: Uint8Array;
  readonly rpcUrls: readonly string[];
  /** Aborted at the end of the run. */
  readonly end: AbortSignal;
}

const ANSWER_MS = 40_000;
const REPEAT_MS = 1_000;
const SILENCE_MS = 15_000;

/**
 * Buys one item as a conforming buyer: it pays once, and shows the same payment again until it has an answer. It signs another
 * payment only after a 402 with fresh terms that ends the first one.
 */
export async function buyItem(deps: BuyerDeps, purchase: PlannedPurchase): Promise<Bought> {
  const signatures: string[] = [];
  let last = 'the buyer has not asked yet';
  let times = 0;
  while (!deps.end.aborted) {
    const headers = await newPayment(deps, purchase, signatures.length).catch((error: unknown) => {
      last = `no payment was signed: ${String(error)}`;
      return null;
    });
    if (headers === null) {
      await sleep(REPEAT_MS);
      continue;
    }
    signatures.push(signatureOf(headers, deps.key));
    const shown = await showUntilDecided(deps, purchase, headers, signatures.length === 1);
    last = shown.last;
    times += shown.times;
    if (shown.reaction.kind === 'undecided') break;
    if (shown.reaction.kind === 'pay-again') continue;
    return { purchase, signatures, shown: times, end: shown.reaction, last };
  }
  return { purchase, signatures, shown: times, end: { kind: 'none' }, last };
}

/** Signs a payment. The gateway has not seen it yet, so a failure here allows another one. */
async function newPayment(
  deps: BuyerDeps,
  purchase: PlannedPurchase,
  before: number,
): Promise<PaymentHeaders> {
  const { key, rpcUrls } = deps;
  const terms = await fetchTerms(urlOf(deps, purchase), AbortSignal.timeout(ANSWER_MS));
  const rpcUrl = rpcUrls[(purchase.item + before) % rpcUrls.length] ?? '';
  // A node that keeps silent never ends the calls of web3.js.
  return Promise.race([pay(purchase.form, terms, key, rpcUrl), silence()]);
}

async function silence(): Promise<never> {
  await sleep(SILENCE_MS, undefined, { ref: false });
  throw new Error(`no node answered for ${SILENCE_MS} ms`);
}

/** Shows one payment until the gateway decides on it; `undecided` only at the end of the run. */
async function showUntilDecided(
  deps: BuyerDeps,
  purchase: PlannedPurchase,
  headers: PaymentHeaders,
  isFirst: boolean,
): Promise<{ readonly reaction: BuyerReaction; readonly last: string; readonly times: number }> {
  let patienceMs = isFirst && purchase.hangUpMs !== null ? purchase.hangUpMs : ANSWER_MS;
  let last = '';
  let times = 0;
  while (!deps.end.aborted) {
    const { reaction, text } = await showOnce(deps, purchase, headers, patienceMs);
    last = text;
    times += 1;
    if (reaction.kind !== 'undecided') return { reaction, last, times };
    // A buyer that hung up comes back later than one that waits.
    await sleep(patienceMs === ANSWER_MS ? REPEAT_MS : patienceMs * 10);
    patienceMs = ANSWER_MS;
  }
  return { reaction: { kind: 'undecided' }, last, times };
}

async function showOnce(
  deps: BuyerDeps,
  purchase: PlannedPurchase,
  headers: PaymentHeaders,
  patienceMs: number,
): Promise<{ readonly reaction: BuyerReaction; readonly text: string }> {
  const own = purchase.authorized ? { authorization: `Bearer buyer-${purchase.item}` } : {};
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const response = await presentPayment(urlOf(deps, purchase), { ...headers, ...own }, signal);
    const body = await response.text();
    const text = `${response.status} ${body.slice(0, 200)}`;
    return { reaction: reactionTo(response.status, body, purchase.item), text };
  } catch (error) {
    return { reaction: { kind: 'undecided' }, text: String(error) };
  }
}

function urlOf({ gatewayUrl }: BuyerDeps, { item }: PlannedPurchase): string {
  return `${gatewayUrl}/item?n=${item}`;
}

/** The buyer's signature in the transaction of a payment. It is in the block, whichever account pays the fee. */
function signatureOf(headers: PaymentHeaders, key: Uint8Array): string {
  const [header = ''] = Object.values(headers);
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    payload: { transaction?: string; serializedTransaction?: string };
  };
  const wire = Buffer.from(payload.transaction ?? payload.serializedTransaction ?? '', 'base64');
  const { message, signatures } = VersionedTransaction.deserialize(wire);
  const buyer = Keypair.fromSecretKey(key).publicKey;
  const signature = signatures[message.staticAccountKeys.findIndex((one) => one.equals(buyer))];
  if (signature === undefined) throw new Error('the payment has no signature of its buyer');
  return base58.encode(signature);
}
