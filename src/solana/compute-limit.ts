import { DomainError } from '../domain/errors.ts';
import { ataBump } from './ata.ts';
import type { Chain, Simulation } from './chain.ts';
import { describeFailure, failureKind } from './failure-causes.ts';
import { MAX_COMPUTE_UNITS } from './priority-fee.ts';
import { ATA_PROGRAM } from './programs.ts';
import type { TransactionError } from './transaction-error.ts';
import { assembleTransaction, type TransferDraft } from './transactions.ts';
import { TtlCache } from './ttl-cache.ts';

/**
 * Why a transfer would not go through, as simulated on the newest confirmed block: `short` = the hot wallet lacks money there,
 * `refused` = a program says no. `tried` is the message.
 */
export class TransferWouldFail extends Error {
  override readonly name = 'TransferWouldFail';
  readonly kind: 'short' | 'refused';
  readonly error: TransactionError;
  readonly tried: Uint8Array;

  constructor(kind: 'short' | 'refused', error: TransactionError, tried: Uint8Array) {
    super(`the transfer would fail: ${error.text}`);
    this.kind = kind;
    this.error = error;
    this.tried = tried;
  }
}

/**
 * What a transfer was drafted from: accounts read at finalized `slot` or later. `ataFunded` = somebody has sent lamports to the
 * address of the token account that it makes, which takes other steps than making one from nothing. `leastUnits` = present where an
 * attempt of this payment failed in a block: nothing that is known of its shape is used, and its limit is at least this.
 */
export interface DraftBasis {
  readonly slot: bigint;
  readonly ataFunded: boolean;
  readonly leastUnits?: number;
}

/** The basis of a transfer that rests on no account in particular. */
export const NO_BASIS: DraftBasis = { slot: 0n, ataFunded: false };

const SHARED_MS = 600_000;
const MARGIN_PERCENT = 20n;
const UNITS_PER_BUMP = 1_500n;

/**
 * Compute-unit limits found by simulation, once for all transfers of one shape, and each time for those with a hook.
 * Source: exchange-interface: Prioritization fee rules 3.
 */
export class ComputeLimits {
  readonly #chain: Chain;
  readonly #units = new TtlCache<bigint>(SHARED_MS);

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  /**
   * The units that the transfer needs, plus a margin; `trial` is its message with the highest limit.
   * Throws {@link TransferWouldFail}, and DomainError NodeFault where the simulation failed for a reason that may pass.
   */
  async limitFor(draft: TransferDraft, basis: DraftBasis, trial: Uint8Array): Promise<number> {
    const extra = bumpUnits(draft);
    const simulated = async (): Promise<bigint> => {
      const { units, logs } = await this.#simulate(trial, basis);
      // Where another transaction has just made the account, making it cost nothing; forks may take that one back.
      if (draft.token?.createAta === true && !makesAta(logs))
        throw new DomainError(
          'NodeFault',
          `the token account of ${draft.destination} is being made by another transaction, which is not final yet`,
        );
      return units - extra;
    };
    // A hook is foreign code: what it does for one destination says nothing about another.
    const hooked = draft.token !== null && draft.token.hookAccounts.length > 0;
    const isAlone = hooked || basis.leastUnits !== undefined;
    const units = await (isAlone ? simulated() : this.#units.get(shapeOf(draft, basis), simulated));
    return Math.min(MAX_COMPUTE_UNITS, Math.max(withMargin(units + extra), basis.leastUnits ?? 0));
  }

  /** The same for a message that is no transfer, tried each time. */
  async limitOf(trial: Uint8Array): Promise<number> {
    return withMargin((await this.#simulate(trial, NO_BASIS)).units);
  }

  async #simulate(
    message: Uint8Array,
    { slot }: DraftBasis,
  ): Promise<{ readonly units: bigint; readonly logs: readonly string[] }> {
    const { raw } = assembleTransaction(message, new Uint8Array(64));
    const { error, logs, unitsConsumed } = await this.#trial(raw, slot);
    if (error !== null) {
      const kind = failureKind(error, logs);
      if (kind !== 'passing') throw new TransferWouldFail(kind, error, message);
      const why = describeFailure(error, message);
      throw new DomainError('NodeFault', `the transfer would fail now: ${why}`, { logs });
    }
    if (unitsConsumed === null)
      throw new DomainError('NodeFault', 'simulateTransaction: unitsConsumed is missing');
    return { units: unitsConsumed, logs };
  }

  /** A refusal ends the payment for good, so it counts only as another node gives it. */
  async #trial(raw: string, slot: bigint): Promise<Simulation> {
    const first = await this.#chain.simulate(raw, slot);
    const { node, error, logs } = first;
    if (error === null || failureKind(error, logs) !== 'refused') return first;
    const second = await this.#chain.simulateElsewhere(node, raw, slot);
    if (second !== null) return second;
    throw new DomainError('NodeFault', `${node} alone says that the transfer would fail: ${error.text}`);
  }
}

function withMargin(units: bigint): number {
  return Math.min(MAX_COMPUTE_UNITS, Number((units * (100n + MARGIN_PERCENT) + 99n) / 100n));
}

/** Transfers of one shape use the same units, but for the search of the account's address: see {@link bumpUnits}. */
function shapeOf({ token, memo, nonceAccount }: TransferDraft, { ataFunded }: DraftBasis): string {
  const size = memo === null ? 0 : Buffer.byteLength(memo, 'utf8');
  const advances = nonceAccount !== undefined;
  if (token === null) return `SOL ${size} ${advances}`;
  const { mint, createAta, expectedFee } = token;
  return `${mint} ${size} ${createAta} ${ataFunded} ${expectedFee !== null} ${advances}`;
}

/** True where the ATA program called others: it finds an account that is there already by itself. */
function makesAta(logs: readonly string[]): boolean {
  const start = logs.findIndex((line) => line.startsWith(`Program ${ATA_PROGRAM} invoke [`));
  return (
    start !== -1 &&
    logs
      .slice(start + 1)
      .find(isFrame)
      ?.endsWith(' invoke [2]') === true
  );
}

/** A line that says that a program begins or ends. */
function isFrame(line: string): boolean {
  return /^Program \w+ (invoke|success|failed)/.test(line);
}

/** What the ATA program spends on finding the address it makes: the runtime charges 1,500 units for each bump tried. */
function bumpUnits({ token, destination }: TransferDraft): bigint {
  if (token === null || !token.createAta) return 0n;
  return UNITS_PER_BUMP * BigInt(256 - ataBump(destination, token.mint, token.program));
}
