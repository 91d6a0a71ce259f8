import { base64 } from '@scure/base';
import { messageOf } from '../../domain/errors.ts';
import { sentTransaction } from '../../solana/proof/adopted.ts';
import { EXAMPLE_NETWORKS } from '../formats/example.ts';
import { memoOf, readQuoteToken } from '../formats/quote-token.ts';
import { acceptsTerms } from '../formats/v2.ts';
import { checkExact } from '../rules/exact.ts';
import { checkExample } from '../rules/example.ts';
import { checkSubmitted, readBroken } from '../rules/submitted.ts';
import type { Checked, ExactPayment, Proof, Terms } from '../terms.ts';
import { identifierOf } from './known.ts';
import type { SaleOutcome } from './outcome.ts';
import { receivedOf } from './received.ts';
import type { Sale, SaleDeps } from './sale.ts';

/** Why a landed transaction buys nothing: an expired quote, or a broken rule although tokens arrived. */
export type Flaw =
  | { readonly kind: 'late' }
  | { readonly kind: 'broken'; readonly received: bigint; readonly refusal: Of<'refused'> };

type Of<Kind extends SaleOutcome['kind']> = Extract<SaleOutcome, { kind: Kind }>;

/** A payment for valid terms. It obeys the rules unless `flaw` is set. */
export interface CheckedProof {
  readonly kind: 'checked';
  readonly payment: ExactPayment;
  readonly terms: Terms;
  readonly wire: Uint8Array;
  readonly shownIn: bigint | null;
  /** Null if it buys the request. */
  readonly flaw: Flaw | null;
  /** A value that only the buyer knows, besides the request. */
  readonly identifier: string | null;
}

/** Checks a payment against current and recent terms. Only a transaction that its buyer sent needs node calls. */
export async function checkProof(
  deps: SaleDeps,
  sale: Sale,
  valid: readonly Terms[],
  proof: Proof,
): Promise<CheckedProof | SaleOutcome> {
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
      return checkSent(deps, sale, valid, proof);
  }
}

const NOTHING_MORE = { shownIn: null, flaw: null, identifier: null };
/** Quotes that expired more recently are still accepted for recording: payments of them are stored as unmatched. */
const LATE_MS = 86_400_000;

function isNamed(name: string): (terms: Terms) => boolean {
  return ({ network }) => EXAMPLE_NETWORKS[network.cluster].includes(name);
}

/** Checks that a transaction sent by the buyer pays a quote of this server for this request. */
async function checkSent(
  { chain, quoteSecrets, offers }: SaleDeps,
  { route, requestHash }: Sale,
  valid: readonly Terms[],
  { signature, quoteToken, network }: Extract<Proof, { dialect: 'submitted' }>,
): Promise<CheckedProof | SaleOutcome> {
  const now = Date.now();
  const quoted = readQuoteToken(quoteSecrets, quoteToken, now - LATE_MS);
  if (quoted === null)
    return refused('invalid_payment', 'the quoteToken is not one of this server, or expired');
  if (quoted.route !== route.id || quoted.request !== requestHash)
    return refused('invalid_payment', 'the quoteToken is that of another request');
  const quotedIn = (all: readonly Terms[]) =>
    all.filter(isNamed(network)).find(({ asset, payTo }) => asset === quoted.asset && payTo === quoted.payTo);
  const asked = quotedIn(valid);
  const past = asked ?? quotedIn(await offers.past(route.id));
  if (past === undefined) return refused('invalid_payment_requirements', 'the quote is not valid any more');
  const sent = await sentTransaction(chain.pool, signature).catch((error: unknown) => messageOf(error));
  if (typeof sent === 'string') return { kind: 'unavailable', reason: `no node can be asked now: ${sent}` };
  if (sent === null) return { kind: 'pending', signature, payer: null };
  const terms = { ...past, amount: BigInt(quoted.amount) };
  const memo = memoOf(quoteToken);
  const flaw = asked === undefined || quoted.expiresAt < now ? { kind: 'late' as const } : null;
  const more = { shownIn: sent.slot, flaw, identifier: identifierOf(quoteToken) };
  const check = () => checkSubmitted(sent.wire, terms, memo);
  const checked = firstOf([terms], check, sent.wire, more);
  if (checked.kind !== 'refused') return checked;
  const payment = readBroken(sent.wire, terms, memo);
  if (payment === null) return checked;
  const shown = { wire: base64.encode(sent.wire), terms };
  const received = await receivedOf(chain.pool, signature, shown);
  if (received === null)
    return { kind: 'unavailable', reason: 'no node shows what the transaction has paid' };
  if (received <= 0n) return checked;
  const broken = { kind: 'broken' as const, received, refusal: checked };
  return { kind: 'checked', payment, terms, wire: sent.wire, ...more, flaw: broken };
}

/** Uses the first terms that match; otherwise returns the refusal by the newest ones. */
function firstOf(
  valid: readonly Terms[],
  check: (terms: Terms) => Checked,
  wire: Uint8Array,
  more: Pick<CheckedProof, 'shownIn' | 'flaw' | 'identifier'>,
): CheckedProof | Of<'refused'> {
  let refusal: Of<'refused'> | null = null;
  for (const terms of valid) {
    const checked = check(terms);
    if (checked.ok) return { kind: 'checked', payment: checked.payment, terms, wire, ...more };
    const { reason, message, payer } = checked;
    refusal ??= { kind: 'refused', reason, message, payer };
  }
  return refusal ?? refused('invalid_payment_requirements');
}

function refused(reason: string, message: string = reason): Of<'refused'> {
  return { kind: 'refused', reason, message, payer: null };
}
