/**
 * States of a settlement: one obligation that must reach the chain at most once. `NEXT` below has the transitions as
 * the ledger enforces them.
 *
 * | state | meaning | next states |
 * |---|---|---|
 * | requested | stored, nothing composed | awaiting_confirmation, awaiting_funds, preparing; rejected, cancelled; held |
 * | awaiting_confirmation | the customer must confirm the destination | awaiting_funds, preparing; rejected, cancelled; held |
 * | awaiting_funds | the wallet lacks the amount | awaiting_confirmation, preparing; rejected, cancelled; held |
 * | preparing | an attempt waits for signatures, or the next one is composed | awaiting_confirmation, awaiting_funds, sending; rejected, cancelled, failed, dead; held |
 * | sending | the attempt is signed, and sent until the chain has a verdict | preparing, confirmed; finalized, failed, dead; held |
 * | confirmed | a node shows the attempt in a confirmed block | sending (a fork reverted it); finalized, failed; held |
 * | held | no verdict, or a reason that an operator or the nodes must end | every state but requested |
 * | finalized | end: an attempt landed | |
 * | rejected | end: it can never be paid, and no attempt can land | |
 * | cancelled | end: by request, or an operator knows that it is paid (`PAID_ALREADY`) | |
 * | failed | end: an attempt failed on chain for a cause that does not pass | |
 * | dead | end: an adopted message is proved dead; only its buyer can make another one | |
 *
 * While an attempt may land, a held settlement goes only where that attempt leads. A settlement that a dead attempt has
 * paid ({@link isPaidByDead}) stays held until an operator ends it or judges that payment as false.
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

/** The commitment at which the callers of a settlement get its answer. */
export type AwaitedCommitment = 'confirmed' | 'finalized';

export const WITHDRAWAL = 'withdrawal';

/**
 * The id of a settlement. A withdrawal has its own id, which contains no slash; every other id begins with its
 * kind, so that ids of two kinds never collide. `subject` is unique within its kind.
 */
export function settlementId(kind: string, subject: string): string {
  return kind === WITHDRAWAL ? subject : `${kind}/${subject}`;
}

export function kindOfSettlement(id: string): string {
  const [kind, subject] = id.split('/');
  return kind === undefined || subject === undefined ? WITHDRAWAL : kind;
}

/** A stable code for programs and a sentence for people. */
export interface StatusReason {
  readonly code: string;
  readonly message: string;
}

/** Why a settlement ends as `dead`: Sluice cannot compose its message anew. */
export const EXPIRED: StatusReason = {
  code: 'expired',
  message:
    'its transaction is proved dead: it did not land before its blockhash expired, and only its buyer can make another one',
};

/** Reason code of a `cancelled` settlement that an operator marked as paid: nothing is refunded. */
export const PAID_ALREADY = 'paid_already';

/** Reason code of a hold, and its alert kind: two nodes return as landed an attempt that was proved dead. */
export const PAID_BY_DEAD = 'dead_attempt_landed';

/**
 * True if the chain has an attempt that was proved dead: the settlement is paid. Nothing more of it is signed,
 * stored or sent, and no result of a later attempt removes this reason. An operator marks it as paid once no
 * attempt is live, or closes its alert as false.
 */
export function isPaidByDead(row: {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
}): row is { readonly status: 'held'; readonly reason: StatusReason } {
  return row.status === 'held' && row.reason?.code === PAID_BY_DEAD;
}

/** Operator orders are absent: only the chain and the customer change states about money. */
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

/** True if `to` may follow `from`. The same state is always allowed, so that a repeated step is harmless. */
export function mayFollow(from: SettlementStatus, to: SettlementStatus): boolean {
  return from === to || NEXT[from].includes(to);
}

/** The states from which `to` may be entered: the condition of a compare-and-set. */
export function statesBefore(to: SettlementStatus): readonly SettlementStatus[] {
  return SETTLEMENT_STATUSES.filter((from) => mayFollow(from, to));
}

/** The scope of a pause: all settlements, those of one kind, or attempts that one wallet signs. */
export type PauseScope = 'all' | `kind/${string}` | `wallet/${string}`;

export const EVERYTHING: PauseScope = 'all';

export const PAUSE_SCOPE = /^(all|(kind|wallet)\/[\w-]{1,64})$/;

/** The scopes whose pauses stop an attempt of this kind with these signers. */
export function scopesOf(kind: string, signers: readonly string[]): readonly PauseScope[] {
  return [EVERYTHING, `kind/${kind}`, ...signers.map((signer): PauseScope => `wallet/${signer}`)];
}

export function isPauseScope(text: string): text is PauseScope {
  return PAUSE_SCOPE.test(text);
}
