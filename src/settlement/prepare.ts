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
import {
  type AttemptPosition,
  type Composition,
  type Kind,
  type Refusal,
  type SignableAttempt,
} from './kind.ts';
import { type SignHere, signLocally } from './signatures.ts';
import { preparationOf, retryLater } from './state.ts';

/** From this try on, a retryable error holds the settlement. Errors of earlier tries are likely to pass. */
const MIN_TRIES_TO_HOLD = 3;

const CANNOT_PREPARE = 'cannot_prepare';

const MESSAGE_TAKEN: StatusReason = {
  code: 'message_taken',
  message: 'another settlement already has this transaction',
};

export interface PrepareDeps {
  readonly ledger: Ledger;
  readonly kind: Kind;
  /** Signs with keys of this process before the row is stored. Default: the workflow asks for signatures later. */
  readonly sign?: SignHere | undefined;
}

/**
 * Prepares the next attempt: composes it, reserves the money, writes the row. If the same shortage, stop or error is
 * already `displayed` to operators, the activity is retried, so that a long wait adds nothing to the history. A new
 * one is returned.
 */
export async function prepareNext(
  preparing: PrepareDeps,
  settlement: SettlementRow,
  displayed: DisplayedStatus,
): Promise<Preparation> {
  const { id, status, reason } = settlement;
  if (isTerminal(status)) return { kind: 'ended', status, reason };
  const next = new NextAttempt(preparing, settlement);
  try {
    const preparation = await next.prepare().catch((error: unknown) => next.afterRace(error));
    if (!isDisplayed(preparation, displayed)) return preparation;
  } catch (error) {
    const preparation = await holdForError(preparing.ledger, id, error);
    if (!isDisplayed(preparation, displayed)) return preparation;
    // The run must not fail: the settlement continues after the cause is fixed.
    throw mayPass(error) ? error : retryLater(CANNOT_PREPARE, messageOf(error), retryDelayMs());
  }
  throw retryLater(
    displayed.code ?? displayed.status,
    `settlement ${id} still waits: ${displayed.code ?? displayed.status}`,
    retryDelayMs(),
  );
}

class NextAttempt {
  readonly #ledger: Ledger;
  readonly #kind: Kind;
  readonly #sign: SignHere | undefined;
  readonly #settlement: SettlementRow;

  constructor({ ledger, kind, sign }: PrepareDeps, settlement: SettlementRow) {
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
    waitAfterFailure(attempts);
    const begin = () => this.#begin(attempts.length + 1, pricingAfter(attempts));
    return this.#kind.whenReady === undefined ? begin() : this.#kind.whenReady(begin);
  }

  /** Returns the attempt that a concurrent run prepared first. Rethrows every other error. */
  async afterRace(error: unknown): Promise<Preparation> {
    if (!isDomainError(error, 'IllegalTransition')) throw error;
    const settlement = await this.#ledger.settlements.get(this.#settlement.id);
    const { id, status, reason } = settlement;
    if (isTerminal(status)) return { kind: 'ended', status, reason };
    const attempt = await preparationOf(this.#kind, settlement, await this.#ledger.attempts.of(id));
    if (attempt === null) throw error;
    return { kind: 'prepared', attempt };
  }

  /**
   * Composes until message and nonce account are unique, and stores the attempt. Returns the refusal if there is one.
   */
  async #begin(n: number, pricing: AttemptPricing): Promise<Preparation> {
    for (let turn = 0; ; turn += 1) {
      const salt = saltOf(this.#settlement.id, n, turn);
      const composition = await this.#kind
        .compose(this.#settlement, { n, salt, ...pricing })
        .catch(holdForFee);
      if (composition.kind !== 'composed') return this.#refuse(composition, n, pricing);
      const stored = await this.#store(composition);
      if (stored === 'taken' && composition.attempt.adoptedFrom !== null)
        return this.#refuse({ kind: 'rejected', reason: MESSAGE_TAKEN }, n, pricing);
      if (stored === 'taken') continue;
      if (stored.kind === 'stopped') return this.#refuse({ kind: 'held', reason: stored.reason }, n, pricing);
      if (stored.kind === 'short')
        return this.#refuse({ kind: 'awaiting_funds', reason: shortageReason(stored) }, n, pricing);
      const attempt = await preparationOf(this.#kind, this.#settlement, [stored.attempt]);
      if (attempt !== null) return { kind: 'prepared', attempt };
    }
  }

  /** `taken`: another attempt has this message or this nonce account, so the caller composes again. */
  async #store({
    attempt: composed,
    reservations,
  }: Extract<Composition, { kind: 'composed' }>): Promise<
    Exclude<PrepareResult, { kind: 'nonce_taken' }> | 'taken'
  > {
    const sign = this.#sign;
    const tasksOf = async (unsigned: SignableAttempt) =>
      (await this.#kind.tasks?.(this.#settlement, unsigned)) ?? [];
    const attempt = sign === undefined ? composed : await signLocally(tasksOf, composed, sign);
    try {
      const result = await this.#ledger.attempts.prepare(attempt, reservations);
      return result.kind === 'nonce_taken' ? 'taken' : result;
    } catch (error) {
      if (isDomainError(error, 'MessageTaken')) return 'taken';
      throw error;
    }
  }

  async #refuse({ kind, reason }: Refusal, n: number, pricing: AttemptPricing): Promise<Preparation> {
    const { settlements } = this.#ledger;
    const { id } = this.#settlement;
    if (kind === 'needless') {
      const dropped = await settlements.drop(id, reason);
      return { kind: 'ended', status: dropped.status, reason: dropped.reason };
    }
    const moved = await settlements.move(id, kind, reason).catch(holdIfRestored);
    if ('hold' in moved) return this.#refuse({ kind: 'held', reason: moved.hold }, n, pricing);
    // Check again: the confirmation may have arrived between the first check and the move, and is not sent again.
    if (kind === 'awaiting_confirmation' && (await this.#kind.isConfirmed?.(moved)) === true)
      return this.#begin(n, pricing);
    // A settlement paid by a dead attempt was not moved.
    if (isPaidByDead(moved)) return { kind: 'waiting', status: 'held', reason: moved.reason };
    return kind === 'rejected'
      ? { kind: 'ended', status: kind, reason }
      : { kind: 'waiting', status: kind, reason };
  }
}

type AttemptPricing = Pick<AttemptPosition, 'lastPrice' | 'minUnits'>;

/**
 * Raises the price only after an attempt that did not land. A failed attempt was in a block, so its price was
 * sufficient.
 */
function pricingAfter(attempts: readonly AttemptRow[]): AttemptPricing {
  const last = attempts.at(-1);
  const lastPrice = last?.state === 'dead' ? last.computeUnitPriceMicroLamports : null;
  const failed = attempts.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return { lastPrice };
  const lackingUnits = failed.filter(({ error }) => mayLackUnits(recordedError(error ?? '')));
  return {
    lastPrice,
    minUnits: Math.max(0, ...lackingUnits.map(({ computeUnitLimit }) => 2 * computeUnitLimit)),
  };
}

/**
 * Throws until the wait after the last failure is over. The row of the attempt has the start of the wait, so a crash
 * loses no timer.
 */
function waitAfterFailure(attempts: readonly AttemptRow[]): void {
  const failed = attempts.filter(({ state }) => state === 'failed');
  const { n = 0, endedAt = null } = failed.at(-1) ?? {};
  if (endedAt === null || n !== attempts.length) return;
  const waitMs = waitAfter(failed.length);
  const leftMs = endedAt.getTime() + waitMs - Date.now();
  // A clock far behind the database's clock cannot measure the wait.
  if (leftMs <= 0 || leftMs > 2 * waitMs) return;
  const message = `attempt ${n} failed on chain: the next attempt follows in ${Math.ceil(leftMs / 1_000)} s`;
  throw retryLater(ATTEMPT_FAILED, message, Math.min(leftMs, retryDelayMs()));
}

/** Holds a settlement whose fee is above the configured bound, until the fee falls or an operator raises the bound. */
function holdForFee(error: unknown): Refusal {
  if (!isDomainError(error, 'FeeAboveBound')) throw error;
  return { kind: 'held', reason: { code: 'fee_above_bound', message: error.message } };
}

/** Why the settlement cannot be rejected yet: an attempt lost in a database restore may have paid it. */
function holdIfRestored(error: unknown): { readonly hold: StatusReason } {
  if (!isDomainError(error, 'DatabaseIncomplete')) throw error;
  return { hold: { code: String(error.context['reason']), message: error.message } };
}

/** `awaiting_confirmation` is always returned, because the run itself waits for the customer. */
function isDisplayed(preparation: Preparation, displayed: DisplayedStatus): boolean {
  if (preparation.kind !== 'waiting' || preparation.status === 'awaiting_confirmation') return false;
  return preparation.status === displayed.status && preparation.reason.code === displayed.code;
}

/**
 * Holds the settlement after several failed tries, or at once for an error that no retry fixes. Rethrows
 * expected waits and errors that may still pass. Callers handle a lost race and a refusal of the signer.
 */
async function holdForError(ledger: Ledger, id: string, error: unknown): Promise<Preparation> {
  if (error instanceof ApplicationFailure) throw error;
  if (isDomainError(error, 'IllegalTransition') || isDomainError(error, 'SigningRefused')) throw error;
  if (mayPass(error) && activityInfo().attempt < MIN_TRIES_TO_HOLD) throw error;
  const message = messageOf(error);
  const reason: StatusReason = { code: CANNOT_PREPARE, message };
  const held = await ledger.settlements.move(id, 'held', reason);
  return { kind: 'waiting', status: 'held', reason: held.reason ?? reason };
}

function mayPass(error: unknown): boolean {
  return !isDomainError(error) || error.retryable;
}

function shortageReason({ wallet, asset, missing }: Extract<PrepareResult, { kind: 'short' }>): StatusReason {
  const missingAmount = describeAmount({ asset, amount: missing.toString() });
  return { code: 'insufficient_funds', message: `wallet ${wallet} lacks ${missingAmount}` };
}

// Grows to six times the first delay, so that a wait of days asks the chain only about twice a minute.
function retryDelayMs(): number {
  return TIMEOUTS.prepareAgainMs * Math.min(6, activityInfo().attempt);
}

/** A number from 0 to 65,535, derived from the attempt's identity. */
function saltOf(id: string, n: number, turn: number): bigint {
  return BigInt(createHash('sha256').update(`${id}/${n}/${turn}`).digest().readUInt16BE(0));
}
