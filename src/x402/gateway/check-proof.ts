import { messageOf } from '../../domain/errors.ts';
import { sentTransaction } from '../../solana/adopted.ts';
import { EXAMPLE_NETWORKS } from '../dialects/example.ts';
import { memoOf, readQuoteToken } from '../dialects/quote-token.ts';
import { acceptsTerms } from '../dialects/v2.ts';
import { checkExact } from '../rules/exact.ts';
import { checkExample } from '../rules/example.ts';
import { checkSubmitted } from '../rules/submitted.ts';
import type { Checked, ExactPayment, Proof, Terms } from '../terms.ts';
import { identifierOf } from './known.ts';
import type { Outcome } from './outcome.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** A payment that keeps the rules for terms that are valid. */
export interface CheckedProof {
  readonly kind: 'checked';
  readonly payment: ExactPayment;
  readonly terms: Terms;
  readonly wire: Uint8Array;
  readonly shownIn: bigint | null;
  /** The quote had expired when it was shown. */
  readonly isLate: boolean;
  /** What only the buyer can show, beside the request. */
  readonly identifier: string | null;
}

/** Checks a payment against what the route asks for, or asked for a little while ago. Only one that its buyer has sent costs a question. */
export async function checkProof(
  deps: SaleDeps,
  sale: Sale,
  valid: readonly Terms[],
  proof: Proof,
): Promise<CheckedProof | Outcome> {
  const { managed, limits } = deps;
  switch (proof.dialect) {
    case 'v2': {
      const accepted = valid.filter((terms) => acceptsTerms(proof.accepted, terms));
      if (accepted.length === 0) return refused('No matching payment requirements');
      const check = (terms: Terms) => checkExact(proof.wire, terms, { managed, limits });
      return firstOf(accepted, check, proof.wire, { ...NOTHING_MORE, identifier: proof.paymentIdentifier });
    }
    case 'v1': {
      const named = valid.filter(({ network }) => network.v1 === proof.network);
      if (named.length === 0) return refused('Unable to find matching payment requirements');
      const check = (terms: Terms) => checkExact(proof.wire, terms, { managed, limits });
      return firstOf(named, check, proof.wire, NOTHING_MORE);
    }
    case 'example': {
      const named = valid.filter(isNamed(proof.network));
      if (named.length === 0) return refused('invalid_network', `${proof.network} is another network`);
      const check = (terms: Terms) => checkExample(proof.wire, terms, { managed });
      return firstOf(named, check, proof.wire, NOTHING_MORE);
    }
    case 'submitted':
      return checkSent(deps, sale, valid.filter(isNamed(proof.network)), proof);
  }
}

const NOTHING_MORE = { shownIn: null, isLate: false, identifier: null };
/** A quote that expired no longer ago is still known: what was paid for it goes on record. */
const LATE_MS = 86_400_000;

function isNamed(name: string): (terms: Terms) => boolean {
  return ({ network }) => EXAMPLE_NETWORKS[network.cluster].includes(name);
}

/** The transaction that its buyer has sent pays a quote of this server for this very request. */
async function checkSent(
  { chain, quoteSecrets }: SaleDeps,
  { route, requestHash }: Sale,
  valid: readonly Terms[],
  { signature, quoteToken }: Extract<Proof, { dialect: 'submitted' }>,
): Promise<CheckedProof | Outcome> {
  const now = Date.now();
  const quoted = readQuoteToken(quoteSecrets, quoteToken, now - LATE_MS);
  if (quoted === null)
    return refused('invalid_payment', 'the quoteToken is not one of this server, or expired');
  if (quoted.route !== route.id || quoted.request !== requestHash)
    return refused('invalid_payment', 'the quoteToken is that of another request');
  const { amount, asset, payTo } = quoted;
  const [asked] = valid.filter((terms) => terms.asset === asset && terms.payTo === payTo);
  if (asked === undefined) return refused('invalid_payment_requirements', 'the quote is not valid any more');
  const sent = await sentTransaction(chain.pool, signature).catch((error: unknown) => messageOf(error));
  if (typeof sent === 'string') return { kind: 'unavailable', why: `no node can be asked now: ${sent}` };
  if (sent === null) return { kind: 'pending', signature, payer: null };
  const terms = { ...asked, amount: BigInt(amount) };
  const check = () => checkSubmitted(sent.wire, terms, memoOf(quoteToken));
  const more = { shownIn: sent.slot, isLate: quoted.expiresAt < now, identifier: identifierOf(quoteToken) };
  return firstOf([terms], check, sent.wire, more);
}

/** By the first terms that it keeps; else the refusal by the newest. */
function firstOf(
  valid: readonly Terms[],
  check: (terms: Terms) => Checked,
  wire: Uint8Array,
  more: Pick<CheckedProof, 'shownIn' | 'isLate' | 'identifier'>,
): CheckedProof | Outcome {
  let refusal: Outcome | null = null;
  for (const terms of valid) {
    const checked = check(terms);
    if (checked.ok) return { kind: 'checked', payment: checked.payment, terms, wire, ...more };
    const { reason, message, payer } = checked;
    refusal ??= { kind: 'refused', reason, message, payer };
  }
  return refusal ?? refused('invalid_payment_requirements');
}

function refused(reason: string, message: string = reason): Outcome {
  return { kind: 'refused', reason, message, payer: null };
}
