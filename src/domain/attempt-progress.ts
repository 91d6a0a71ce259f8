import type { AttemptVerdict } from './attempt.ts';
import { ATTEMPT_FAILED } from './chain-failures.ts';
import { type SettlementStatus, type StatusReason, WITHDRAWAL } from './settlement.ts';

/** What a withdrawal in each state waits for, as text for operators. */
const WAITS_FOR: Readonly<Record<SettlementStatus, string>> = {
  requested: 'a worker to check the destination and compose the transaction',
  awaiting_confirmation: 'the customer: `confirmDestination` or `cancelWithdrawal`',
  awaiting_funds: 'SOL or tokens in the hot wallet; the withdrawal then continues automatically',
  preparing: 'the signer',
  sending: 'a block that contains the transaction; until there is one, a worker resends the same bytes',
  confirmed: 'finality',
  held: 'the end of the cause in `reason`; nothing is signed while the settlement is held',
  finalized: 'nothing: it is paid, and this is final',
  rejected: 'nothing: it is not paid, and no transaction can pay it',
  cancelled: 'nothing: it is not paid, and no transaction can pay it',
  failed: 'nothing: its transaction failed on chain and paid nothing',
  dead: 'nothing: its transaction is proved dead and paid nothing',
};

/** Overrides {@link WAITS_FOR} for other kinds of settlement, which have no customer and do not always pay. */
const WAITS_FOR_OF_OTHERS: Readonly<Partial<Record<SettlementStatus, string>>> = {
  awaiting_funds: 'SOL or tokens in its wallet; the settlement then continues automatically',
  preparing: 'the missing signatures',
  finalized: 'nothing: its transaction is finalized',
  rejected: 'nothing: it has ended, and none of its transactions landed',
  cancelled: 'nothing: it has ended, and none of its transactions landed',
  failed: 'nothing: its transaction failed on chain',
  dead: 'nothing: its transaction is proved dead',
};

/** What a settlement of this kind waits for, as text for operators. `code` is its reason code. */
export function waitsFor(kind: string, status: SettlementStatus, code: string | null = null): string {
  if (status === 'preparing' && code === ATTEMPT_FAILED)
    return 'the next attempt, which a worker composes automatically';
  return (kind === WITHDRAWAL ? undefined : WAITS_FOR_OF_OTHERS[status]) ?? WAITS_FOR[status];
}

/** How an operator ends a hold, by reason code. No command can force a signature while the cause persists. */
const STEP_BY_HOLD_CODE: Readonly<Record<string, string>> = {
  evidence_missing:
    'repair the nodes that `reason` names, or add one; the settlement continues automatically once they answer',
  cannot_prepare: 'fix the cause in `reason`; the settlement then continues automatically',
  paused:
    '`sluice settlements resume --reason <text>` ends the pause; `sluice alerts list` shows the pause and the alerts that caused it',
  database_restored:
    'wait: the settlement continues automatically once every earlier attempt has landed or expired',
  fee_above_bound: 'raise `SLUICE_MAX_FEE_LAMPORTS` of the chain workers and of the signer',
  no_free_nonce:
    'wait until a nonce account is proved free, or create more with `sluice nonces create --count <count>`',
  hot_account_frozen:
    'ask the issuer to thaw the token account of the hot wallet; the withdrawal then continues automatically',
  mint_paused: 'wait until the issuer resumes the mint; the withdrawal then continues automatically',
  default_frozen:
    'the customer opens a token account and asks the issuer to thaw it; the withdrawal then continues automatically',
  account_frozen:
    'the customer asks the issuer to thaw the token account; the withdrawal then continues automatically',
  confidential_only:
    'the customer enables non-confidential transfers of the token account; the withdrawal then continues automatically',
  mint_changed:
    'find out why the mint differs from its listing; the withdrawal continues once both match again; otherwise cancel it',
  signing_refused:
    'find out why the signer refused; a worker repeats the request, and composes a new attempt once this one is proved dead',
  maybe_paid:
    'check whether the receiver is paid: if so, `sluice settlements mark-paid <id> --reason <text>`; if not, `sluice alerts close --kind maybe_paid --subject <id> --reason <text>`',
  payment_keeps_failing:
    'find out why the attempts fail on chain, then `sluice alerts close --kind payment_keeps_failing --subject <id> --reason <text>` to allow more attempts; or cancel it',
  attempt_lost: 'restore a newer backup of the database; the settlement then continues automatically',
  dead_attempt_landed:
    'check whether the attempt that was proved dead has landed: if so, `sluice settlements mark-paid <id> --reason <text>` ends it as paid; if not, `sluice alerts close --kind dead_attempt_landed --subject <id> --reason <text>` allows its payment; `sluice settlements resume` ends the pause',
};

/** Overrides {@link STEP_BY_HOLD_CODE} for kinds other than withdrawals, which have no receiver to check. */
const STEP_BY_HOLD_CODE_OF_OTHERS: Readonly<Record<string, string>> = {
  maybe_paid:
    'check whether the chain already has the effect of the settlement: if so, `sluice settlements mark-paid <id> --reason <text>`; if not, `sluice alerts close --kind maybe_paid --subject <id> --reason <text>`',
};

/** Overrides {@link STEP_BY_STATUS} for kinds other than withdrawals, which external keys may have to sign too. */
const STEP_BY_STATUS_OF_OTHERS: Readonly<Partial<Record<SettlementStatus, string>>> = {
  awaiting_funds: 'fund the wallet that `reason` names; the settlement then continues automatically',
  preparing:
    'the signer signs with its keys; the holder of any other key sends its signature by the update `giveSignature`; if signatures of the signer stay missing, start a signer on task queue `sluice-signer`',
};

const STEP_BY_STATUS: Readonly<Record<SettlementStatus, string>> = {
  requested:
    'a worker composes the transaction; if the state does not change, start a worker on task queue `sluice`',
  awaiting_confirmation:
    '`sluice withdrawals confirm <id>` pays the wallet as it is; `sluice withdrawals cancel <id>` ends the withdrawal',
  awaiting_funds: 'fund the hot wallet; the withdrawal then continues automatically',
  preparing:
    'the signer signs, and a worker sends; if the state does not change, start a signer on task queue `sluice-signer` or a chain worker',
  sending: 'wait: a worker sends the same bytes again until a block contains them or they are proved dead',
  confirmed: 'wait for finality',
  held: 'fix the cause in `reason`; the settlement then continues automatically',
  finalized: 'nothing: it has ended',
  rejected: 'nothing: it has ended',
  cancelled: 'nothing: it has ended',
  failed: 'nothing: it has ended',
  dead: 'nothing: it has ended',
};

/** The next step of a settlement, as text for operators. `verdict`: of its current signed attempt; null without one. */
export function nextStep(
  kind: string,
  { status, reason }: { readonly status: SettlementStatus; readonly reason: StatusReason | null },
  verdict: AttemptVerdict['kind'] | null,
): string {
  switch (verdict) {
    case 'landed':
      return 'nothing: a worker records that it has landed';
    case 'failed':
      return 'nothing: a worker records that it has failed on chain, and composes the next attempt if the cause can pass';
    case 'dead':
      return kind === WITHDRAWAL
        ? 'nothing: a worker records the proof and composes the next attempt'
        : 'nothing: a worker records the proof, and composes the next attempt if its kind allows one';
    case 'alive':
      return STEP_BY_STATUS[status === 'confirmed' ? 'confirmed' : 'sending'];
    case 'unknown':
      return STEP_BY_HOLD_CODE.evidence_missing ?? STEP_BY_STATUS.held;
    case null:
      return stepOf(kind, status, reason?.code ?? '');
    default:
      return verdict satisfies never;
  }
}

function stepOf(kind: string, status: SettlementStatus, code: string): string {
  const isOther = kind !== WITHDRAWAL;
  if (status === 'preparing' && code === ATTEMPT_FAILED)
    return 'wait: a worker composes the next attempt automatically';
  if (status !== 'held')
    return (isOther ? STEP_BY_STATUS_OF_OTHERS[status] : undefined) ?? STEP_BY_STATUS[status];
  return (
    (isOther ? STEP_BY_HOLD_CODE_OF_OTHERS[code] : undefined) ??
    STEP_BY_HOLD_CODE[code] ??
    STEP_BY_STATUS.held
  );
}
