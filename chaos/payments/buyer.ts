import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { Keypair, VersionedTransaction } from '@solana/web3.js';
import { readTerms, signPayment } from '../../devkit/localstack/buyer.ts';
import { healthy, outcomeOf } from '../healthy.ts';
import type { PlannedPurchase } from './plan.ts';
import { type Presented, present, requestOf, type SignedPurchase, withoutIdentifier } from './present.ts';
import type { BuyerReaction } from './reaction.ts';

/** What one buyer did, and what the gateway answered at the end. */
export interface Bought {
  readonly purchase: PlannedPurchase;
  /** The buyer's own signature in each payment that it signed, base58. */
  readonly signatures: readonly string[];
  /** How often it presented a payment. */
  readonly presented: number;
  /** Successes that the facilitator returned for the payment of this sale. */
  readonly successes: number;
  /** The access pass of the answer; null if it had none. */
  readonly pass: string | null;
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

export const ANSWER_MS = 40_000;
export const REPEAT_MS = 1_000;
const SILENCE_MS = 15_000;
/** More blocks than a blockhash is valid for, and a node lags behind. */
const LIFETIME_BLOCKS = 300;

interface NewPurchase extends SignedPurchase {
  readonly signature: string;
  readonly raw: Uint8Array;
}

/**
 * Buys one item as a conforming buyer: it pays once, and presents the same payment again until it has an answer. It signs
 * another payment only after a 402 with fresh terms that ends the first one; or if a transaction that it sent itself
 * can no longer land.
 */
export async function buyItem(deps: BuyerDeps, purchase: PlannedPurchase): Promise<Bought> {
  const signatures: string[] = [];
  let last = 'the buyer has not asked yet';
  let [presented, successes] = [0, 0];
  while (!deps.end.aborted) {
    const payment = await newPayment(deps, purchase, signatures.length).catch((error: unknown) => {
      last = `no payment was signed: ${String(error)}`;
      return null;
    });
    if (payment === null) {
      await sleep(REPEAT_MS);
      continue;
    }
    signatures.push(payment.signature);
    if (purchase.form === 'submitted' && !(await sendItself(deps, payment))) continue;
    const shown = await presentUntilDecided(deps, purchase, payment, signatures.length === 1);
    last = shown.text;
    presented += shown.times;
    successes += shown.successes;
    if (shown.reaction.kind === 'undecided') break;
    if (shown.reaction.kind === 'pay-again') continue;
    return { purchase, signatures, presented, successes, pass: shown.pass, end: shown.reaction, last };
  }
  return { purchase, signatures, presented, successes, pass: null, end: { kind: 'none' }, last };
}

/** Signs a payment. The gateway has not seen it yet, so a failure here allows another one. */
async function newPayment(deps: BuyerDeps, purchase: PlannedPurchase, before: number): Promise<NewPurchase> {
  const { gatewayUrl, key, rpcUrls } = deps;
  const [url, init] = requestOf(gatewayUrl, purchase);
  const terms = await readTerms(await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) }));
  const rpcUrl = rpcUrls[(purchase.item + before) % rpcUrls.length] ?? '';
  // A node that keeps silent never ends the calls of web3.js.
  const signed = await Promise.race([signPayment(purchase.form, terms, key, rpcUrl), silence()]);
  const { transaction: raw } = signed;
  const headers = purchase.identified ? signed.headers : withoutIdentifier(signed.headers);
  return { headers, terms, raw, signature: signatureOf(raw, key) };
}

async function silence(): Promise<never> {
  await sleep(SILENCE_MS, undefined, { ref: false });
  throw new Error(`no node answered for ${SILENCE_MS} ms`);
}

/** Sends the buyer's own transaction. False once it has failed or can never land; at the end of the run, too. */
async function sendItself(
  { rpcUrls: [url = ''], end }: BuyerDeps,
  { signature, raw }: NewPurchase,
): Promise<boolean> {
  const height = await healthy<number>(url, 'getBlockHeight', { commitment: 'processed' });
  const sent = { signature, raw, lastHeight: height + LIFETIME_BLOCKS };
  const outcome = await outcomeOf(url, sent, end).catch((error: unknown) => {
    if (end.aborted) return 'dead';
    throw error;
  });
  return outcome === 'landed';
}

/** Presents one payment until the gateway decides on it; `undecided` only at the end of the run. */
async function presentUntilDecided(
  deps: BuyerDeps,
  purchase: PlannedPurchase,
  payment: NewPurchase,
  isFirst: boolean,
): Promise<Presented & { readonly times: number }> {
  let patienceMs = isFirst && purchase.hangUpMs !== null ? purchase.hangUpMs : ANSWER_MS;
  let [text, times, successes] = ['', 0, 0];
  while (!deps.end.aborted) {
    const signal = AbortSignal.timeout(patienceMs);
    const once = await present(deps.gatewayUrl, purchase, payment, signal);
    const reaction = withOwnKnowledge(purchase, once.reaction);
    text = once.text;
    times += 1;
    successes += once.successes;
    if (reaction.kind !== 'undecided') return { reaction, pass: once.pass, text, times, successes };
    // A buyer that hung up comes back later than one that waits.
    await sleep(patienceMs === ANSWER_MS ? REPEAT_MS : patienceMs * 10);
    patienceMs = ANSWER_MS;
  }
  return { reaction: { kind: 'undecided' }, pass: null, text, times, successes };
}

/** A buyer whose own transaction is final never pays again: nodes that lag can deny it to the gateway. */
function withOwnKnowledge({ form }: PlannedPurchase, reaction: BuyerReaction): BuyerReaction {
  return form === 'submitted' && reaction.kind === 'pay-again' ? { kind: 'undecided' } : reaction;
}

/** The buyer's signature in the transaction of a payment. It is in the block, whichever account pays the fee. */
function signatureOf(raw: Uint8Array, key: Uint8Array): string {
  const { message, signatures } = VersionedTransaction.deserialize(raw);
  const buyer = Keypair.fromSecretKey(key).publicKey;
  const signature = signatures[message.staticAccountKeys.findIndex((one) => one.equals(buyer))];
  if (signature === undefined) throw new Error('the payment has no signature of its buyer');
  return base58.encode(signature);
}
