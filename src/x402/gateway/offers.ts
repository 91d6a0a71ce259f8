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

/** Current terms of a route, with earlier terms that are still valid; or why the route cannot be sold now. */
export type Offer =
  | { readonly kind: 'open'; readonly current: Terms; readonly valid: readonly Terms[] }
  | { readonly kind: 'closed'; readonly reason: string };

export interface OffersDeps {
  readonly offers: OfferRows;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly network: Network;
  /** Addresses of the fee payer keys. Each route has one of them, equal in all processes. */
  readonly feePayers: readonly string[];
  readonly tokenPolicy: TokenPolicy;
  /** How long a quote stays valid after a newer one replaced it. */
  readonly validMs: number;
}

const PAST_MS = 25 * 3_600_000;

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

  /** Terms offered within the last 25 hours: buyers may have paid them, but the payments buy nothing. */
  async past(routeId: string): Promise<readonly Terms[]> {
    const offered = await this.#deps.offers.valid(routeId, PAST_MS);
    return offered.map((terms) => toTerms(terms, this.#deps.network));
  }

  closed(): readonly { readonly routeId: string; readonly reason: string }[] {
    return this.#routes.flatMap(({ id: routeId }) => {
      const offer = this.of(routeId);
      return offer.kind === 'closed' ? [{ routeId, reason: offer.reason }] : [];
    });
  }

  /** Reads mints and token accounts, and stores the current terms. Call it at the start and periodically. */
  async look(): Promise<void> {
    for (const route of this.#routes) this.#offers.set(route.id, await this.#lookAt(route));
  }

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
      // Known terms stay valid while the nodes or the database do not respond.
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
