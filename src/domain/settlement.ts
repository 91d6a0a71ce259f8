/**
 * Every state that a settlement can be in: one obligation that must reach the chain at most once. `finalized`, `rejected`, `cancelled`,
 * `failed` and `dead` are terminal; `dead` is only that of a message which is never composed anew.
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

/** The kind of withdrawals. */
export const WITHDRAWAL = 'withdrawal';

/**
 * The id of a settlement. That of a withdrawal is the withdrawal's own, which holds no slash; every other begins with its kind, so that
 * no two kinds collide. `subject` is unique within its kind.
 */
export function settlementId(kind: string, subject: string): string {
  return kind === WITHDRAWAL ? subject : `${kind}/${subject}`;
}

/** The kind of the settlement with this id. */
export function kindOfSettlement(id: string): string {
  const [kind, subject] = id.split('/');
  return kind === undefined || subject === undefined ? WITHDRAWAL : kind;
}

/** Why a settlement is where it is: a stable code for programs and a sentence for people. */
export interface StatusReason {
  readonly code: string;
  readonly message: string;
}

/** Why a settlement ends as `dead`: we cannot compose its message anew. */
export const EXPIRED: StatusReason = {
  code: 'expired',
  message:
    'its transaction is proved dead: it did not land before its blockhash expired, and only its buyer can make another one',
};

/** The code of the reason of a `cancelled` one that people say was paid without an attempt on record: nothing of it is given back. */
export const PAID_ALREADY = 'paid_already';

/** The code of the reason to hold a settlement of which two nodes show an attempt that was proved dead; the kind of its alert, too. */
export const PAID_BY_DEAD = 'dead_attempt_landed';

/**
 * True where the chain shows an attempt that was proved dead: it is paid, so nothing more of it is signed, stored or sent, and no
 * observation of a later attempt takes its reason away. People end it as paid once no attempt lives, or judge its alert as false.
 */
export function isPaidByDead(row: {
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
}): row is { readonly status: 'held'; readonly reason: StatusReason } {
  return row.status === 'held' && row.reason?.code === PAID_BY_DEAD;
}

/** Which state may follow which. An operator's wish is not in this table: only the chain and the customer move money states. */
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
  // Held with a live attempt it may only go where that attempt leads; the ledger sees to that.
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

/** The ends that tell whoever asked that nothing was paid. */
export const UNPAID_ENDS: readonly SettlementStatus[] = ['rejected', 'cancelled', 'failed', 'dead'];

/** True where the state never changes again. */
export function isTerminal(status: SettlementStatus): boolean {
  return NEXT[status].length === 0;
}

/** The statuses of settlements that have not ended. */
export const UNFINISHED: readonly SettlementStatus[] = SETTLEMENT_STATUSES.filter(
  (status) => !isTerminal(status),
);

/** How many settlements of a kind have a status. */
export interface SettlementCount {
  readonly kind: string;
  readonly status: SettlementStatus;
  readonly count: number;
}

/** True where `to` may follow `from`; staying is always allowed, so that a repeated step is harmless. */
export function mayFollow(from: SettlementStatus, to: SettlementStatus): boolean {
  return from === to || NEXT[from].includes(to);
}

/** The states from which `to` may be entered: the guard of a compare-and-set. */
export function statesBefore(to: SettlementStatus): readonly SettlementStatus[] {
  return SETTLEMENT_STATUSES.filter((from) => mayFollow(from, to));
}
