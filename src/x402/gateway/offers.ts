import { isDomainError, messageOf } from '../../domain/errors.ts';
import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { OfferedTerms, Offers as OfferRows } from '../../ledger/x402/offers.ts';
import type { Chain } from '../../solana/chain.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { readMint } from '../../solana/tokens/mint.ts';
import { readTokenAccount } from '../../solana/tokens/token-account.ts';
import type { FeePayers } from '../fee-payers.ts';
import type { PricedRoute } from '../routes/route.ts';
import { recipientRefusal, walletRefusal } from '../rules/mint-policy.ts';
import type { Network, Terms } from '../terms.ts';

/** The current terms of a route, and `valid` terms that are still accepted; or why the route cannot be sold now. */
export type Offer =
  | { readonly kind: 'open'; readonly current: Terms; readonly valid: readonly Terms[] }
  /** `reason` is public; `details` also names nodes or errors, and is for the log. */
  | { readonly kind: 'closed'; readonly reason: string; readonly details: string };

/** The terms of a route that no version sells any more: buyers who have them can still pay. */
export interface EndedOffer {
  readonly kind: 'ended';
  readonly valid: readonly Terms[];
}

export interface OffersDeps {
  readonly offers: OfferRows;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly network: Network;
  readonly feePayers: Pick<FeePayers, 'choose' | 'refresh'>;
  readonly tokenPolicy: TokenPolicy;
  /** Called if a route closes, with the reason, or opens, with null. Not called if the first terms open it. */
  readonly onChange: (routeId: string, reason: string | null) => void;
  /** How long a quote stays valid after a newer one replaced it. */
  readonly validMs: number;
}

/** Longer than the time in which payments of expired quotes are recorded. */
const PAST_TERMS_MS = 25 * 3_600_000;

/** How long a closed route is read more often: wallets and nodes can become ready a moment after the gateway. */
const EAGER_MS = 60_000;

export class RouteOffers {
  readonly #deps: OffersDeps;
  #routes: readonly PricedRoute[];
  readonly #offers = new Map<string, Offer>();
  /** Times of `performance.now()` at which the closed routes closed. */
  readonly #closedAt = new Map<string, number>();

  constructor(deps: OffersDeps, routes: readonly PricedRoute[]) {
    this.#deps = deps;
    this.#routes = routes;
  }

  of(routeId: string): Offer {
    const reason = 'the terms of this route have not been read yet';
    return this.#offers.get(routeId) ?? { kind: 'closed', reason, details: reason };
  }

  /** Terms that were offered within the last 25 hours. Late payments of these are recorded but buy nothing. */
  async past(routeId: string): Promise<readonly Terms[]> {
    const offered = await this.#deps.offers.valid(routeId, PAST_TERMS_MS);
    return offered.map((terms) => toTerms(terms, this.#deps.network));
  }

  /** The terms of a route that is not sold any more. They stay valid as after a change of the price. */
  async ended(routeId: string): Promise<EndedOffer> {
    const { offers, network, validMs } = this.#deps;
    const valid = await offers.valid(routeId, validMs);
    return { kind: 'ended', valid: valid.map((terms) => toTerms(terms, network)) };
  }

  /** Replaces the routes. A route with the id of an earlier one keeps the earlier terms until its own are read. */
  async replace(routes: readonly PricedRoute[]): Promise<void> {
    this.#routes = routes;
    await this.#read(routes);
  }

  /**
   * Reads fee payers, mints and token accounts, and stores the current terms of each route. Call this method at startup
   * and periodically.
   */
  async refresh(): Promise<void> {
    await this.#deps.feePayers.refresh();
    await this.#read(this.#routes);
  }

  /**
   * Reads the routes that closed within the last minute, and those whose fee payer is no longer the one to use. A route
   * that stays closed is read by {@link refresh} alone.
   */
  async refreshClosed(): Promise<void> {
    await this.#deps.feePayers.refresh();
    await this.#read(this.#routes.filter(({ id }) => this.#isDue(id)));
  }

  #isDue(routeId: string): boolean {
    const offer = this.of(routeId);
    const chosen = this.#deps.feePayers.choose(routeId);
    if (offer.kind === 'open') return !('feePayer' in chosen) || chosen.feePayer !== offer.current.feePayer;
    const closedAt = this.#closedAt.get(routeId);
    return closedAt === undefined || performance.now() - closedAt < EAGER_MS;
  }

  /** Reads the routes at once, so that they share calls to nodes. */
  async #read(routes: readonly PricedRoute[]): Promise<void> {
    await Promise.all(
      routes.map(async (route) => {
        const offer = await this.#lookAt(route);
        // The route may have been replaced while its terms were read.
        if (!this.#routes.includes(route)) return;
        const known = this.#offers.get(route.id)?.kind;
        this.#offers.set(route.id, offer);
        if (offer.kind === known) return;
        if (offer.kind === 'closed') this.#closedAt.set(route.id, performance.now());
        if (offer.kind === 'closed') this.#deps.onChange(route.id, offer.details);
        else if (known !== undefined) this.#deps.onChange(route.id, null);
      }),
    );
  }

  async #lookAt(route: PricedRoute): Promise<Offer> {
    const { offers, network, validMs, tokenPolicy } = this.#deps;
    const closed = (reason: string, details = reason): Offer => ({ kind: 'closed', reason, details });
    const chosen = this.#deps.feePayers.choose(route.id);
    if ('reason' in chosen) return closed(chosen.reason);
    const { feePayer } = chosen;
    const { asset, amount, payTo, maxTimeoutSeconds, memo } = route;
    try {
      const unpaid = await offers.findServedUnpaid(route.id);
      if (unpaid !== null) return closed('a payment was served and not paid', servedUnpaid(unpaid));
      const mint = readMint(asset, (await this.#accounts([asset]))[0] ?? null);
      const { program: tokenProgram, decimals } = mint;
      if (route.decimals !== null && route.decimals !== decimals)
        return closed(`mint ${asset} has ${decimals} decimals; the routes file has ${route.decimals}`);
      const tokenAccount = deriveAta(payTo, asset, tokenProgram, true);
      const [wallet, recipient] = await this.#accounts([payTo, tokenAccount]);
      const account = readTokenAccount(tokenAccount, recipient ?? null);
      const refusal =
        walletRefusal(payTo, wallet ?? null) ?? recipientRefusal(mint, account, payTo, tokenPolicy);
      if (refusal !== null) return closed(refusal.message);
      const routeTerms = { asset, amount, payTo, maxTimeoutSeconds, memo };
      const current: Terms = { network, ...routeTerms, tokenProgram, decimals, tokenAccount, feePayer };
      await offers.offer(route.id, toOffered(current));
      const valid = (await offers.valid(route.id, validMs)).map((offered) => toTerms(offered, network));
      return { kind: 'open', current, valid };
    } catch (error) {
      // The last known terms stay open while the nodes or the database do not respond.
      const known = this.#offers.get(route.id);
      if (isDomainError(error, 'AssetRejected')) return closed(error.message);
      if (known?.kind === 'open') return known;
      return closed('its terms cannot be read now', messageOf(error));
    }
  }

  async #accounts(addresses: readonly string[]) {
    return (await this.#deps.chain.accounts(addresses)).accounts;
  }
}

function servedUnpaid(id: string): string {
  return `payment ${id} was served, and a fork or a false node removed it: acknowledge its alert confirmed_taken_back to sell the route again`;
}

function toOffered({ network, amount, ...terms }: Terms): OfferedTerms {
  return { network: network.caip2, ...terms, amount: amount.toString() };
}

function toTerms({ network: _caip2, amount, ...terms }: OfferedTerms, network: Network): Terms {
  return { network, ...terms, amount: BigInt(amount) };
}
