import type { AttemptVerdict } from './attempt.ts';
import { ATTEMPT_FAILED } from './chain-failures.ts';
import type { SettlementStatus, StatusReason } from './settlement.ts';

/** Texts of one kind of settlement for operators. They replace the common texts of this file. */
export interface KindTexts {
  /** What a settlement in a state waits for, as a noun phrase. */
  readonly waitsFor?: Readonly<Partial<Record<SettlementStatus, string>>>;
  readonly nextSteps?: Readonly<Partial<Record<SettlementStatus, string>>>;
  /** By reason code of the hold. */
  readonly nextStepsOfHolds?: Readonly<Record<string, string>>;
  /** The next step if the attempt is proved dead and the proof is not stored yet. */
  readonly nextStepOfDeadAttempt?: string;
}

/** What a settlement in each state waits for, as text for operators. */
const WAITS_FOR: Readonly<Record<SettlementStatus, string>> = {
  requested: 'a worker to check the destination and compose the transaction',
  awaiting_confirmation: 'a confirmation or a cancellation',
  awaiting_funds: 'SOL or tokens in its wallet; the settlement then continues automatically',
  preparing: 'the missing signatures',
  sending: 'a block that contains the transaction; until there is one, a worker resends the same bytes',
  confirmed: 'finality',
  held: 'the end of the cause in `reason`; nothing is signed while the settlement is held',
  finalized: 'nothing: its transaction is finalized',
  rejected: 'nothing: it has ended, and none of its transactions landed',
  cancelled: 'nothing: it has ended, and none of its transactions landed',
  failed: 'nothing: its transaction failed on chain',
  dead: 'nothing: its transaction is proved dead',
};

/** What a settlement waits for, as text for operators. `code` is its reason code. */
export function waitsFor(texts: KindTexts, status: SettlementStatus, code: string | null = null): string {
  if (status === 'preparing' && code === ATTEMPT_FAILED)
    return 'the next attempt, which a worker composes automatically';
  return texts.waitsFor?.[status] ?? WAITS_FOR[status];
}

const EVIDENCE_MISSING =
  'repair the nodes that `reason` names, or add one; the settlement continues automatically once they answer';

/** How an operator ends a hold, by reason code. No command can force a signature while the cause persists. */
const STEP_BY_HOLD_CODE: Readonly<Record<string, string>> = {
  evidence_missing: EVIDENCE_MISSING,
  cannot_prepare: 'fix the cause in `reason`; the settlement then continues automatically',
  paused:
    '`sluice settlements resume --reason <text>` ends the pause; `sluice alerts list` shows the pause and the alerts that caused it',
  database_restored:
    'wait: the settlement continues automatically once every earlier attempt has landed or expired',
  fee_above_bound: 'raise `SLUICE_MAX_FEE_LAMPORTS` of the chain workers and of the signer',
  no_free_nonce:
    'wait until a nonce account is proved free, or create more with `sluice nonces create --count <count>`',
  signing_refused:
    'find out why the signer refused; a worker repeats the request, and composes a new attempt once this one is proved dead',
  maybe_paid:
    'check whether the chain already has the effect of the settlement: if so, `sluice settlements mark-paid <id> --reason <text>`; if not, `sluice alerts close --kind maybe_paid --subject <id> --reason <text>`',
  payment_keeps_failing:
    'find out why the attempts fail on chain, then `sluice alerts close --kind payment_keeps_failing --subject <id> --reason <text>` to allow more attempts; or cancel it',
  attempt_lost: 'restore a newer backup of the database; the settlement then continues automatically',
  dead_attempt_landed:
    'check whether the attempt that was proved dead has landed: if so, `sluice settlements mark-paid <id> --reason <text>` ends it as paid; if not, `sluice alerts close --kind dead_attempt_landed --subject <id> --reason <text>` allows its payment; `sluice settlements resume` ends the pause',
};

const STEP_BY_STATUS: Readonly<Record<SettlementStatus, string>> = {
  requested:
    'a worker composes the transaction; if the state does not change, start a worker on task queue `sluice`',
  awaiting_confirmation: 'confirm or cancel the settlement',
  awaiting_funds: 'fund the wallet that `reason` names; the settlement then continues automatically',
  preparing:
    'the signer signs with its keys; the holder of any other key sends its signature by the update `giveSignature`; if signatures of the signer stay missing, start a signer on task queue `sluice-signer`',
  sending: 'wait: a worker sends the same bytes again until a block contains them or they are proved dead',
  confirmed: 'wait for finality',
  held: 'fix the cause in `reason`; the settlement then continues automatically',
  finalized: 'nothing: it has ended',
  rejected: 'nothing: it has ended',
  cancelled: 'nothing: it has ended',
  failed: 'nothing: it has ended',
  dead: 'nothing: it has ended',
};

const STEP_OF_DEAD_ATTEMPT =
  'nothing: a worker records the proof, and composes the next attempt if its kind allows one';

/** The next step of a settlement, as text for operators. `verdict`: of its current signed attempt; null without one. */
export function nextStep(
  texts: KindTexts,
  { status, reason }: { readonly status: SettlementStatus; readonly reason: StatusReason | null },
  verdict: AttemptVerdict['kind'] | null,
): string {
  switch (verdict) {
    case 'landed':
      return 'nothing: a worker records that it has landed';
    case 'failed':
      return 'nothing: a worker records that it has failed on chain, and composes the next attempt if the cause can pass';
    case 'dead':
      return texts.nextStepOfDeadAttempt ?? STEP_OF_DEAD_ATTEMPT;
    case 'alive':
      return STEP_BY_STATUS[status === 'confirmed' ? 'confirmed' : 'sending'];
    case 'unknown':
      return EVIDENCE_MISSING;
    case null:
      return stepOf(texts, status, reason?.code ?? '');
    default:
      return verdict satisfies never;
  }
}

function stepOf(texts: KindTexts, status: SettlementStatus, code: string): string {
  if (status === 'preparing' && code === ATTEMPT_FAILED)
    return 'wait: a worker composes the next attempt automatically';
  if (status === 'held')
    return texts.nextStepsOfHolds?.[code] ?? STEP_BY_HOLD_CODE[code] ?? STEP_BY_STATUS.held;
  return texts.nextSteps?.[status] ?? STEP_BY_STATUS[status];
}
