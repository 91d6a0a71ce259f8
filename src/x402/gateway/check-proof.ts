import { createHash } from 'node:crypto';
import { base64 } from '@scure/base';
import { sentTransaction } from '../../solana/adopted.ts';
import { EXAMPLE_NETWORKS } from '../dialects/example.ts';
import { memoOf, readQuoteToken } from '../dialects/quote-token.ts';
import { acceptsTerms } from '../dialects/v2.ts';
import { checkExact } from '../rules/exact.ts';
import { checkExample } from '../rules/example.ts';
import { checkSubmitted } from '../rules/submitted.ts';
import type { Checked, ExactPayment, Proof, Terms } from '../terms.ts';
import type { Outcome } from './outcome.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** A payment that keeps the rules for terms that are valid. */
export interface CheckedProof {
  readonly kind: 'checked';
  readonly payment: ExactPayment;
  readonly terms: Terms;
  readonly wire: Uint8Array;
  readonly shownIn: bigint | null;
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
      return firstOf(accepted, check, proof.wire, { shownIn: null, identifier: proof.paymentIdentifier });
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

const NOTHING_MORE = { shownIn: null, identifier: null };

function isNamed(name: string): (terms: Terms) => boolean {
  return ({ network }) => EXAMPLE_NETWORKS[network.cluster].includes(name);
}

async function checkSent(
  { chain, quoteSecrets, ledger }: SaleDeps,
  { route, requestHash }: Sale,
  valid: readonly Terms[],
  { signature, quoteToken }: Extract<Proof, { dialect: 'submitted' }>,
): Promise<CheckedProof | Outcome> {
  const quoted = readQuoteToken(quoteSecrets, quoteToken, Date.now());
  if (quoted === null)
    return refused('invalid_payment', 'the quoteToken is not one of this server, or expired');
  if (quoted.route !== route.id || quoted.request !== requestHash)
    return refused('invalid_payment', 'the quoteToken is that of another request');
  const asked = valid.filter(
    ({ amount, asset, payTo }) =>
      amount.toString() === quoted.amount && asset === quoted.asset && payTo === quoted.payTo,
  );
  if (asked.length === 0) return refused('invalid_payment_requirements', 'the quote is not valid any more');
  const known = await ledger.payments.findNamed(signature);
  const sent =
    known === undefined
      ? await sentTransaction(chain.pool, signature).catch(() => null)
      : { wire: base64.decode(known.wire), slot: known.acceptedSlot };
  if (sent === null) return { kind: 'pending', signature, payer: null };
  const check = (terms: Terms) => checkSubmitted(sent.wire, terms, memoOf(quoteToken));
  const identifier = `quote:${createHash('sha256').update(quoteToken).digest('hex')}`;
  return firstOf(asked, check, sent.wire, { shownIn: sent.slot, identifier });
}

/** By the first terms that it keeps; else the refusal by the newest. */
function firstOf(
  valid: readonly Terms[],
  check: (terms: Terms) => Checked,
  wire: Uint8Array,
  more: { readonly shownIn: bigint | null; readonly identifier: string | null },
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
