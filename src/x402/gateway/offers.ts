import { createHash } from 'node:crypto';
import { isDomainError, messageOf } from '../../domain/errors.ts';
import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { OfferedTerms, Offers as OfferRows } from '../../ledger/x402/offers.ts';
import type { Chain } from '../../solana/chain.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { type MintInfo, readMint } from '../../solana/tokens/mint.ts';
import { readTokenAccount } from '../../solana/tokens/token-account.ts';
import type { Network } from '../networks.ts';
import type { PricedRoute } from '../routes/route.ts';
import { recipientRefusal } from '../rules/mint-policy.ts';
import type { Terms } from '../terms.ts';

/** What a route asks for now, and before that what buyers may still pay; or why nothing can be sold there now. */
export type Offer =
  | { readonly kind: 'open'; readonly current: Terms; readonly valid: readonly Terms[] }
  | { readonly kind: 'closed'; readonly reason: string };

export interface OffersDeps {
  readonly offers: OfferRows;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly network: Network;
  /** Addresses of the keys that pay the fees; each route has one of them, the same in all processes. */
  readonly feePayers: readonly string[];
  readonly tokenPolicy: TokenPolicy;
  /** How long a quote is valid after another one has replaced it. */
  readonly validMs: number;
}

const PAST_MS = 25 * 3_600_000;

/** The terms of all priced routes, as the chain and the record allow them. */
export class RouteOffers {
  readonly #deps: OffersDeps;
  readonly #routes: readonly PricedRoute[];
  readonly #offers = new Map<string, Offer>();

  constructor(deps: OffersDeps, routes: readonly PricedRoute[]) {
    this.#deps = deps;
    this.#routes = routes;
  }

  of(routeId: string): Offer {
    return this.#offers.get(routeId) ?? { kind: 'closed', reason: 'its terms are not read yet' };
  }

  /** What a route has asked for within a day and an hour: buyers may have paid it, and it buys nothing any more. */
  async past(routeId: string): Promise<readonly Terms[]> {
    const offered = await this.#deps.offers.valid(routeId, PAST_MS);
    return offered.map((terms) => toTerms(terms, this.#deps.network));
  }

  /** The routes that cannot be sold now. */
  closed(): readonly { readonly routeId: string; readonly reason: string }[] {
    return this.#routes.flatMap(({ id: routeId }) => {
      const offer = this.of(routeId);
      return offer.kind === 'closed' ? [{ routeId, reason: offer.reason }] : [];
    });
  }

  /** Reads mints and token accounts from the chain, and says on record what is asked for. Call it at the start, and then again and again. */
  async look(): Promise<void> {
    for (const route of this.#routes) this.#offers.set(route.id, await this.#lookAt(route));
  }

  /** The same for the routes that cannot be sold now. */
  async lookAtClosed(): Promise<void> {
    for (const route of this.#routes)
      if (this.of(route.id).kind === 'closed') this.#offers.set(route.id, await this.#lookAt(route));
  }

  async #lookAt(route: PricedRoute): Promise<Offer> {
    const { offers, network, validMs } = this.#deps;
    const feePayer = this.#feePayerOf(route.id);
    if (feePayer === undefined) return { kind: 'closed', reason: 'no fee payer is set: SLUICE_FEE_PAYERS' };
    try {
      const mint = await this.#mintOf(route.asset);
      if (route.decimals !== null && route.decimals !== mint.decimals)
        return {
          kind: 'closed',
          reason: `${route.asset} has ${mint.decimals} decimals, not ${route.decimals}`,
        };
      const tokenAccount = deriveAta(route.payTo, route.asset, mint.program);
      const reason = await this.#refusal(route, mint, tokenAccount);
      if (reason !== null) return { kind: 'closed', reason };
      const { asset, amount, payTo, maxTimeoutSeconds, memo } = route;
      const { program: tokenProgram, decimals } = mint;
      const current: Terms = {
        network,
        asset,
        tokenProgram,
        decimals,
        amount,
        payTo,
        tokenAccount,
        feePayer,
        maxTimeoutSeconds,
        memo,
      };
      await offers.offer(route.id, toOffered(current));
      const valid = (await offers.valid(route.id, validMs)).map((offered) => toTerms(offered, network));
      return { kind: 'open', current, valid };
    } catch (error) {
      // What was known before stays good while the nodes or the record do not answer.
      const known = this.#offers.get(route.id);
      if (known?.kind === 'open' && !isDomainError(error, 'AssetRejected')) return known;
      return { kind: 'closed', reason: messageOf(error) };
    }
  }

  #feePayerOf(routeId: string): string | undefined {
    const { feePayers } = this.#deps;
    const place = createHash('sha256').update(routeId).digest().readUInt32BE(0);
    return feePayers[place % Math.max(1, feePayers.length)];
  }

  async #mintOf(asset: string): Promise<MintInfo> {
    const { accounts } = await this.#deps.chain.accounts([asset]);
    return readMint(asset, accounts[0] ?? null);
  }

  async #refusal({ payTo }: PricedRoute, mint: MintInfo, tokenAccount: string): Promise<string | null> {
    const { accounts } = await this.#deps.chain.accounts([tokenAccount]);
    const account = readTokenAccount(tokenAccount, accounts[0] ?? null);
    return recipientRefusal(mint, account, payTo, this.#deps.tokenPolicy)?.message ?? null;
  }
}

function toOffered({ network, amount, ...terms }: Terms): OfferedTerms {
  return { network: network.caip2, ...terms, amount: amount.toString() };
}

function toTerms({ network: _caip2, amount, ...terms }: OfferedTerms, network: Network): Terms {
  return { network, ...terms, amount: BigInt(amount) };
}
