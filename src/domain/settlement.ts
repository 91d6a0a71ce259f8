/**
 * States of a settlement, which is one obligation that must land on chain at most once. The database layer enforces the
 * transitions in `NEXT` below.
 *
 * | state | meaning | next states |
 * |---|---|---|
 * | requested | stored, nothing composed | awaiting_confirmation, awaiting_funds, preparing; rejected, cancelled; held |
 * | awaiting_confirmation | the customer must confirm the destination | awaiting_funds, preparing; rejected, cancelled; held |
 * | awaiting_funds | the wallet lacks the amount | awaiting_confirmation, preparing; rejected, cancelled; held |
 * | preparing | an attempt waits for signatures, or the next one is composed | awaiting_confirmation, awaiting_funds, sending; rejected, cancelled, failed, dead; held |
 * | sending | the attempt is signed, and sent until the chain has a verdict | preparing, confirmed; finalized, failed, dead; held |
 * | confirmed | a node returns the attempt as confirmed | sending (a fork removed it); finalized, failed; held |
 * | held | no verdict, or a reason that an operator or the nodes must end | every state but requested |
 * | finalized | end: an attempt landed | |
 * | rejected | end: it can never be paid, and no attempt can land | |
 * | cancelled | end: by request, or an operator knows that it is paid (`PAID_ALREADY`) | |
 * | failed | end: an attempt failed on chain for a cause that does not pass | |
 * | dead | end: an adopted message is proved dead; only its buyer can make another one | |
 *
 * While an attempt can still land, only the outcome of that attempt can end a hold. A settlement that an attempt paid
 * after it was proved dead ({@link isPaidByDead}) stays held until an operator marks it as paid or closes its alert.
 */
export const SETTLEMENT_STATUSES = [
  'requested',
  'awaiting_confirmation',
  'awaiting_funds',
  'preparing',
  'sending',
  'confirmed',
  'finalized',
  'rejected',
  'cancelled',
  'failed',
  'dead',
  'held',
] as const;

export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number];

/** The commitment that the callers of a settlement wait for. */
export type AwaitedCommitment = 'confirmed' | 'finalized';

/** A stable code for programs and a sentence for people. */
export interface StatusReason {
  readonly code: string;
  readonly message: string;
}

/** Reason of a settlement that ends as `dead`, because Sluice cannot compose its message again. */
export const EXPIRED: StatusReason = {
  code: 'expired',
  message:
    'the transaction is proved dead: it did not land before its blockhash expired, and only the buyer can sign a new one',
};

/** Reason code of a `cancelled` settlement that an operator marked as paid: nothing is refunded. */
export const PAID_ALREADY = 'paid_already';

/** Reason code of a hold, and the kind of its alert: two nodes return an attempt that was proved dead as landed. */
export const PAID_BY_DEAD = 'dead_attempt_landed';

/**
 * True if nodes return an attempt that was proved dead as landed, so the settlement may be paid. Nothing more is
 * signed, stored or sent for it, and no result of a later attempt removes this reason. An operator marks it as paid as
 * soon as no attempt can land, or closes its alert as false.
 */
export function isPaidByDead(row: {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
}): row is { readonly status: 'held'; readonly reason: StatusReason } {
  return row.status === 'held' && row.reason?.code === PAID_BY_DEAD;
}

/**
 * Allowed transitions. Marking a settlement as paid is separate: it is an operator's command, not a transition here.
 */
const NEXT: Readonly<Record<SettlementStatus, readonly SettlementStatus[]>> = {
  requested: ['awaiting_confirmation', 'awaiting_funds', 'preparing', 'rejected', 'cancelled', 'held'],
  awaiting_confirmation: ['awaiting_funds', 'preparing', 'rejected', 'cancelled', 'held'],
  awaiting_funds: ['awaiting_confirmation', 'preparing', 'rejected', 'cancelled', 'held'],
  preparing: [
    'awaiting_confirmation',
    'awaiting_funds',
    'sending',
    'rejected',
    'cancelled',
    'failed',
    'dead',
    'held',
  ],
  sending: ['preparing', 'confirmed', 'finalized', 'failed', 'dead', 'held'],
  confirmed: ['sending', 'finalized', 'failed', 'held'],
  held: [
    'awaiting_confirmation',
    'awaiting_funds',
    'preparing',
    'sending',
    'confirmed',
    'finalized',
    'rejected',
    'cancelled',
    'failed',
    'dead',
  ],
  finalized: [],
  rejected: [],
  cancelled: [],
  failed: [],
  dead: [],
};

export const UNPAID_ENDS: readonly SettlementStatus[] = ['rejected', 'cancelled', 'failed', 'dead'];

export function isTerminal(status: SettlementStatus): boolean {
  return NEXT[status].length === 0;
}

export const UNFINISHED: readonly SettlementStatus[] = SETTLEMENT_STATUSES.filter(
  (status) => !isTerminal(status),
);

export interface SettlementCount {
  readonly kind: string;
  readonly status: SettlementStatus;
  readonly count: number;
}

/** True if the transition is allowed. The same state is always allowed, so that a repeated step has no effect. */
export function mayFollow(from: SettlementStatus, to: SettlementStatus): boolean {
  return from === to || NEXT[from].includes(to);
}

/** The states from which a transition to `to` is allowed: the condition of a compare-and-set. */
export function statesBefore(to: SettlementStatus): readonly SettlementStatus[] {
  return SETTLEMENT_STATUSES.filter((from) => mayFollow(from, to));
}

/** The scope of a pause: all settlements, the settlements of one kind, or the attempts that one wallet signs. */
export type PauseScope = 'all' | `kind/${string}` | `wallet/${string}`;

export const ALL_SETTLEMENTS: PauseScope = 'all';

export const PAUSE_SCOPE = /^(all|(kind|wallet)\/[\w-]{1,64})$/;

/** The scopes whose pauses stop an attempt of this kind with these signers. */
export function scopesOf(kind: string, signers: readonly string[]): readonly PauseScope[] {
  return [ALL_SETTLEMENTS, `kind/${kind}`, ...signers.map((signer): PauseScope => `wallet/${signer}`)];
}

export function isPauseScope(text: string): text is PauseScope {
  return PAUSE_SCOPE.test(text);
}
