/** Every state a withdrawal can be in. `finalized`, `rejected`, `cancelled` and `failed` are terminal. */
export const WITHDRAWAL_STATUSES = [
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
  'held',
] as const;

export type WithdrawalStatus = (typeof WITHDRAWAL_STATUSES)[number];

/** What the customer asked for. One id for ever; every field a JSON scalar, so that it can enter a Temporal history. */
export interface WithdrawalTerms {
  /** 1-128 characters of `[A-Za-z0-9._:-]`. */
  readonly id: string;
  /** `SOL` or the base58 address of a mint. */
  readonly asset: string;
  /** Base units (lamports or token base units), decimal, 1 to 2^64-1. */
  readonly amount: string;
  /** base58 address of the receiving wallet (never a token account). */
  readonly destination: string;
  /** Pay even if the wallet holds nothing yet. Default false: such a withdrawal waits for `confirmDestination`. */
  readonly acceptEmptyWallet?: boolean;
  /** UTF-8, at most 200 bytes; written to the chain by the Memo program. */
  readonly memo?: string;
}

/** Why a withdrawal is where it is: a stable code for programs and a sentence for people. */
export interface StatusReason {
  readonly code: string;
  readonly message: string;
}

/** Why a withdrawal is `cancelled`. */
export const CANCELLED: StatusReason = {
  code: 'cancelled_by_request',
  message: 'cancelled by request, with nothing of it on its way',
};

/** The code of the reason of a `cancelled` one that people say was paid without an attempt on record: nothing of it is given back. */
export const PAID_ALREADY = 'paid_already';

/** The code of the reason to hold a withdrawal of which the chain shows an attempt that was proved dead. */
export const PAID_BY_DEAD = 'dead_attempt_landed';

/**
 * True where the chain shows an attempt that was proved dead: it is paid, so nothing more of it is signed, stored or sent, and no
 * observation of a later attempt takes its reason away. People end it as paid once no attempt lives.
 */
export function isPaidByDead(row: {
  readonly status: WithdrawalStatus;
  readonly reason: StatusReason | null;
}): row is { readonly status: 'held'; readonly reason: StatusReason } {
  return row.status === 'held' && row.reason?.code === PAID_BY_DEAD;
}

/** Which state may follow which. An operator's wish is not in this table: only the chain and the customer move money states. */
const NEXT: Readonly<Record<WithdrawalStatus, readonly WithdrawalStatus[]>> = {
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
    'held',
  ],
  sending: ['preparing', 'confirmed', 'finalized', 'failed', 'held'],
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
  ],
  finalized: [],
  rejected: [],
  cancelled: [],
  failed: [],
};

/** The ends that tell the customer that nothing was paid. */
export const UNPAID_ENDS: readonly WithdrawalStatus[] = ['rejected', 'cancelled', 'failed'];

/** True where the state never changes again. */
export function isTerminal(status: WithdrawalStatus): boolean {
  return NEXT[status].length === 0;
}

/** True where `to` may follow `from`; staying is always allowed, so that a repeated step is harmless. */
export function mayFollow(from: WithdrawalStatus, to: WithdrawalStatus): boolean {
  return from === to || NEXT[from].includes(to);
}

/** The states from which `to` may be entered: the guard of a compare-and-set. */
export function statesBefore(to: WithdrawalStatus): readonly WithdrawalStatus[] {
  return WITHDRAWAL_STATUSES.filter((from) => mayFollow(from, to));
}
