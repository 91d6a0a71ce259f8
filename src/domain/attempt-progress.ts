import type { AttemptVerdict } from './attempt.ts';
import { ATTEMPT_FAILED } from './chain-failures.ts';
import { type SettlementStatus, type StatusReason, WITHDRAWAL } from './settlement.ts';

/** What a withdrawal in each state waits for, as text for operators. */
export const WAITS_FOR: Readonly<Record<SettlementStatus, string>> = {
  requested: 'a worker to check the destination and compose the transaction',
  awaiting_confirmation: 'the customer: `confirmDestination` or `cancelWithdrawal`',
  awaiting_funds: 'the hot wallet to be funded; it goes on by itself',
  preparing: 'the signer',
  sending: 'a block that carries the transaction; the same bytes are sent again until then',
  confirmed: 'finality',
  held: 'what its reason names; nothing is signed until then',
  finalized: 'nothing: paid, for ever',
  rejected: 'nothing: it was not paid and never will be',
  cancelled: 'nothing: it was not paid and never will be',
  failed: 'nothing: the transaction failed on chain and paid nothing',
  dead: 'nothing: its transaction is proved dead and paid nothing',
};

/** Overrides {@link WAITS_FOR} for other kinds of settlement: they have no customer, and may not pay. */
const OTHERS_WAIT_FOR: Readonly<Partial<Record<SettlementStatus, string>>> = {
  awaiting_funds: 'its wallet to be funded; it goes on by itself',
  preparing: 'the signatures that are missing',
  finalized: 'nothing: its transaction is finalized',
  rejected: 'nothing: it has ended, and none of its transactions landed',
  cancelled: 'nothing: it has ended, and none of its transactions landed',
  failed: 'nothing: its transaction failed on chain',
  dead: 'nothing: its transaction is proved dead',
};

/** What a settlement of this kind waits for, as text for operators. `code` is its reason code. */
export function waitsFor(kind: string, status: SettlementStatus, code: string | null = null): string {
  if (status === 'preparing' && code === ATTEMPT_FAILED) return 'the next attempt, which follows by itself';
  return (kind === WITHDRAWAL ? undefined : OTHERS_WAIT_FOR[status]) ?? WAITS_FOR[status];
}

/** How each reason to hold a settlement ends, by reason code. No order can force a signature past a hold. */
const ENDS_HOLD: Readonly<Record<string, string>> = {
  evidence_missing: 'mend the nodes that are named, or add one; it goes on by itself when they tell',
  cannot_prepare: 'mend what the reason names; it goes on by itself',
  paused:
    '`sluice settlements resume --reason <text>` ends the pause; `sluice alerts list` shows it, and the alerts that began it',
  record_restored: 'wait: it goes on by itself once the gap in the record is looked over',
  fee_above_bound: 'raise `SLUICE_MAX_FEE_LAMPORTS` of the chain workers and of the signer',
  no_free_nonce:
    'wait for an account to be proved free, or make more with `sluice nonces create --count <count>`',
  hot_account_frozen: 'have the issuer thaw the token account of the hot wallet; it goes on by itself',
  mint_paused: 'wait for the issuer to resume the mint; it goes on by itself',
  default_frozen: 'the customer opens a token account and has the issuer thaw it; it goes on by itself',
  account_frozen: 'the customer has the issuer thaw the token account; it goes on by itself',
  confidential_only:
    'the customer enables non-confidential transfers of the token account; it goes on by itself',
  mint_changed:
    'find out why the mint is another one; the withdrawal goes on if the mint matches its listing again, else cancel it',
  signing_refused:
    'find out why the signer refused; the same request tries again, and a new attempt follows once this one is proved dead',
  maybe_paid:
    'look whether the receiver has its money: then `sluice settlements mark-paid <id> --reason <text>`, else `sluice alerts close --kind maybe_paid --subject <id> --reason <text>`',
  payment_keeps_failing:
    'find out why its attempts fail on chain, then `sluice alerts close --kind payment_keeps_failing --subject <id> --reason <text>`: more attempts follow; else cancel it',
  record_lost: 'restore a newer record; it then goes on by itself',
  dead_attempt_landed:
    'look whether its dead attempt has landed: then `sluice settlements mark-paid <id> --reason <text>` ends it as paid, else `sluice alerts close --kind dead_attempt_landed --subject <id> --reason <text>` lets it be paid; `sluice settlements resume` ends the pause',
};

/** Overrides {@link ENDS_HOLD} for kinds other than withdrawals: they have no receiver to check. */
const ENDS_HOLD_OF_OTHERS: Readonly<Record<string, string>> = {
  maybe_paid:
    'look on the chain whether it is done already: then `sluice settlements mark-paid <id> --reason <text>`, else `sluice alerts close --kind maybe_paid --subject <id> --reason <text>`',
};

/** Overrides {@link BY_STATUS} for kinds other than withdrawals: external keys may have to sign them too. */
const BY_STATUS_OF_OTHERS: Readonly<Partial<Record<SettlementStatus, string>>> = {
  awaiting_funds: 'fund the wallet that its reason names; it goes on by itself',
  preparing:
    'the signer signs with our keys, and the holder of any other key sends its signature by the update `giveSignature`; if our signatures are missing for long, start a signer on task queue `sluice-signer`',
};

const BY_STATUS: Readonly<Record<SettlementStatus, string>> = {
  requested: 'a worker composes the transaction; where that takes long, start one on task queue `sluice`',
  awaiting_confirmation:
    '`sluice withdrawals confirm <id>` pays the wallet as it is, `sluice withdrawals cancel <id>` ends it',
  awaiting_funds: 'fund the hot wallet; it goes on by itself',
  preparing:
    'the signer signs, and a worker sends; where that takes long, start a signer on task queue `sluice-signer`, or one more chain worker',
  sending: 'wait: the same bytes are sent again until a block carries them or they are proved dead',
  confirmed: 'wait for finality',
  held: 'mend what the reason names; it goes on by itself',
  finalized: 'nothing: it has ended',
  rejected: 'nothing: it has ended',
  cancelled: 'nothing: it has ended',
  failed: 'nothing: it has ended',
  dead: 'nothing: it has ended',
};

/** The next step of a settlement, as text for operators. `verdict` is the one on its live signed attempt, if any. */
export function nextStep(
  kind: string,
  { status, reason }: { readonly status: SettlementStatus; readonly reason: StatusReason | null },
  verdict: AttemptVerdict['kind'] | null,
): string {
  switch (verdict) {
    case 'landed':
      return 'nothing: a worker records that it has landed';
    case 'failed':
      return 'nothing: a worker records that it has failed on chain; the next attempt follows if the cause can pass';
    case 'dead':
      return kind === WITHDRAWAL
        ? 'nothing: a worker records the proof and composes the next attempt'
        : 'nothing: a worker records the proof; the next attempt follows if its kind allows one';
    case 'alive':
      return BY_STATUS[status === 'confirmed' ? 'confirmed' : 'sending'];
    case 'unknown':
      return ENDS_HOLD.evidence_missing ?? BY_STATUS.held;
    case null:
      return stepOf(kind, status, reason?.code ?? '');
    default:
      return verdict satisfies never;
  }
}

function stepOf(kind: string, status: SettlementStatus, code: string): string {
  const isOther = kind !== WITHDRAWAL;
  if (status === 'preparing' && code === ATTEMPT_FAILED) return 'wait: the next attempt follows by itself';
  if (status !== 'held') return (isOther ? BY_STATUS_OF_OTHERS[status] : undefined) ?? BY_STATUS[status];
  return (isOther ? ENDS_HOLD_OF_OTHERS[code] : undefined) ?? ENDS_HOLD[code] ?? BY_STATUS.held;
}
