import { isDomainError, messageOf } from '../../domain/errors.ts';
import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { OfferedTerms, Offers as OfferRows } from '../../ledger/x402/offers.ts';
import type { Chain } from '../../solana/chain.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { readMint } from '../../solana/tokens/mint.ts';
import { readTokenAccount } from '../../solana/tokens/token-account.ts';
import type { FeePayers } from '../fee-payers.ts';
import type { PricedRoute, RoutePrice } from '../routes/route.ts';
import { recipientRefusal, walletRefusal } from '../rules/mint-policy.ts';
import type { Network, Terms } from '../terms.ts';

/**
 * Terms of a route. `fixed`: each amount is the price. `capped`: each amount is the highest price that the upstream may
 * set for a request.
 */
export interface TermsByPrice {
  readonly fixed: readonly Terms[];
  readonly capped: readonly Terms[];
}

/**
 * The current terms of a route, with one for each asset that can be paid in the order of the file, and `valid` terms that
 * are still accepted; or why the route cannot be sold now.
 */
export type Offer =
  | {
      readonly kind: 'open';
      readonly current: readonly [Terms, ...Terms[]];
      readonly valid: TermsByPrice;
      /** Assets of the routes file that cannot be paid with now. No valid terms have these. */
      readonly closedAssets: readonly string[];
    }
  /** `reason` is public; `details` also names nodes or errors, and is for the log. */
  | { readonly kind: 'closed'; readonly reason: string; readonly details: string };

/** A route that this process does not sell. `reason` also names nodes or errors. */
export interface ClosedRoute {
  readonly route: string;
  readonly reason: string;
  readonly since: Date;
}

/** The terms of a route that no version sells any more: buyers who have them can still pay. */
export interface EndedOffer {
  readonly kind: 'ended';
  readonly valid: TermsByPrice;
  readonly closedAssets: readonly string[];
}

export interface OffersDeps {
  readonly offers: OfferRows;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly network: Network;
  readonly feePayers: Pick<FeePayers, 'choose' | 'refresh'>;
  readonly tokenPolicy: TokenPolicy;
  /** Called if a route closes, with the reason, or opens, with null. Not called if the first terms open it. */
  readonly onChange: (routeId: string, reason: string | null) => void;
  /** Called if an asset of an open route closes, with the reason, or opens, with null. */
  readonly onAssetChange: (routeId: string, asset: string, reason: string | null) => void;
  /** How long terms stay valid after newer ones replaced them. */
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
  /** The same times of the closed assets of open routes, by route. */
  readonly #closedAssets = new Map<string, ReadonlyMap<string, number>>();

  constructor(deps: OffersDeps, routes: readonly PricedRoute[]) {
    this.#deps = deps;
    this.#routes = routes;
  }

  of(routeId: string): Offer {
    const reason = 'the terms of this route have not been read yet';
    return this.#offers.get(routeId) ?? { kind: 'closed', reason, details: reason };
  }

  /** The offers of all priced routes. */
  all(): readonly Offer[] {
    return this.#routes.map(({ id }) => this.of(id));
  }

  closed(): readonly ClosedRoute[] {
    return this.#routes.flatMap(({ id: route }) => {
      const offer = this.#offers.get(route);
      const since = new Date(performance.timeOrigin + (this.#closedAt.get(route) ?? 0));
      return offer?.kind === 'closed' ? [{ route, reason: offer.details, since }] : [];
    });
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
    return { kind: 'ended', valid: byPrice(valid, network), closedAssets: [] };
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
    if (offer.kind === 'open') {
      if (!('feePayer' in chosen) || chosen.feePayer !== offer.current[0].feePayer) return true;
      return [...(this.#closedAssets.get(routeId)?.values() ?? [])].some(isRecent);
    }
    const closedAt = this.#closedAt.get(routeId);
    return closedAt === undefined || isRecent(closedAt);
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
    const { offers, network, validMs } = this.#deps;
    const closed = (reason: string, details = reason): Offer => ({ kind: 'closed', reason, details });
    const chosen = this.#deps.feePayers.choose(route.id);
    if ('reason' in chosen) return closed(chosen.reason);
    try {
      const unpaid = await offers.findServedUnpaid(route.id);
      if (unpaid !== null) return closed('a payment was served and not paid', servedUnpaid(unpaid));
      const entries = await Promise.all(
        route.prices.map((price) => this.#entryOf(route, price, chosen.feePayer)),
      );
      const [first, ...others] = entries.flatMap((entry) => (entry.kind === 'open' ? [entry.terms] : []));
      const closedEntries = entries.filter((entry) => entry.kind === 'closed');
      if (first === undefined)
        return closed(
          closedEntries.map(({ reason }) => reason).join('; '),
          closedEntries.map(({ details }) => details).join('; '),
        );
      const isMax = route.upstreamPrice !== null;
      for (const terms of [first, ...others]) await offers.offer(route.id, toOffered(terms, isMax));
      this.#reportAssets(route, closedEntries);
      const closedAssets = closedEntries.map(({ asset }) => asset);
      const valid = (await offers.valid(route.id, validMs)).filter(
        ({ asset }) => !closedAssets.includes(asset),
      );
      return {
        kind: 'open',
        current: [first, ...others],
        valid: byPrice(valid, network),
        closedAssets,
      };
    } catch (error) {
      // The last known terms stay open while the database does not respond.
      const known = this.#offers.get(route.id);
      return known?.kind === 'open' ? known : closed('its terms cannot be read now', messageOf(error));
    }
  }

  /** The terms in one asset, or why it cannot be paid with. */
  async #entryOf(route: PricedRoute, price: RoutePrice, feePayer: string): Promise<AssetEntry> {
    const { network, tokenPolicy } = this.#deps;
    const { asset, amount, payTo } = price;
    const { maxTimeoutSeconds, memo } = route;
    const closed = (reason: string, details = reason): AssetEntry => ({
      kind: 'closed',
      asset,
      reason,
      details,
    });
    try {
      const mint = readMint(asset, (await this.#accounts([asset]))[0] ?? null);
      const { program: tokenProgram, decimals } = mint;
      if (price.decimals !== null && price.decimals !== decimals)
        return closed(`mint ${asset} has ${decimals} decimals; the routes file has ${price.decimals}`);
      const tokenAccount = deriveAta(payTo, asset, tokenProgram, true);
      const [wallet, recipient] = await this.#accounts([payTo, tokenAccount]);
      const account = readTokenAccount(tokenAccount, recipient ?? null);
      const refusal =
        walletRefusal(payTo, wallet ?? null) ?? recipientRefusal(mint, account, payTo, tokenPolicy);
      if (refusal !== null) return closed(refusal.message);
      const routeTerms = { asset, amount, payTo, maxTimeoutSeconds, memo };
      const terms: Terms = { network, ...routeTerms, tokenProgram, decimals, tokenAccount, feePayer };
      return { kind: 'open', terms };
    } catch (error) {
      if (isDomainError(error, 'AssetRejected')) return closed(error.message);
      // The last known terms stay open while the nodes do not respond.
      const known = this.#knownTerms(route.id, price);
      if (known !== undefined) return { kind: 'open', terms: known };
      return closed('its terms cannot be read now', messageOf(error));
    }
  }

  #knownTerms(routeId: string, { asset, amount, payTo }: RoutePrice): Terms | undefined {
    const known = this.of(routeId);
    const current = known.kind === 'open' ? known.current : [];
    return current.find((terms) => terms.asset === asset && terms.amount === amount && terms.payTo === payTo);
  }

  #reportAssets({ id }: PricedRoute, closedEntries: readonly ClosedEntry[]): void {
    const known = this.#closedAssets.get(id) ?? new Map<string, number>();
    const closedAt = new Map(
      closedEntries.map(({ asset }) => [asset, known.get(asset) ?? performance.now()] as const),
    );
    this.#closedAssets.set(id, closedAt);
    for (const { asset, details } of closedEntries)
      if (!known.has(asset)) this.#deps.onAssetChange(id, asset, details);
    for (const asset of known.keys()) if (!closedAt.has(asset)) this.#deps.onAssetChange(id, asset, null);
  }

  async #accounts(addresses: readonly string[]) {
    return (await this.#deps.chain.accounts(addresses)).accounts;
  }
}

interface ClosedEntry {
  readonly kind: 'closed';
  readonly asset: string;
  /** As in {@link Offer}. */
  readonly reason: string;
  readonly details: string;
}

type AssetEntry = { readonly kind: 'open'; readonly terms: Terms } | ClosedEntry;

function isRecent(closedAt: number): boolean {
  return performance.now() - closedAt < EAGER_MS;
}

function byPrice(offered: readonly OfferedTerms[], network: Network): TermsByPrice {
  const termsOf = (isMax: boolean) =>
    offered.filter((terms) => (terms.isMax ?? false) === isMax).map((terms) => toTerms(terms, network));
  return { fixed: termsOf(false), capped: termsOf(true) };
}

function servedUnpaid(id: string): string {
  return `payment ${id} was served, and a fork or a false node removed it: acknowledge its alert confirmed_taken_back to sell the route again`;
}

function toOffered({ network, amount, ...terms }: Terms, isMax: boolean): OfferedTerms {
  const offered = { network: network.caip2, ...terms, amount: amount.toString() };
  return isMax ? { ...offered, isMax } : offered;
}

function toTerms(
  { network: _caip2, amount, isMax: _isMax, ...terms }: OfferedTerms,
  network: Network,
): Terms {
  return { network, ...terms, amount: BigInt(amount) };
}
