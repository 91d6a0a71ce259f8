import { base64 } from '@scure/base';
import { sentTransaction } from '../../solana/proof/adopted.ts';
import { type Presence, presenceOf } from '../../solana/proof/presence.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { identifierOf, memoOf, readQuoteToken } from '../formats/quote-token.ts';
import { receivedOf } from '../received.ts';
import { checkExact } from '../rules/exact.ts';
import { checkExample, checkSubmitted, readBroken } from '../rules/example.ts';
import type { Checked, ExactPayment, Proof, Terms } from '../terms.ts';
import { candidateTerms, isFor, type OpenOffer, refused } from './payment-terms.ts';
import type { Order, OutcomeOf, Sale, SaleDeps, SaleOutcome } from './sale.ts';

/** Why a landed transaction buys nothing: an expired quote, or a broken rule although tokens arrived. */
export type Flaw =
  | { readonly kind: 'late' }
  | { readonly kind: 'broken'; readonly received: bigint; readonly refusal: OutcomeOf<'refused'> };

/** A payment for terms of this server. It buys the request if `flaw` is null. */
interface CheckedProof {
  readonly kind: 'checked';
  readonly order: Order;
  readonly flaw: Flaw | null;
}

type Submitted = Extract<Proof, { readonly dialect: 'submitted' }>;

/** Payments of quotes that expired within this time are stored as unmatched. Older quotes are refused. */
const LATE_WINDOW_MS = 86_400_000;

/**
 * Checks a payment against the route's valid terms. Calls nodes only for a transaction that its buyer sent, and the
 * upstream only for the price of a payment without a quote.
 */
export async function checkProof(
  deps: SaleDeps,
  sale: Sale,
  offer: OpenOffer,
  proof: Proof,
): Promise<CheckedProof | SaleOutcome> {
  if (proof.dialect === 'submitted') return checkSent(deps, sale, offer, proof);
  const { dialect, wire } = proof;
  const candidates = await candidateTerms(deps, sale, offer, proof);
  if (!('terms' in candidates)) return candidates;
  const found = checkAny(candidates.terms, (terms) =>
    dialect === 'example' ? checkExample(wire, terms, deps) : checkExact(wire, terms, deps),
  );
  if (found.kind === 'refused') return found;
  const { terms, payment } = found;
  const caller = { ...sale.caller, identifier: dialect === 'v2' ? proof.paymentIdentifier : null };
  const order = { ...sale, caller, dialect, wire, terms, payment, landedSlot: null };
  return { kind: 'checked', order, flaw: null };
}

/** Checks that a transaction which the buyer sent pays a quote of this server for this request. */
async function checkSent(
  { chain, quoteSecrets, offers, warn }: SaleDeps,
  sale: Sale,
  offer: OpenOffer,
  proof: Submitted,
): Promise<CheckedProof | SaleOutcome> {
  const { signature, quoteToken } = proof;
  const quoted = await quotedTermsOf({ quoteSecrets, offers }, sale, offer, proof);
  if (!('terms' in quoted)) return quoted;
  const sent = await sentTransaction(chain.pool, signature).catch((error: unknown) => {
    warn(error, `no node can return the transaction ${signature}, which a buyer presented as a payment`);
    return undefined;
  });
  if (sent === undefined) return { kind: 'unavailable', reason: 'no node can return the transaction now' };
  if (sent === null) return { kind: 'settling', signature, payer: null };
  if (sent.isFailed)
    return (await failedOutcome(chain.pool, signature)) ?? { kind: 'settling', signature, payer: null };
  const { wire, slot: landedSlot } = sent;
  const { terms, isLate } = quoted;
  const caller = { ...sale.caller, identifier: identifierOf(quoteToken) };
  const order = { ...sale, caller, dialect: proof.dialect, wire, terms, landedSlot };
  const memo = memoOf(quoteToken);
  const found = checkAny([terms], () => checkSubmitted(wire, terms, memo));
  if (found.kind === 'found') {
    const { payment } = found;
    return { kind: 'checked', order: { ...order, payment }, flaw: isLate ? { kind: 'late' } : null };
  }
  const payment = readBroken(wire, terms, memo);
  if (payment === null) return found;
  const received = await receivedOf(chain.pool, signature, { wire: base64.encode(wire), terms });
  if (received === null)
    return { kind: 'unavailable', reason: 'no node returns the amount that the transaction has paid' };
  if (received <= 0n) return found;
  const flaw = { kind: 'broken' as const, received, refusal: found };
  return { kind: 'checked', order: { ...order, payment }, flaw };
}

/** The terms that the quote of a payment promised. `isLate`: they are replaced, or the quote has expired. */
async function quotedTermsOf(
  { quoteSecrets, offers }: Pick<SaleDeps, 'quoteSecrets' | 'offers'>,
  sale: Sale,
  { valid, closedAssets }: OpenOffer,
  proof: Submitted,
): Promise<{ readonly terms: Terms; readonly isLate: boolean } | SaleOutcome> {
  const now = Date.now();
  const quote = readQuoteToken(quoteSecrets, proof.quoteToken, now - LATE_WINDOW_MS);
  if (quote === null)
    return refused('invalid_payment', 'the quoteToken was not issued by this server, or it has expired');
  if (quote.route !== sale.route.id || quote.request !== sale.requestHash)
    return refused('invalid_payment', 'the quoteToken was issued for another request');
  // Not a refusal: the buyer has paid, and can send the payment again.
  if (closedAssets.includes(quote.asset))
    return { kind: 'unavailable', reason: `payments in the asset ${quote.asset} cannot be accepted now` };
  // The only memo of the transaction is the quote's, so terms with a memo of their own do not match.
  const isQuoted = ({ asset, payTo, memo }: Terms) =>
    asset === quote.asset && payTo === quote.payTo && memo === null;
  const termsIn = (all: readonly Terms[]) => all.find((terms) => isFor(proof, terms) && isQuoted(terms));
  const current = termsIn([...valid.fixed, ...valid.capped]);
  const terms = current ?? termsIn(await offers.past(sale.route.id));
  if (terms === undefined)
    return refused('invalid_payment_requirements', 'the terms of the quote are no longer valid');
  const isLate = current === undefined || quote.expiresAt < now;
  return { terms: { ...terms, amount: BigInt(quote.amount) }, isLate };
}

/**
 * The outcome of a transaction that a quorum reports as failed in a finalized block, so that its buyer may pay again.
 * Null for any other: a fork can still replace a failure.
 */
export async function failedOutcome(pool: NodePool, signature: string): Promise<OutcomeOf<'void'> | null> {
  return failureIn(await presenceOf(pool, signature, true), signature);
}

/** {@link failedOutcome} of a presence that is known already. */
export function failureIn(presence: Presence, signature: string): OutcomeOf<'void'> | null {
  if (presence.kind !== 'seen' || presence.failure === null) return null;
  const reason = 'invalid_exact_svm_transaction_failed';
  return { kind: 'void', status: 'failed', reason, message: presence.failure, signature, payer: null };
}

/** The payment under the first of the terms that it obeys. If there are none: the refusal under the newest terms. */
function checkAny(
  valid: readonly Terms[],
  check: (terms: Terms) => Checked,
): { readonly kind: 'found'; readonly terms: Terms; readonly payment: ExactPayment } | OutcomeOf<'refused'> {
  let refusal: OutcomeOf<'refused'> | null = null;
  for (const terms of valid) {
    const checked = check(terms);
    if (checked.ok) return { kind: 'found', terms, payment: checked.payment };
    const { reason, message, payer } = checked;
    refusal ??= { kind: 'refused', reason, message, payer };
  }
  return refusal ?? refused('invalid_payment_requirements');
}
