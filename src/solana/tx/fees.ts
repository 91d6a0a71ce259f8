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
  /** Maximum fee of one transaction in lamports: base fee plus priority fee. */
  readonly maxFeeLamports: bigint;
  /** How long a price request waits for others that share its RPC call, in ms. Default 400. */
  readonly requestWindowMs?: number;
}

type ComputeSettings = Pick<TransferSpec, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

/** A composed message with its compute unit limit and price. */
export interface FeePlan extends ComputeSettings {
  readonly message: Uint8Array;
  /** Exact fee: base fee plus priority fee. */
  readonly feeLamports: bigint;
}

interface PlanRequest {
  readonly compose: (settings: ComputeSettings) => Uint8Array;
  readonly limitOf: (trialMessage: Uint8Array) => Promise<number>;
  readonly ownAccounts: readonly string[];
  /** Price of the previous attempt, in micro-lamports per compute unit; null for the first attempt. */
  readonly lastPrice: bigint | null;
  readonly salt: bigint;
}

/** Percentile of recent prices that attempts pay, 0 to 1. */
const PRICE_PERCENTILE = 0.75;
const MAX_ACCOUNTS_PER_REQUEST = 128;
const REQUEST_WINDOW_MS = 400;
/** Key of a price request without accounts, which returns the price over all transactions. */
const ANY_ACCOUNT = '';

export type FeeChain = LimitsChain & Pick<Chain, 'baseFee' | 'recentPrice'>;

/**
 * Composes messages with a compute unit limit from simulation and a price from recent blocks.
 * Source: docs/interface.md, Prioritization fee rules.
 */
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
    this.#prices = new Batcher(MAX_ACCOUNTS_PER_REQUEST, windowMs, (accounts) => this.#ask(accounts));
  }

  /**
   * Plans an attempt of a transfer. `lastPrice`: price of the previous attempt, null for the first attempt. `salt`:
   * varies the price, so that equal transfers have different messages. Throws TransferWouldFail if the transfer fails
   * in simulation. Throws DomainError InvalidRequest if the transaction exceeds a packet, and FeeAboveBound if its
   * fee exceeds `maxFeeLamports` even at the lowest price. Throws NodeFault if too few nodes agree on the simulation,
   * or if a later try can succeed.
   */
  plan(
    draft: TransferDraft,
    lastPrice: bigint | null,
    salt: bigint,
    basis: DraftBasis = NO_BASIS,
  ): Promise<FeePlan> {
    const compose = (settings: ComputeSettings) => composeTransfer({ ...draft, ...settings });
    const limitOf = (trialMessage: Uint8Array) => this.#limits.limitFor(draft, basis, trialMessage);
    return this.#plan({ compose, limitOf, ownAccounts: accountsOf(draft), lastPrice, salt });
  }

  /** Plans the creation or the advance of a nonce account. Throws as {@link plan}. */
  planUpkeep(draft: NonceUpkeepDraft, lastPrice: bigint | null, salt: bigint): Promise<FeePlan> {
    const compose = (settings: ComputeSettings) => composeUpkeep({ ...draft, ...settings });
    const limitOf = (trialMessage: Uint8Array) => this.#limits.limitForUpkeep(trialMessage);
    const ownAccounts = [draft.wallet, nonceAddress(draft.wallet, draft.seed)];
    return this.#plan({ compose, limitOf, ownAccounts, lastPrice, salt });
  }

  async #plan({ compose, limitOf, ownAccounts, lastPrice, salt }: PlanRequest): Promise<FeePlan> {
    const trialMessage = compose({ computeUnitLimit: MAX_COMPUTE_UNITS, computeUnitPriceMicroLamports: 0n });
    const contendedAccounts = decodeMessage(trialMessage).writable.filter(
      (account) => !ownAccounts.includes(account),
    );
    const [recentPrice, computeUnitLimit, baseFee] = await Promise.all([
      this.#recentPrice(contendedAccounts),
      limitOf(trialMessage),
      this.#chain.baseFee(base64.encode(trialMessage), 0n),
    ]);
    const bounds = this.#boundsFor(computeUnitLimit, baseFee);
    const computeUnitPriceMicroLamports = attemptPrice(recentPrice, lastPrice, salt, bounds);
    const settings = { computeUnitLimit, computeUnitPriceMicroLamports };
    const feeLamports = baseFee + priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
    return { ...settings, message: compose(settings), feeLamports };
  }

  /** The price bounds, with a cap that keeps the fee within `maxFeeLamports`. */
  #boundsFor(computeUnitLimit: number, baseFee: bigint): PriceBounds {
    const { floorMicroLamports, capMicroLamports, maxFeeLamports } = this.#options;
    const highestPrice = maxPrice(computeUnitLimit, maxFeeLamports - baseFee);
    if (baseFee <= maxFeeLamports && highestPrice >= floorMicroLamports)
      return { floorMicroLamports, capMicroLamports: lowest([capMicroLamports, highestPrice]) };
    const minFee = baseFee + priorityLamports(computeUnitLimit, floorMicroLamports);
    const message = `the fee of the transaction is at least ${minFee} lamports, but SLUICE_MAX_FEE_LAMPORTS is ${maxFeeLamports}: raise that setting of chain workers and signer, or lower SLUICE_PRIORITY_FLOOR_MICRO_LAMPORTS`;
    throw new DomainError('FeeAboveBound', message);
  }

  /** The highest price over the accounts, because the transaction locks all of them. */
  async #recentPrice(accounts: readonly string[]): Promise<bigint> {
    const keys = accounts.length === 0 ? [ANY_ACCOUNT] : accounts;
    return highest([0n, ...(await Promise.all(keys.map((account) => this.#prices.get(account))))]);
  }

  // The answer is the maximum over all accounts of the call, so it is an upper bound for each transfer that shares it.
  async #ask(keys: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const accounts = keys.filter((account) => account !== ANY_ACCOUNT);
    const price = await this.#chain.recentPrice(accounts, PRICE_PERCENTILE);
    return new Map(keys.map((key) => [key, price]));
  }
}

/** Accounts that only our payments lock, so that prices paid for them are our own. */
function accountsOf({ source, token, nonceAccount }: TransferDraft): readonly string[] {
  return [
    source,
    ...(token === null ? [] : [deriveAta(source, token.mint, token.program)]),
    ...(nonceAccount === undefined ? [] : [nonceAccount]),
  ];
}
