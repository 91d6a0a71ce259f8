import { createHash } from 'node:crypto';
import type { Chain } from '../solana/chain.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';
import type { Budgets } from './budgets.ts';

export interface FeePayersDeps {
  readonly chain: Pick<Chain, 'accounts' | 'rentMinimum'>;
  readonly budgets: Pick<Budgets, 'isFeePayerWithinBudget'>;
  /** Addresses of the fee payer keys for new payments. */
  readonly addresses: readonly string[];
  /** Maximum fee of one payment in lamports. */
  readonly maxFeeLamports: bigint;
}

/** Number of payments that a fee payer must still be able to pay for, so that payments of its last terms succeed. */
const RESERVED_PAYMENTS = 100n;

/** A shop with many routes and payments sees an exhausted key in time, because of the reserve. */
const SHARED_MS = 5_000;
/** At the start of a development stack, the SOL of a key becomes final a moment later. */
const START_MS = 60_000;

/** Chooses the fee payer of a route's terms: the first one, in an order by hash, that has balance and budget. */
export class FeePayers {
  readonly #deps: FeePayersDeps;
  readonly #readings = new TtlCache<ReadonlySet<string>>(SHARED_MS);
  readonly #startedAt = performance.now();
  #usable: ReadonlySet<string> | null = null;

  constructor(deps: FeePayersDeps) {
    this.#deps = deps;
  }

  /**
   * Reads balances and budgets, at most once in five seconds, but more often while a key is unusable in the first minute.
   * While they cannot be read, the last ones count.
   */
  async refresh(): Promise<void> {
    this.#usable = await this.#readings.get('', () => this.#read());
    const isStarting = performance.now() - this.#startedAt < START_MS;
    if (isStarting && this.#usable.size < this.#deps.addresses.length) this.#readings.forget('');
  }

  async #read(): Promise<ReadonlySet<string>> {
    const { chain, budgets, addresses, maxFeeLamports } = this.#deps;
    const [{ accounts }, rent, withinBudget] = await Promise.all([
      chain.accounts(addresses),
      chain.rentMinimum(0),
      Promise.all(addresses.map((address) => budgets.isFeePayerWithinBudget(address))),
    ]);
    const minLamports = rent + RESERVED_PAYMENTS * maxFeeLamports;
    const isUsable = (index: number) =>
      (accounts[index]?.lamports ?? 0n) >= minLamports && withinBudget[index] === true;
    return new Set(addresses.filter((_, index) => isUsable(index)));
  }

  /** The address, or why the route has none now. */
  choose(routeId: string): { readonly feePayer: string } | { readonly reason: string } {
    const { addresses } = this.#deps;
    if (addresses.length === 0) return { reason: 'no fee payer is configured: set SLUICE_FEE_PAYERS' };
    const usable = this.#usable;
    if (usable === null) return { reason: 'the balances of the fee payers have not been read yet' };
    const feePayer = inOrderOf(routeId, addresses).find((address) => usable.has(address));
    if (feePayer !== undefined) return { feePayer };
    return {
      reason: `each fee payer lacks SOL or has spent its budget for one hour: ${addresses.join(', ')}`,
    };
  }
}

/** The addresses in an order that is equal in all processes, so that routes use all keys. */
export function inOrderOf(routeId: string, addresses: readonly string[]): readonly string[] {
  const hash = createHash('sha256').update(routeId).digest().readUInt32BE(0);
  const first = hash % Math.max(1, addresses.length);
  return [...addresses.slice(first), ...addresses.slice(0, first)];
}
