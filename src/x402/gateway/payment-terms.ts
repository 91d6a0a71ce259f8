import { isAmount } from '../../domain/amount.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { EXAMPLE_NETWORKS } from '../formats/example.ts';
import { at, textAt } from '../formats/json.ts';
import { isPriceQuote } from '../formats/quote-token.ts';
import { acceptsTerms } from '../formats/read-payment.ts';
import { namesInVersion1, type Proof, type Terms } from '../terms.ts';
import type { Offer, TermsByPrice } from './offers.ts';
import type { OutcomeOf, Sale, SaleDeps } from './sale.ts';
import { askForPrice, type PriceDeps, type PricedSale } from './upstream-price.ts';

/** The state of a route's offer in which a payment is checked. */
export type OpenOffer = Pick<Extract<Offer, { readonly kind: 'open' }>, 'valid' | 'closedAssets'>;

type Version2 = Extract<Proof, { readonly dialect: 'v2' }>;
type Version1OrExample = Extract<Proof, { readonly dialect: 'v1' | 'example' }>;

/** True if the payment accepts the terms (version 2), or names their network. */
export function isFor(proof: Proof, terms: Terms): boolean {
  if (proof.dialect === 'v2') return acceptsTerms(proof.accepted, terms);
  if (proof.dialect === 'v1') return namesInVersion1(terms.network).includes(proof.network);
  return EXAMPLE_NETWORKS[terms.network.cluster].includes(proof.network);
}

/**
 * The terms that the payment can be for, with their prices. No price of the upstream is assumed: version 2 returns a
 * signed quote, and for a payment in another form the upstream is asked again.
 */
export async function candidateTerms(
  deps: PriceDeps & Pick<SaleDeps, 'quoteSecrets'>,
  sale: PricedSale & Pick<Sale, 'requestHash'>,
  { valid }: Pick<OpenOffer, 'valid'>,
  proof: Version2 | Version1OrExample,
): Promise<{ readonly terms: readonly Terms[] } | OutcomeOf<'refused'>> {
  if (proof.dialect === 'v2') {
    const sold = { route: sale.route.id, request: sale.requestHash };
    const now = Date.now();
    const terms = acceptedTerms(proof, valid, (quote, quoted) =>
      isPriceQuote(deps.quoteSecrets, quote, { ...sold, terms: quoted }, now),
    );
    return terms.length === 0 ? refused('No matching payment requirements', NO_MATCH) : { terms };
  }
  const ofNetwork = [...valid.fixed, ...valid.capped].filter((terms) => isFor(proof, terms));
  if (ofNetwork.length === 0) return noMatchingNetwork(proof);
  const { fixed, capped } = termsOfOwnAsset(proof, valid);
  if (capped.length === 0)
    // If the transaction pays no token account of the terms, each of them refuses it with a reason.
    return { terms: fixed.length > 0 ? fixed : ofNetwork };
  const priced = await askForPrice(deps, sale, capped);
  if (priced.ok) return { terms: [...priced.value, ...fixed] };
  return fixed.length > 0 ? { terms: fixed } : refused('invalid_payment_requirements', priced.reason);
}

const NO_MATCH =
  'accepted must be an entry of `accepts` in a 402 response to the same request; where extra has a quote, it must not be expired';

function noMatchingNetwork({ dialect, network }: Version1OrExample): OutcomeOf<'refused'> {
  if (dialect === 'v1') return refused('Unable to find matching payment requirements');
  return refused('invalid_network', `this server does not accept payments on network ${network}`);
}

export function refused(reason: string, message: string = reason): OutcomeOf<'refused'> {
  return { kind: 'refused', reason, message, payer: null };
}

/**
 * The terms that a payment of version 2 accepts. Where the upstream sets the price, `accepted` must have a quote for
 * exactly these terms.
 */
function acceptedTerms(
  proof: Version2,
  { fixed, capped }: TermsByPrice,
  isQuoted: (quote: string, terms: Terms) => boolean,
): readonly Terms[] {
  const { accepted } = proof;
  const amount = textAt(accepted, 'amount') ?? '';
  const quote = textAt(at(accepted, 'extra'), 'quote');
  const quoted =
    quote === null || !isAmount(amount)
      ? []
      : capped
          .map((terms) => ({ ...terms, amount: BigInt(amount) }))
          .filter((terms) => isQuoted(quote, terms));
  return [...fixed, ...quoted].filter((terms) => isFor(proof, terms));
}

/**
 * The terms whose token account the transaction names: those of its own asset. A payment in another form than version 2
 * does not say which terms it accepts.
 */
function termsOfOwnAsset(proof: Version1OrExample, { fixed, capped }: TermsByPrice): TermsByPrice {
  const accounts = readSigned(proof.wire)?.accounts ?? [];
  const isOwn = (terms: Terms) => isFor(proof, terms) && accounts.includes(terms.tokenAccount);
  return { fixed: fixed.filter(isOwn), capped: capped.filter(isOwn) };
}
