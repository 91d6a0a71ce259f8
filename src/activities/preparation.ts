import { createHash } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { describeAmount } from '../domain/amount.ts';
import { DomainError, isDomainError, messageOf } from '../domain/errors.ts';
import type { Preparation, Shown } from '../domain/steps.ts';
import { isPaidByDead, isTerminal, type StatusReason, type WithdrawalTerms } from '../domain/withdrawal.ts';
import type { PrepareResult } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { WithdrawalRow } from '../ledger/withdrawals.ts';
import type { Chain } from '../solana/chain.ts';
import type { Composer, Composition } from './composition.ts';
import { notYet } from './failures.ts';
import type { Stop } from './lifetimes.ts';
import { readmitted } from './lost-record.ts';
import { Pace } from './pace.ts';
import type { Refusal } from './payee.ts';
import { currentAttempt, preparedAttempt } from './prepared-attempt.ts';
import type { WalletWatch } from './wallet-watch.ts';

export interface PreparationDeps {
  readonly ledger: Ledger;
  readonly composer: Composer;
  readonly walletWatch: Pick<WalletWatch, 'look'>;
  readonly chain: Pick<Chain, 'latestBlockhash'>;
}

const RETRY_MS = 5_000;
/** Together less than the time that one try of the activity has, so that a long wait is a reason and no mere timeout. */
const PACE_DEADLINE_MS = 10_000;
const LOOK_DEADLINE_MS = 10_000;
export const LONGEST_WAITS_MS = PACE_DEADLINE_MS + LOOK_DEADLINE_MS;
/** A fault that passes is nobody's business; one that stays is shown from this try on. */
const TRIES_UNSEEN = 3;

/** From a withdrawal on record to the next attempt on record: checks, composes, reserves the money, writes the row. */
export function createPreparation({ ledger, composer, walletWatch, chain }: PreparationDeps) {
  const pace = new Pace(ledger, chain);

  async function compose(row: WithdrawalRow): Promise<Preparation> {
    if (isPaidByDead(row)) return { kind: 'waiting', status: 'held', reason: row.reason };
    const attempts = await ledger.attempts.of(row.id);
    const current = currentAttempt(attempts);
    if (current !== null) return { kind: 'prepared', attempt: current };
    const lastPrice = attempts.at(-1)?.computeUnitPriceMicroLamports ?? null;
    return pace.keep(PACE_DEADLINE_MS, () => begin(row, attempts.length + 1, lastPrice));
  }

  async function begin(row: WithdrawalRow, n: number, lastPrice: bigint | null): Promise<Preparation> {
    await inTime(walletWatch.look());
    const next = await writeNext({ ledger, composer }, row, n, lastPrice);
    if (next.kind === 'prepared') return next;
    return turnAway(ledger, row, next, (confirmed) => begin(confirmed, n, lastPrice));
  }

  return {
    /**
     * A shortage, a stop or a fault that people see already (`shown`) is a retry, so that a long wait adds nothing to the history;
     * one that they do not see is answered.
     */
    async prepareAttempt(input: {
      readonly terms: WithdrawalTerms;
      readonly shown: Shown;
    }): Promise<Preparation> {
      const row = await readmitted(ledger, input.terms);
      if (isTerminal(row.status)) return { kind: 'ended', status: row.status, reason: row.reason };
      try {
        const preparation = await compose(row).catch((error: unknown) => whatIsThere(ledger, row.id, error));
        if (!isSeen(preparation, input.shown)) return preparation;
      } catch (error) {
        const preparation = await stuck(ledger, row.id, error);
        if (isSeen(preparation, input.shown)) throw error;
        return preparation;
      }
      throw notYet(input.shown.code ?? input.shown.status, 'it still waits for the same', retryDelay());
    },
  };
}

/** Records why there is no attempt; `again` goes on where the customer's word came meanwhile. */
async function turnAway(
  ledger: Ledger,
  row: WithdrawalRow,
  { kind, reason }: Refusal | Stop,
  again: (confirmed: WithdrawalRow) => Promise<Preparation>,
): Promise<Preparation> {
  const moved = await ledger.withdrawals.move(row.id, kind, reason).catch(doubtful);
  if ('doubt' in moved) return turnAway(ledger, row, { kind: 'held', reason: moved.doubt }, again);
  // The customer's word may have come after the row was read; nobody would say it again.
  if (kind === 'awaiting_confirmation' && moved.confirmedByCustomer && !row.confirmedByCustomer)
    return again(moved);
  return answerOf(moved, kind, reason);
}

/** What the run hears of a withdrawal that was to be turned away; one that a dead attempt has paid has stayed as it was. */
function answerOf(moved: WithdrawalRow, kind: (Refusal | Stop)['kind'], reason: StatusReason): Preparation {
  if (isPaidByDead(moved)) return { kind: 'waiting', status: 'held', reason: moved.reason };
  return kind === 'rejected'
    ? { kind: 'ended', status: kind, reason }
    : { kind: 'waiting', status: kind, reason };
}

/** What keeps it from being turned away for good: what the record has lost may have paid it. */
function doubtful(error: unknown): { readonly doubt: StatusReason } {
  if (!isDomainError(error, 'RecordInDoubt')) throw error;
  return { doubt: { code: String(error.context['reason']), message: error.message } };
}

/** Where another run was faster, what it left counts; any other error stands. */
async function whatIsThere(ledger: Ledger, id: string, error: unknown): Promise<Preparation> {
  if (!isDomainError(error, 'IllegalTransition')) throw error;
  const { status, reason } = await ledger.withdrawals.get(id);
  if (isTerminal(status)) return { kind: 'ended', status, reason };
  const attempt = currentAttempt(await ledger.attempts.of(id));
  if (attempt === null) throw error;
  return { kind: 'prepared', attempt };
}

/** A wait for the customer is the run's own. */
function isSeen(preparation: Preparation, shown: Shown): boolean {
  if (preparation.kind !== 'waiting' || preparation.status === 'awaiting_confirmation') return false;
  return preparation.status === shown.status && preparation.reason.code === shown.code;
}

/** Holds, for people to see, what could not be prepared again and again; throws the error while it may pass unseen. */
async function stuck(ledger: Ledger, id: string, error: unknown): Promise<Preparation> {
  const passing = !isDomainError(error) || error.retryable;
  if (!passing || activityInfo().attempt < TRIES_UNSEEN) throw error;
  const message = messageOf(error);
  const reason: StatusReason = { code: 'cannot_prepare', message };
  const held = await ledger.withdrawals.move(id, 'held', reason);
  return { kind: 'waiting', status: 'held', reason: held.reason ?? reason };
}

async function inTime(look: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new DomainError('Unavailable', 'the history of the hot wallet is still being read');
    timer = setTimeout(() => reject(error), LOOK_DEADLINE_MS);
  });
  await Promise.race([look, late]).finally(() => clearTimeout(timer));
}

/** Composes until no other attempt has the same message or nonce account, and writes it, or says what keeps it from being written. */
async function writeNext(
  { ledger, composer }: Pick<PreparationDeps, 'ledger' | 'composer'>,
  row: WithdrawalRow,
  n: number,
  lastPrice: bigint | null,
): Promise<Extract<Preparation, { kind: 'prepared' }> | Refusal | Stop> {
  for (let turn = 0; ; turn += 1) {
    const composition = await composer.compose(row, n, saltOf(row.id, n, turn), lastPrice);
    if (composition.kind !== 'composed') return composition;
    const written = await write(ledger, composition);
    if (written === 'taken') continue;
    if (written.kind === 'stopped') return { kind: 'held', reason: written.reason };
    if (written.kind === 'prepared') return { kind: 'prepared', attempt: preparedAttempt(written.attempt) };
    return { kind: 'awaiting_funds', reason: shortOf(written.asset, written.missing) };
  }
}

/** `taken`: another attempt has this very message, or this nonce account, so it must be composed with another price or account. */
async function write(
  ledger: Ledger,
  { attempt, reservation }: Extract<Composition, { kind: 'composed' }>,
): Promise<Exclude<PrepareResult, { kind: 'nonce_taken' }> | 'taken'> {
  try {
    const result = await ledger.attempts.prepare(attempt, reservation);
    return result.kind === 'nonce_taken' ? 'taken' : result;
  } catch (error) {
    if (isDomainError(error, 'MessageTaken')) return 'taken';
    throw error;
  }
}

function shortOf(asset: string, missing: bigint): StatusReason {
  const lack = describeAmount({ asset, amount: missing.toString() });
  return { code: 'insufficient_funds', message: `the hot wallet lacks ${lack}` };
}

// Grows to six times the first delay: a wait of days asks the chain about twice a minute.
function retryDelay(): number {
  return RETRY_MS * Math.min(6, activityInfo().attempt);
}

/** 0 to 65,535 micro-lamports a compute unit: a fraction of a lamport, drawn from the identity of the attempt. */
function saltOf(id: string, n: number, turn: number): bigint {
  return BigInt(createHash('sha256').update(`${id}/${n}/${turn}`).digest().readUInt16BE(0));
}
