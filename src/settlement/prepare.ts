import { createHash } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { describeAmount } from '../domain/amount.ts';
import { ATTEMPT_FAILED, waitAfter } from '../domain/chain-failures.ts';
import { isDomainError, messageOf } from '../domain/errors.ts';
import { isPaidByDead, isTerminal, type StatusReason } from '../domain/settlement.ts';
import type { DisplayedStatus, Preparation } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow, PrepareResult } from '../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import { recordedError } from '../solana/tx/error.ts';
import { mayLackUnits } from '../solana/tx/failure-causes.ts';
import { type AttemptPosition, type Composition, type Kind, type Refusal } from './kind.ts';
import { type SignHere, signedHere } from './signatures.ts';
import { notYet, preparationOf } from './state.ts';

/** Try from which a retryable error is shown. Earlier ones are likely to pass. */
const TRIES_UNSEEN = 3;

const CANNOT_PREPARE = 'cannot_prepare';

const TAKEN: StatusReason = {
  code: 'message_taken',
  message: 'another settlement already has this transaction',
};

export interface Preparing {
  readonly ledger: Ledger;
  readonly kind: Kind;
  /** Signs with keys of this process before the row is written. Default: the workflow asks for signatures later. */
  readonly sign?: SignHere | undefined;
}

/**
 * Prepares the next attempt: composes it, reserves the money, writes the row. A shortage, stop or error that operators
 * already see (`shown`) is retried, so that a long wait adds nothing to the history. A new one is returned.
 */
export async function prepareNext(
  preparing: Preparing,
  settlement: SettlementRow,
  shown: DisplayedStatus,
): Promise<Preparation> {
  const { id, status, reason } = settlement;
  if (isTerminal(status)) return { kind: 'ended', status, reason };
  const next = new NextAttempt(preparing, settlement);
  try {
    const preparation = await next.prepare().catch((error: unknown) => next.afterRace(error));
    if (!isSeen(preparation, shown)) return preparation;
  } catch (error) {
    const preparation = await holdForError(preparing.ledger, id, error);
    if (!isSeen(preparation, shown)) return preparation;
    // The run must not fail: the settlement continues after the cause is fixed.
    throw mayPass(error) ? error : notYet(CANNOT_PREPARE, messageOf(error), retryDelay());
  }
  throw notYet(shown.code ?? shown.status, 'it still waits for the same', retryDelay());
}

class NextAttempt {
  readonly #ledger: Ledger;
  readonly #kind: Kind;
  readonly #sign: SignHere | undefined;
  readonly #settlement: SettlementRow;

  constructor({ ledger, kind, sign }: Preparing, settlement: SettlementRow) {
    this.#ledger = ledger;
    this.#kind = kind;
    this.#sign = sign;
    this.#settlement = settlement;
  }

  async prepare(): Promise<Preparation> {
    const settlement = this.#settlement;
    if (isPaidByDead(settlement)) return { kind: 'waiting', status: 'held', reason: settlement.reason };
    const attempts = await this.#ledger.attempts.of(settlement.id);
    const current = await preparationOf(this.#kind, settlement, attempts);
    if (current !== null) return { kind: 'prepared', attempt: current };
    waitForFailure(attempts);
    const begin = () => this.#begin(attempts.length + 1, afterAttempts(attempts));
    return this.#kind.whenReady === undefined ? begin() : this.#kind.whenReady(begin);
  }

  /** Uses the attempt of a concurrent run that was faster. Rethrows every other error. */
  async afterRace(error: unknown): Promise<Preparation> {
    if (!isDomainError(error, 'IllegalTransition')) throw error;
    const settlement = await this.#ledger.settlements.get(this.#settlement.id);
    const { id, status, reason } = settlement;
    if (isTerminal(status)) return { kind: 'ended', status, reason };
    const attempt = await preparationOf(this.#kind, settlement, await this.#ledger.attempts.of(id));
    if (attempt === null) throw error;
    return { kind: 'prepared', attempt };
  }

  /** Composes until message and nonce account are unique, and writes the attempt; or returns the refusal. */
  async #begin(n: number, after: Earlier): Promise<Preparation> {
    for (let turn = 0; ; turn += 1) {
      const salt = saltOf(this.#settlement.id, n, turn);
      const composition = await this.#kind.compose(this.#settlement, { n, salt, ...after }).catch(holdForFee);
      if (composition.kind !== 'composed') return this.#turnAway(composition, n, after);
      const written = await this.#write(composition);
      if (written === 'taken' && composition.attempt.adoptedFrom !== null)
        return this.#turnAway({ kind: 'rejected', reason: TAKEN }, n, after);
      if (written === 'taken') continue;
      if (written.kind === 'stopped')
        return this.#turnAway({ kind: 'held', reason: written.reason }, n, after);
      if (written.kind === 'short')
        return this.#turnAway({ kind: 'awaiting_funds', reason: shortOf(written) }, n, after);
      const attempt = await preparationOf(this.#kind, this.#settlement, [written.attempt]);
      if (attempt !== null) return { kind: 'prepared', attempt };
    }
  }

  /** `taken`: another attempt has this message or this nonce account, so the caller composes again. */
  async #write({
    attempt: composed,
    reservations,
  }: Extract<Composition, { kind: 'composed' }>): Promise<
    Exclude<PrepareResult, { kind: 'nonce_taken' }> | 'taken'
  > {
    const sign = this.#sign;
    const attempt =
      sign === undefined ? composed : await signedHere(this.#kind, this.#settlement, composed, sign);
    try {
      const result = await this.#ledger.attempts.prepare(attempt, reservations);
      return result.kind === 'nonce_taken' ? 'taken' : result;
    } catch (error) {
      if (isDomainError(error, 'MessageTaken')) return 'taken';
      throw error;
    }
  }

  async #turnAway({ kind, reason }: Refusal, n: number, after: Earlier): Promise<Preparation> {
    const { settlements } = this.#ledger;
    const { id } = this.#settlement;
    if (kind === 'needless') {
      const dropped = await settlements.drop(id, reason);
      return { kind: 'ended', status: dropped.status, reason: dropped.reason };
    }
    const moved = await settlements.move(id, kind, reason).catch(unlessRestored);
    if ('hold' in moved) return this.#turnAway({ kind: 'held', reason: moved.hold }, n, after);
    // The confirmation may have arrived between the check and the move, and is not sent again.
    if (kind === 'awaiting_confirmation' && (await this.#kind.isConfirmed?.(moved)) === true)
      return this.#begin(n, after);
    // A settlement paid by a dead attempt was not moved.
    if (isPaidByDead(moved)) return { kind: 'waiting', status: 'held', reason: moved.reason };
    return kind === 'rejected'
      ? { kind: 'ended', status: kind, reason }
      : { kind: 'waiting', status: kind, reason };
  }
}

type Earlier = Pick<AttemptPosition, 'lastPrice' | 'minUnits'>;

/** Raises the price only after an attempt that did not land. A failed attempt was in a block. */
function afterAttempts(attempts: readonly AttemptRow[]): Earlier {
  const last = attempts.at(-1);
  const lastPrice = last?.state === 'dead' ? last.computeUnitPriceMicroLamports : null;
  const failed = attempts.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return { lastPrice };
  const short = failed.filter(({ error }) => mayLackUnits(recordedError(error ?? '')));
  return { lastPrice, minUnits: Math.max(0, ...short.map((one) => 2 * one.computeUnitLimit)) };
}

/** Throws until the wait after the last failure is over. The attempt row has its start, so a crash loses no timer. */
function waitForFailure(attempts: readonly AttemptRow[]): void {
  const failed = attempts.filter(({ state }) => state === 'failed');
  const { n = 0, endedAt = null } = failed.at(-1) ?? {};
  if (endedAt === null || n !== attempts.length) return;
  const waitMs = waitAfter(failed.length);
  const leftMs = endedAt.getTime() + waitMs - Date.now();
  // A clock far behind the database's clock cannot measure the wait.
  if (leftMs <= 0 || leftMs > 2 * waitMs) return;
  const message = `attempt ${n} failed on chain: the next one follows in ${Math.ceil(leftMs / 1_000)} s`;
  throw notYet(ATTEMPT_FAILED, message, Math.min(leftMs, retryDelay()));
}

/** Holds a settlement whose fee is above the configured bound, until the fee falls or an operator raises the bound. */
function holdForFee(error: unknown): Refusal {
  if (!isDomainError(error, 'FeeAboveBound')) throw error;
  return { kind: 'held', reason: { code: 'fee_above_bound', message: error.message } };
}

/** Why the settlement cannot be rejected yet: an attempt lost in a database restore may have paid it. */
function unlessRestored(error: unknown): { readonly hold: StatusReason } {
  if (!isDomainError(error, 'RecordInDoubt')) throw error;
  return { hold: { code: String(error.context['reason']), message: error.message } };
}

/** `awaiting_confirmation` is never a retry: the run itself waits for the customer. */
function isSeen(preparation: Preparation, shown: DisplayedStatus): boolean {
  if (preparation.kind !== 'waiting' || preparation.status === 'awaiting_confirmation') return false;
  return preparation.status === shown.status && preparation.reason.code === shown.code;
}

/**
 * Holds the settlement after several failed tries, or at once for an error that no retry fixes. Rethrows
 * expected waits and errors that may still pass. Callers handle a lost race and a refusal of the signer.
 */
async function holdForError(ledger: Ledger, id: string, error: unknown): Promise<Preparation> {
  if (error instanceof ApplicationFailure) throw error;
  if (isDomainError(error, 'IllegalTransition') || isDomainError(error, 'SigningRefused')) throw error;
  if (mayPass(error) && activityInfo().attempt < TRIES_UNSEEN) throw error;
  const message = messageOf(error);
  const reason: StatusReason = { code: CANNOT_PREPARE, message };
  const held = await ledger.settlements.move(id, 'held', reason);
  return { kind: 'waiting', status: 'held', reason: held.reason ?? reason };
}

function mayPass(error: unknown): boolean {
  return !isDomainError(error) || error.retryable;
}

function shortOf({ wallet, asset, missing }: Extract<PrepareResult, { kind: 'short' }>): StatusReason {
  const lack = describeAmount({ asset, amount: missing.toString() });
  return { code: 'insufficient_funds', message: `wallet ${wallet} lacks ${lack}` };
}

// Grows to six times the first delay: a wait of days asks the chain about twice a minute.
function retryDelay(): number {
  return TIMEOUTS.prepareAgainMs * Math.min(6, activityInfo().attempt);
}

/** A number from 0 to 65,535, derived from the attempt's identity. */
function saltOf(id: string, n: number, turn: number): bigint {
  return BigInt(createHash('sha256').update(`${id}/${n}/${turn}`).digest().readUInt16BE(0));
}
