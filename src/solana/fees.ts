import { base64 } from '@scure/base';
import { highest } from '../domain/extremes.ts';
import { Batcher } from './batcher.ts';
import type { Chain } from './chain.ts';
import { ComputeLimits, type DraftBasis, NO_BASIS } from './compute-limit.ts';
import { decodeMessage } from './message.ts';
import { composeUpkeep, type NonceUpkeepDraft } from './nonce-upkeep.ts';
import {
  attemptPrice,
  MAX_COMPUTE_UNITS,
  type PriceBounds,
  percentileOf,
  priorityLamports,
} from './priority-fee.ts';
import { composeTransfer, type TransferDraft, type TransferSpec } from './transactions.ts';

export interface FeeOptions extends PriceBounds {
  /** Which of the recent non-zero prices to follow, 0 to 1. Default 0.75. */
  readonly percentile?: number;
  /** How long a question for prices waits for others that share its call, in ms. Default 400. */
  readonly questionWindowMs?: number;
}

/** A transfer with its limits, and everything it will cost in fees (lamports; exact, so it is also the cap). */
export interface FeePlan {
  readonly spec: TransferSpec;
  readonly feeLamports: bigint;
}

type Limits = Pick<TransferSpec, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

const ACCOUNTS_PER_QUESTION = 128;
const QUESTION_WINDOW_MS = 400;

/** Finds unit limits by simulation and prices from recent blocks. Source: exchange-interface: Prioritization fee rules. */
export class FeePlanner {
  readonly #chain: Chain;
  readonly #options: FeeOptions;
  readonly #limits: ComputeLimits;
  readonly #prices: Batcher<bigint>;

  constructor(chain: Chain, options: FeeOptions) {
    this.#chain = chain;
    this.#options = options;
    this.#limits = new ComputeLimits(chain);
    const windowMs = options.questionWindowMs ?? QUESTION_WINDOW_MS;
    this.#prices = new Batcher(ACCOUNTS_PER_QUESTION, windowMs, (accounts) => this.#ask(accounts));
  }

  /**
   * Limits for an attempt. `last` is the price of the one before, null for the first; `salt` (micro-lamports) keeps equal transfers from
   * being one message.
   * Throws TransferWouldFail where the chain would not take the transfer, DomainError InvalidRequest where it fits no packet, and
   * NodeFault where the simulation failed for a reason that may pass.
   */
  async plan(
    draft: TransferDraft,
    last: bigint | null,
    salt: bigint,
    basis: DraftBasis = NO_BASIS,
  ): Promise<FeePlan> {
    const compose = (limits: Limits) => composeTransfer({ ...draft, ...limits }).message;
    const limitOf = (trial: Uint8Array) => this.#limits.limitFor(draft, basis, trial);
    const { limits, feeLamports } = await this.#plan(compose, limitOf, last, salt);
    return { spec: { ...draft, ...limits }, feeLamports };
  }

  /** Limits for making or advancing a nonce account, and what that costs in fees. Throws as {@link plan}. */
  async planUpkeep(
    draft: NonceUpkeepDraft,
    last: bigint | null,
    salt: bigint,
  ): Promise<{ readonly message: Uint8Array; readonly limits: Limits; readonly feeLamports: bigint }> {
    const compose = (limits: Limits) => composeUpkeep({ ...draft, ...limits });
    const { limits, feeLamports } = await this.#plan(
      compose,
      (trial) => this.#limits.limitOf(trial),
      last,
      salt,
    );
    return { message: compose(limits), limits, feeLamports };
  }

  async #plan(
    compose: (limits: Limits) => Uint8Array,
    limitOf: (trial: Uint8Array) => Promise<number>,
    last: bigint | null,
    salt: bigint,
  ): Promise<{ readonly limits: Limits; readonly feeLamports: bigint }> {
    const trial = compose({ computeUnitLimit: MAX_COMPUTE_UNITS, computeUnitPriceMicroLamports: 0n });
    const [recent, computeUnitLimit] = await Promise.all([
      this.#recentPrice(decodeMessage(trial).writable),
      limitOf(trial),
    ]);
    const computeUnitPriceMicroLamports = attemptPrice(recent, last, salt, this.#options);
    const limits = { computeUnitLimit, computeUnitPriceMicroLamports };
    const priority = priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
    const base = await this.#chain.baseFee(base64.encode(compose(limits)), priority);
    return { limits, feeLamports: base + priority };
  }

  /** The highest price that any of the accounts asks for: the transaction locks them all. */
  async #recentPrice(accounts: readonly string[]): Promise<bigint> {
    const prices = await Promise.all(accounts.map((account) => this.#prices.get(account)));
    return highest([0n, ...prices]);
  }

  // One answer is the maximum over all accounts asked for, so it bounds the price of each transfer that asked with others.
  async #ask(accounts: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const recent = await this.#chain.prioritizationFees(accounts);
    const price = percentileOf(recent, this.#options.percentile ?? 0.75);
    return new Map(accounts.map((account) => [account, price]));
  }
}
