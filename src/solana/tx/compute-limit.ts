import { DomainError } from '../../domain/errors.ts';
import { ascending, highest } from '../../domain/units.ts';
import type { Chain } from '../chain.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { ataBump } from '../tokens/ata.ts';
import type { TransactionError } from './error.ts';
import { describeFailure, failureKind } from './failure-causes.ts';
import { MAX_COMPUTE_UNITS } from './priority-fee.ts';
import { ATA_PROGRAM } from './programs.ts';
import type { Simulation } from './simulation.ts';
import { assembleTransaction, type TransferDraft } from './transfer.ts';

/** A quorum's simulations of a transfer fail. `short`: the hot wallet lacks funds. `refused`: a program refuses it. */
export class TransferWouldFail extends Error {
  override readonly name = 'TransferWouldFail';
  readonly kind: 'short' | 'refused';
  readonly error: TransactionError;
  readonly simulatedMessage: Uint8Array;

  constructor(kind: 'short' | 'refused', error: TransactionError, simulatedMessage: Uint8Array) {
    super(`the transfer would fail: ${error.text}`);
    this.kind = kind;
    this.error = error;
    this.simulatedMessage = simulatedMessage;
  }
}

/** The chain state for which a transfer is drafted. */
export interface DraftBasis {
  /** Finalized slot at which the accounts were read, or an earlier slot. */
  readonly slot: bigint;
  /** True if the address of a token account that must be created already has lamports, which changes the units. */
  readonly ataFunded: boolean;
  /** Minimum limit, set after an attempt of this payment failed in a block. The transfer is then simulated alone. */
  readonly minUnits?: number;
}

export const NO_BASIS: DraftBasis = { slot: 0n, ataFunded: false };

const LIMIT_SHARED_MS = 600_000;
const MARGIN_PERCENT = 20n;
/** Largest difference between the units of two nodes that agree: a hook can use a few more units on the next block. */
const MAX_DIFFERENCE_PERCENT = 10n;
const UNITS_PER_BUMP = 1_500n;
/** Text that the memo program does not escape in its logs: escaping uses more units. */
const UNESCAPED_TEXT = /^[\w .,:;/+-]*$/;

export type LimitsChain = Pick<Chain, 'simulations'>;

/**
 * Compute unit limits from simulation on a quorum of nodes. Transfers of the same shape share a limit for ten minutes;
 * a transfer with a hook is always simulated.
 * Source: docs/interface.md, Prioritization fee rules 3.
 */
export class ComputeLimits {
  readonly #chain: LimitsChain;
  readonly #units = new TtlCache<bigint>(LIMIT_SHARED_MS);

  constructor(chain: LimitsChain) {
    this.#chain = chain;
  }

  /**
   * Compute units that the transfer needs, plus a margin. `trialMessage` has the highest limit. Throws
   * {@link TransferWouldFail}, or DomainError NodeFault if too few nodes agree or if a later try can succeed.
   */
  async limitFor(draft: TransferDraft, basis: DraftBasis, trialMessage: Uint8Array): Promise<number> {
    const searchUnits = bumpUnits(draft);
    // A hook can use different units for each destination.
    const hasHook = draft.token !== null && draft.token.hookAccounts.length > 0;
    const simulate = async (): Promise<bigint> => {
      const { units, logs } = await this.#simulate(trialMessage, basis.slot);
      // If another transaction has just created the account, this simulation omits the units of creating it. A fork can
      // remove that account again, so the limit would be too low.
      if (draft.token?.createAta === true && !createsAta(logs))
        throw new DomainError(
          'NodeFault',
          `the token account of ${draft.destination} is being created by another transaction, which is not final yet`,
        );
      return units - searchUnits;
    };
    const isUnshared = hasHook || basis.minUnits !== undefined;
    const units = await (isUnshared ? simulate() : this.#units.get(shapeOf(draft, basis), simulate));
    return Math.min(MAX_COMPUTE_UNITS, Math.max(withMargin(units + searchUnits), basis.minUnits ?? 0));
  }

  /** Compute units for the upkeep of a nonce account, plus a margin. Always simulated. Throws as {@link limitFor}. */
  async limitForUpkeep(trialMessage: Uint8Array): Promise<number> {
    return withMargin((await this.#simulate(trialMessage, NO_BASIS.slot)).units);
  }

  /** The highest units that the nodes of a quorum return, from banks at `slot` or later, and the logs of one node. */
  async #simulate(message: Uint8Array, slot: bigint) {
    const { raw } = assembleTransaction(message, new Uint8Array(64));
    const { quorumResults, otherResults, faults } = await this.#chain.simulations(raw, slot, isAlike);
    const [first] = quorumResults;
    if (first === undefined) throw disagreement(otherResults, faults);
    const { error, logs } = first;
    if (error !== null) {
      const kind = failureKind(error, logs);
      if (kind !== 'passing') throw new TransferWouldFail(kind, error, message);
      const reason = describeFailure(error, message);
      throw new DomainError(
        'NodeFault',
        `the transfer would fail now, but a later try can succeed: ${reason}`,
        { logs },
      );
    }
    return { units: highest([0n, ...quorumResults.map(unitsOf)]), logs };
  }
}

/** True for two failures of the same kind, or for two successes with nearly the same units on the same path. */
function isAlike(one: Simulation, other: Simulation): boolean {
  if (one.error === null && other.error === null) {
    const [less, more] = [unitsOf(one), unitsOf(other)].toSorted(ascending);
    const isNear = ((more ?? 0n) - (less ?? 0n)) * 100n <= (more ?? 0n) * MAX_DIFFERENCE_PERCENT;
    return isNear && createsAta(one.logs) === createsAta(other.logs);
  }
  if (one.error === null || other.error === null) return false;
  return failureKind(one.error, one.logs) === failureKind(other.error, other.logs);
}

function unitsOf({ unitsConsumed }: Simulation): bigint {
  return unitsConsumed ?? 0n;
}

function disagreement(simulations: readonly Simulation[], faults: readonly string[]): DomainError {
  const results = simulations.map(({ node, error, unitsConsumed }) =>
    error === null
      ? `${node}: the transfer takes ${unitsConsumed} compute units`
      : `${node}: the transfer fails: ${error.text}`,
  );
  const message = `no quorum of nodes returns the same simulation of the transfer: ${[...results, ...faults].join('; ')}`;
  return new DomainError('NodeFault', message);
}

function withMargin(units: bigint): number {
  return Math.min(MAX_COMPUTE_UNITS, Number((units * (100n + MARGIN_PERCENT) + 99n) / 100n));
}

/**
 * Cache key of a transfer's limit. Transfers of the same shape use the same units, except for {@link bumpUnits}. The
 * shape includes everything that changes the units, so that a limit is never used for a transfer of another shape.
 */
function shapeOf({ token, memo, nonceAccount }: TransferDraft, { ataFunded }: DraftBasis): string {
  const memoShape = memo === null || UNESCAPED_TEXT.test(memo) ? (memo?.length ?? -1) : `"${memo}"`;
  const hasNonce = nonceAccount !== undefined;
  if (token === null) return `SOL ${memoShape} ${hasNonce}`;
  const { mint, program, decimals, createAta, expectedFee } = token;
  return [mint, program, decimals, createAta, ataFunded, expectedFee !== null, hasNonce, memoShape].join(' ');
}

/** True if the ATA program called another program, which it does only if the account does not exist yet. */
function createsAta(logs: readonly string[]): boolean {
  const start = logs.findIndex((line) => line.startsWith(`Program ${ATA_PROGRAM} invoke [`));
  return (
    start !== -1 &&
    logs
      .slice(start + 1)
      .find(isInvocationLine)
      ?.endsWith(' invoke [2]') === true
  );
}

function isInvocationLine(line: string): boolean {
  return /^Program \w+ (invoke|success|failed)/.test(line);
}

/** Units that the ATA program uses to find the address: the runtime charges 1,500 units for each bump that is tried. */
function bumpUnits({ token, destination }: TransferDraft): bigint {
  if (token === null || !token.createAta) return 0n;
  return UNITS_PER_BUMP * BigInt(256 - ataBump(destination, token.mint, token.program));
}
