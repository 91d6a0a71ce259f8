import { base64 } from '@scure/base';
import { DomainError } from '../domain/errors.ts';
import { Shared } from './batch.ts';
import type { Chain } from './chain.ts';
import { ataBump } from './tokens.ts';
import { assembleTransaction, composeTransfer, hotAccounts, type TransferSpec } from './transactions.ts';

/** Bounds of the price, in micro-lamports a compute unit. */
export interface FeeOptions {
  readonly floorMicroLamports: bigint;
  readonly capMicroLamports: bigint;
  /** Which of the recent non-zero prices to follow, 0 to 1. Default 0.75. */
  readonly percentile?: number;
}

/** A transfer with its limits, and everything it will cost in fees (lamports; exact, so it is also the cap). */
export interface FeePlan {
  readonly spec: TransferSpec;
  readonly feeLamports: bigint;
}

/** A transfer whose limits are still to be found. */
export type TransferDraft = Omit<TransferSpec, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

const PRICES_SHARED_MS = 2_000;
const UNITS_SHARED_MS = 600_000;
const MOST_UNITS = 1_400_000;
// Used only where the simulation lacks money: the reservation decides then, and a limit is needed to know the fee.
const UNITS_WHILE_SHORT = 100_000;
const UNIT_MARGIN_PERCENT = 20n;

/** Finds compute-unit limits by simulation and prices from recent blocks. Source: exchange-interface: Prioritization fee rules. */
export class FeePlanner {
  readonly #chain: Chain;
  readonly #options: FeeOptions;
  readonly #prices = new Shared<bigint>(PRICES_SHARED_MS);
  readonly #units = new Shared<bigint>(UNITS_SHARED_MS);

  constructor(chain: Chain, options: FeeOptions) {
    this.#chain = chain;
    this.#options = options;
  }

  /**
   * Limits for the n-th attempt (1 = first). `salt` (micro-lamports) keeps equal transfers from being one message.
   * Throws {@link TransferWouldFail} where a program refuses the transfer for another reason than money, and DomainError NodeFault
   * where the simulation failed for a reason that may pass.
   */
  async plan(draft: TransferDraft, n: number, salt: bigint): Promise<FeePlan> {
    const [recent, computeUnitLimit] = await Promise.all([this.#recentPrice(draft), this.#limitFor(draft)]);
    const computeUnitPriceMicroLamports = attemptPrice(recent, n, salt, this.#options);
    const spec = { ...draft, computeUnitLimit, computeUnitPriceMicroLamports };
    const priority = priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
    const base = await this.#chain.baseFee(base64.encode(composeTransfer(spec).message), priority);
    return { spec, feeLamports: base + priority };
  }

  #recentPrice(draft: TransferDraft): Promise<bigint> {
    const accounts = hotAccounts(draft);
    return this.#prices.get(accounts.join(), async () =>
      percentileOf(await this.#chain.prioritizationFees(accounts), this.#options.percentile ?? 0.75),
    );
  }

  async #limitFor(draft: TransferDraft): Promise<number> {
    const extra = bumpUnits(draft);
    try {
      const units = await this.#units.get(shapeOf(draft), async () => (await this.#simulate(draft)) - extra);
      const withMargin = ((units + extra) * (100n + UNIT_MARGIN_PERCENT) + 99n) / 100n;
      return Math.min(MOST_UNITS, Number(withMargin));
    } catch (error) {
      if (error instanceof ShortOfMoney) return UNITS_WHILE_SHORT;
      throw error;
    }
  }

  async #simulate(draft: TransferDraft): Promise<bigint> {
    const spec = { ...draft, computeUnitLimit: MOST_UNITS, computeUnitPriceMicroLamports: 0n };
    const { message } = composeTransfer(spec);
    const { raw } = assembleTransaction(message, new Uint8Array(64));
    const { error, logs, unitsConsumed } = await this.#chain.simulate(raw);
    if (error !== null && isShortage(error)) throw new ShortOfMoney(error);
    if (error !== null && isRefusal(error)) throw new TransferWouldFail(error, message, logs);
    if (error !== null) throw new DomainError('NodeFault', `the transfer would fail: ${error}`, { logs });
    if (unitsConsumed === null)
      throw new DomainError('NodeFault', 'simulateTransaction: unitsConsumed is missing');
    return unitsConsumed;
  }
}

/** ceil(limit x price / 1,000,000) lamports. */
export function priorityLamports(computeUnitLimit: number, priceMicroLamports: bigint): bigint {
  return (BigInt(computeUnitLimit) * priceMicroLamports + 999_999n) / 1_000_000n;
}

/** The price at `percentile` (0 to 1) among the non-zero ones; 0 where there is none. */
export function percentileOf(prices: readonly bigint[], percentile: number): bigint {
  const paid = prices.filter((price) => price > 0n).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return paid[Math.min(paid.length - 1, Math.floor(paid.length * percentile))] ?? 0n;
}

/** Doubles with each attempt after the first, stays within floor and cap, and moves by `salt` inside them. */
export function attemptPrice(recent: bigint, n: number, salt: bigint, bounds: FeeOptions): bigint {
  const { floorMicroLamports: floor, capMicroLamports: cap } = bounds;
  const started = recent > floor ? recent : floor;
  const raised = (started > 0n ? started : 1n) * 2n ** BigInt(Math.min(Math.max(n, 1), 32) - 1);
  const salted = (raised > cap ? cap : raised) + salt;
  return salted <= cap ? salted : cap - (salt % (cap - floor + 1n));
}

/** Transfers of one shape use the same units, but for the search of the account's address: see {@link bumpUnits}. */
function shapeOf({ token, memo }: TransferDraft): string {
  const size = memo === null ? 0 : Buffer.byteLength(memo, 'utf8');
  if (token === null) return `SOL ${size}`;
  const { mint, createAta, expectedFee, hookAccounts } = token;
  return `${mint} ${size} ${createAta} ${expectedFee !== null} ${hookAccounts.length}`;
}

/** What the ATA program spends on finding the address it makes: the runtime charges 1,500 units for each bump tried. */
function bumpUnits({ token, destination }: TransferDraft): bigint {
  if (token === null || !token.createAta) return 0n;
  return UNITS_PER_BUMP * BigInt(256 - ataBump(destination, token.mint, token.program));
}

const UNITS_PER_BUMP = 1_500n;

/** A program of the transfer refuses it, as simulated: `error` is the chain's text, `tried` the message. */
export class TransferWouldFail extends Error {
  override readonly name = 'TransferWouldFail';
  readonly error: string;
  readonly tried: Uint8Array;
  readonly logs: readonly string[];

  constructor(error: string, tried: Uint8Array, logs: readonly string[]) {
    super(`the transfer would fail: ${error}`);
    this.error = error;
    this.tried = tried;
    this.logs = logs;
  }
}

class ShortOfMoney extends Error {}

// The System and the token programs say 1 for "insufficient funds"; a token account that does not exist holds nothing.
const SHORTAGES =
  /^(AccountNotFound|InsufficientFundsForFee|\{"InsufficientFundsForRent".*|InvalidAccountForFee)$/;
const SHORT_INSTRUCTION =
  /^\{"InstructionError":\[[0-9]+,(\{"Custom":1\}|"InvalidAccountData"|"IncorrectProgramId"|"UninitializedAccount"|"InsufficientFunds")\]\}$/;

// Token-2022's FeeMismatch: the epoch changed between reading the mint's fee and trying the transfer.
const FEE_OF_ANOTHER_EPOCH = /^\{"InstructionError":\[[0-9]+,\{"Custom":32\}\]\}$/;

function isRefusal(error: string): boolean {
  return error.startsWith('{"InstructionError":') && !FEE_OF_ANOTHER_EPOCH.test(error);
}

function isShortage(error: string): boolean {
  return SHORTAGES.test(error) || SHORT_INSTRUCTION.test(error);
}
