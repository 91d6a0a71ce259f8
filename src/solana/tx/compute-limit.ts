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

/**
 * A transfer that fails in simulation on the newest confirmed block. `short`: the hot wallet lacks funds. `refused`:
 * a program refuses the transfer. `tried` is the message.
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
 * The state that a transfer was drafted from: accounts read at finalized `slot` or later. `ataFunded`: the address of
 * the token account to be created already has lamports, which takes other steps. `minUnits`: set if an attempt of
 * this payment failed in a block. Then no shared limit is used, and the limit is at least this.
 */
export interface DraftBasis {
  readonly slot: bigint;
  readonly ataFunded: boolean;
  readonly minUnits?: number;
}

export const NO_BASIS: DraftBasis = { slot: 0n, ataFunded: false };

const SHARED_MS = 600_000;
const MARGIN_PERCENT = 20n;
/** Two nodes agree if their units differ by no more; a hook may do a little more on the next block. */
const AGREED_PERCENT = 10n;
const UNITS_PER_BUMP = 1_500n;
/** Memo programs may use more units for text that they escape in their logs. */
const PLAIN_TEXT = /^[\w .,:;/+-]*$/;

export type LimitsChain = Pick<Chain, 'simulations'>;

/**
 * Compute unit limits from simulation on two nodes: once for all transfers of one shape, and each time for transfers
 * with a hook.
 * Source: docs/interface.md, Prioritization fee rules 3.
 */
export class ComputeLimits {
  readonly #chain: LimitsChain;
  readonly #units = new TtlCache<bigint>(SHARED_MS);

  constructor(chain: LimitsChain) {
    this.#chain = chain;
  }

  /**
   * The units that the transfer needs, plus a margin; `trial` is its message with the highest limit.
   * Throws {@link TransferWouldFail}. Throws DomainError NodeFault if too few nodes agree, or if the failure may pass.
   */
  async limitFor(draft: TransferDraft, basis: DraftBasis, trial: Uint8Array): Promise<number> {
    const extra = bumpUnits(draft);
    // A hook is foreign code: its units for one destination say nothing about another.
    const foreign = draft.token !== null && draft.token.hookAccounts.length > 0;
    const simulated = async (): Promise<bigint> => {
      const { units, logs } = await this.#simulate(trial, basis.slot);
      // If another transaction has just created the account, creating it costs nothing; a fork may undo that.
      if (draft.token?.createAta === true && !makesAta(logs))
        throw new DomainError(
          'NodeFault',
          `the token account of ${draft.destination} is being made by another transaction, which is not final yet`,
        );
      return units - extra;
    };
    const isAlone = foreign || basis.minUnits !== undefined;
    const units = await (isAlone ? simulated() : this.#units.get(shapeOf(draft, basis), simulated));
    return Math.min(MAX_COMPUTE_UNITS, Math.max(withMargin(units + extra), basis.minUnits ?? 0));
  }

  /** The same for the upkeep of a nonce account, simulated each time. */
  async limitOfUpkeep(trial: Uint8Array): Promise<number> {
    return withMargin((await this.#simulate(trial, NO_BASIS.slot)).units);
  }

  /** The highest units that a quorum returns, from banks of `slot` or later. */
  async #simulate(message: Uint8Array, slot: bigint) {
    const { raw } = assembleTransaction(message, new Uint8Array(64));
    const { alike, others, faults } = await this.#chain.simulations(raw, slot, isAlike);
    const [first] = alike;
    if (first === undefined) throw undecided(others, faults);
    const { error, logs } = first;
    if (error !== null) {
      const kind = failureKind(error, logs);
      if (kind !== 'passing') throw new TransferWouldFail(kind, error, message);
      const reason = describeFailure(error, message);
      throw new DomainError('NodeFault', `the transfer would fail now: ${reason}`, { logs });
    }
    return { units: highest([0n, ...alike.map(unitsOf)]), logs };
  }
}

/** True if two simulations end alike: the same kind of failure, or nearly the same units on the same path. */
function isAlike(one: Simulation, other: Simulation): boolean {
  if (one.error === null && other.error === null) {
    const [less, more] = [unitsOf(one), unitsOf(other)].toSorted(ascending);
    const near = ((more ?? 0n) - (less ?? 0n)) * 100n <= (more ?? 0n) * AGREED_PERCENT;
    return near && makesAta(one.logs) === makesAta(other.logs);
  }
  if (one.error === null || other.error === null) return false;
  return failureKind(one.error, one.logs) === failureKind(other.error, other.logs);
}

function unitsOf({ unitsConsumed }: Simulation): bigint {
  return unitsConsumed ?? 0n;
}

function undecided(shown: readonly Simulation[], faults: readonly string[]): DomainError {
  const ends = shown.map(({ node, error, unitsConsumed }) =>
    error === null
      ? `${node}: takes ${unitsConsumed} compute units`
      : `${node}: the transfer fails: ${error.text}`,
  );
  const message = `no quorum of nodes returns the same simulation of the transfer: ${[...ends, ...faults].join('; ')}`;
  return new DomainError('NodeFault', message);
}

function withMargin(units: bigint): number {
  return Math.min(MAX_COMPUTE_UNITS, Number((units * (100n + MARGIN_PERCENT) + 99n) / 100n));
}

/**
 * Transfers of one shape use the same units, except for the search of the account's address: see {@link bumpUnits}.
 * The shape includes everything that the transfer's accounts lead to, so that no untested transfer reuses a limit.
 */
function shapeOf({ token, memo, nonceAccount }: TransferDraft, { ataFunded }: DraftBasis): string {
  const text = memo === null || PLAIN_TEXT.test(memo) ? (memo?.length ?? -1) : `"${memo}"`;
  const advances = nonceAccount !== undefined;
  if (token === null) return `SOL ${text} ${advances}`;
  const { mint, program, decimals, createAta, expectedFee } = token;
  return [mint, program, decimals, createAta, ataFunded, expectedFee !== null, advances, text].join(' ');
}

/** True if the ATA program called another program: if the account exists already, it calls none. */
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

function isFrame(line: string): boolean {
  return /^Program \w+ (invoke|success|failed)/.test(line);
}

/** Units that the ATA program uses to find the address: the runtime charges 1,500 units for each bump tried. */
function bumpUnits({ token, destination }: TransferDraft): bigint {
  if (token === null || !token.createAta) return 0n;
  return UNITS_PER_BUMP * BigInt(256 - ataBump(destination, token.mint, token.program));
}
