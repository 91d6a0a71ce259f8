import { base64 } from '@scure/base';
import { DomainError } from '../../domain/errors.ts';
import { highest, lowest } from '../../domain/units.ts';
import type { Chain } from '../chain.ts';
import { nonceAddress } from '../nonces/account.ts';
import { composeUpkeep, type NonceUpkeepDraft } from '../nonces/upkeep.ts';
import { Batcher } from '../rpc/batcher.ts';
import { deriveAta } from '../tokens/ata.ts';
import { ComputeLimits, type DraftBasis, type LimitsChain, NO_BASIS } from './compute-limit.ts';
import { decodeMessage } from './message.ts';
import {
  attemptPrice,
  MAX_COMPUTE_UNITS,
  maxPrice,
  type PriceBounds,
  priorityLamports,
} from './priority-fee.ts';
import { composeTransfer, type TransferDraft, type TransferSpec } from './transfer.ts';

export interface FeeOptions extends PriceBounds {
  /** Upper limit of the whole fee of one transaction, base and priority. */
  readonly maxFeeLamports: bigint;
  /** How long a price request waits to share its call, in ms. Default 400. */
  readonly requestWindowMs?: number;
}

type ComputeSettings = Pick<TransferSpec, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

/** A composed message with its limits, and its exact whole fee in lamports, which is also its fee cap. */
export interface FeePlan extends ComputeSettings {
  readonly message: Uint8Array;
  readonly feeLamports: bigint;
}

interface PlanRequest {
  readonly compose: (settings: ComputeSettings) => Uint8Array;
  readonly limitOf: (trial: Uint8Array) => Promise<number>;
  readonly own: readonly string[];
  readonly last: bigint | null;
  readonly salt: bigint;
}

/** The percentile of recent prices to follow, 0 to 1. */
const PERCENTILE = 0.75;
const ACCOUNTS_PER_REQUEST = 128;
const REQUEST_WINDOW_MS = 400;
/** Key of a price request without accounts: the price over all transactions. */
const ANY = '';

export type FeeChain = LimitsChain & Pick<Chain, 'baseFee' | 'recentPrice'>;

/** Unit limits by simulation, prices from recent blocks. Source: docs/interface.md, Prioritization fee rules. */
export class FeePlanner {
  readonly #chain: FeeChain;
  readonly #options: FeeOptions;
  readonly #limits: ComputeLimits;
  readonly #prices: Batcher<bigint>;

  constructor(chain: FeeChain, options: FeeOptions) {
    this.#chain = chain;
    this.#options = options;
    this.#limits = new ComputeLimits(chain);
    const windowMs = options.requestWindowMs ?? REQUEST_WINDOW_MS;
    this.#prices = new Batcher(ACCOUNTS_PER_REQUEST, windowMs, (accounts) => this.#ask(accounts));
  }

  /**
   * ComputeSettings for an attempt. `last` is the price of the previous attempt, null for the first; `salt` makes equal
   * transfers different messages. Throws TransferWouldFail if the chain would not accept the transfer. Throws
   * DomainError InvalidRequest if it exceeds a packet, and FeeAboveBound if the fee limit is below the lowest price.
   * Throws NodeFault if too few nodes agree on the simulation, or it failed for a reason that may pass.
   */
  plan(
    draft: TransferDraft,
    last: bigint | null,
    salt: bigint,
    basis: DraftBasis = NO_BASIS,
  ): Promise<FeePlan> {
    const compose = (settings: ComputeSettings) => composeTransfer({ ...draft, ...settings });
    const limitOf = (trial: Uint8Array) => this.#limits.limitFor(draft, basis, trial);
    return this.#plan({ compose, limitOf, own: ownAccounts(draft), last, salt });
  }

  /** Limits and fee for creating or advancing a nonce account. Throws as {@link plan}. */
  planUpkeep(draft: NonceUpkeepDraft, last: bigint | null, salt: bigint): Promise<FeePlan> {
    const compose = (settings: ComputeSettings) => composeUpkeep({ ...draft, ...settings });
    const limitOf = (trial: Uint8Array) => this.#limits.limitOfUpkeep(trial);
    const own = [draft.wallet, nonceAddress(draft.wallet, draft.seed)];
    return this.#plan({ compose, limitOf, own, last, salt });
  }

  async #plan({ compose, limitOf, own, last, salt }: PlanRequest): Promise<FeePlan> {
    const trial = compose({ computeUnitLimit: MAX_COMPUTE_UNITS, computeUnitPriceMicroLamports: 0n });
    const foreign = decodeMessage(trial).writable.filter((account) => !own.includes(account));
    const [recent, computeUnitLimit, base] = await Promise.all([
      this.#recentPrice(foreign),
      limitOf(trial),
      this.#chain.baseFee(base64.encode(trial), 0n),
    ]);
    const bounds = this.#boundsFor(computeUnitLimit, base);
    const computeUnitPriceMicroLamports = attemptPrice(recent, last, salt, bounds);
    const settings = { computeUnitLimit, computeUnitPriceMicroLamports };
    const feeLamports = base + priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
    return { ...settings, message: compose(settings), feeLamports };
  }

  /** The price limits, with a cap that keeps the whole fee within its limit. */
  #boundsFor(computeUnitLimit: number, base: bigint): PriceBounds {
    const { floorMicroLamports, capMicroLamports, maxFeeLamports } = this.#options;
    const highestPrice = maxPrice(computeUnitLimit, maxFeeLamports - base);
    if (base <= maxFeeLamports && highestPrice >= floorMicroLamports)
      return { floorMicroLamports, capMicroLamports: lowest([capMicroLamports, highestPrice]) };
    const least = base + priorityLamports(computeUnitLimit, floorMicroLamports);
    const message = `its fee is ${least} lamports at the lowest price, and SLUICE_MAX_FEE_LAMPORTS is ${maxFeeLamports}: raise the setting of chain workers and signer, or lower SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS`;
    throw new DomainError('FeeAboveBound', message);
  }

  /** The highest price over the accounts, because the transaction locks them all. */
  async #recentPrice(accounts: readonly string[]): Promise<bigint> {
    const asked = accounts.length === 0 ? [ANY] : accounts;
    return highest([0n, ...(await Promise.all(asked.map((account) => this.#prices.get(account))))]);
  }

  // One answer is the maximum over all its accounts, so it is an upper bound for each transfer that shares the call.
  async #ask(asked: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const accounts = asked.filter((account) => account !== ANY);
    const price = await this.#chain.recentPrice(accounts, PERCENTILE);
    return new Map(asked.map((account) => [account, price]));
  }
}

/** Accounts that only our payments lock: prices paid for them are our own. */
function ownAccounts({ source, token, nonceAccount }: TransferDraft): readonly string[] {
  return [
    source,
    ...(token === null ? [] : [deriveAta(source, token.mint, token.program)]),
    ...(nonceAccount === undefined ? [] : [nonceAccount]),
  ];
}
