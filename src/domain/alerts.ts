/**
 * Everything that Sluice raises an alert for. Kinds are public: never rename or reuse one. The subject of an alert says what it is
 * about: a settlement's id (a withdrawal's is its own), a signature, a deposit's id, a wallet, a node's name, a webhook's id, or `sluice` for all of it.
 */
export const ALERT_KINDS = [
  /** A signature that the hot wallet gave has no attempt: a restored record, or a leaked key. Subject: the signature. */
  'unknown_spend',
  /** A settlement that may be paid without being on record, unfinished or ended unpaid. Subject: the settlement. */
  'maybe_paid',
  /** Two nodes show that an attempt which was proved dead has landed. Subject: the settlement. */
  'dead_attempt_landed',
  /** An attempt whose end the nodes do not prove yet: nothing is signed until they do. Subject: the settlement. */
  'evidence_missing',
  /** Attempts of a settlement keep failing on chain: none follows until the alert is closed. Subject: the settlement. */
  'payment_keeps_failing',
  /** A fork has taken back a settlement whose callers were answered at `confirmed`. It closes once that is final. Subject: the settlement. */
  'confirmed_taken_back',
  /** A workflow holds an attempt that Postgres does not have. Subject: the settlement. */
  'record_lost',
  /** Postgres is not the one, or not as new as the one, that was written to last. Subject: `sluice`. */
  'record_restored',
  /** What a fee payer signed cannot be read: an unknown spend of it would not be seen. Subject: the wallet. */
  'fee_payer_unread',
  /** A node lists a transaction of a wallet of ours that too few nodes prove. Subject: the wallet. */
  'listing_unproved',
  /** A fee payer of x402 will soon be unable to pay fees: nothing is sold then. Subject: the wallet. */
  'fee_payer_low',
  /** A payment of x402 was served, and final blocks show that less arrived than was asked for. Subject: the settlement. */
  'payment_short',
  /** The workflow of a settlement ended red. Subject: the settlement. */
  'workflow_failed',
  /** The issuer has frozen the hot wallet's token account: no withdrawal of the token is paid. Subject: the mint. */
  'hot_account_frozen',
  /** The issuer has paused all transfers of a token: no withdrawal of it is paid. Subject: the mint. */
  'mint_paused',
  /** New accounts of the token start frozen, and the receiver has none: the withdrawal waits. Subject: the withdrawal. */
  'default_frozen',
  /** The issuer has frozen the receiver's token account: the withdrawal waits. Subject: the withdrawal. */
  'account_frozen',
  /** The receiver's token account accepts confidential transfers only: the withdrawal waits. Subject: the withdrawal. */
  'confidential_only',
  /** A listed mint was closed, or made again with another program or other decimals: it is not credited. Subject: the mint. */
  'asset_changed',
  /** A listed mint was closed, or made again with another program or other decimals: it is not paid. Subject: the mint. */
  'mint_changed',
  /** Withdrawals cannot be prepared: nodes contradict each other or fail, or our own check refuses the transaction. Subject: the asset. */
  'cannot_prepare',
  /** The lowest fee is above `SLUICE_MAX_FEE_LAMPORTS`: withdrawals of the asset wait. Subject: the asset. */
  'fee_above_bound',
  /** Tokens left an account of ours by a transaction that its owner did not sign. Subject: the token account. */
  'tokens_seized',
  /** Blocks that the chain says exist and no node shows: no later deposit is credited. Subject: the first slot of the gap. */
  'scan_gap',
  /** The scan stands still until people act, or nodes have not helped it on for a minute. Subject: `sluice`. */
  'scan_stopped',
  /** Nobody tells how the scan stands: Temporal or the chain workers are away. Subject: `sluice`. */
  'scan_silent',
  /** The scan is far behind what the nodes have finalized: deposits are credited late. Subject: `sluice`. */
  'scan_behind',
  /** A finalized deposit that no quorum of nodes shows by itself. Subject: the deposit's id. */
  'deposit_unconfirmed',
  /** What was read again shows another amount than the one on record, or none. Subject: the signature. */
  'deposit_mismatch',
  /** A deposit that came to an address before that was given to its user: nobody is credited. Subject: the deposit's id. */
  'deposit_unowned',
  /** An audit, or blocks that were read again, showed a deposit that was not on record. Subject: its signature. */
  'deposit_missed',
  /**
   * What nodes list for an address is shown by no quorum, or none has shown the blocks of the slots: the audit is not done. Subject: the
   * address, the slots of a closed gap, or `since` and the slot of imports.
   */
  'audit_incomplete',
  /** Few deposit addresses are left to hand out. Subject: `sluice`. */
  'addresses_low',
  /** Addresses that nobody had in a restored record are kept back: users may have them. Subject: `sluice`. */
  'addresses_doubtful',
  /** What the chain shows in an account is not the sum of what is on record. Subject: the account and the asset. */
  'balance_difference',
  /** Balances of some wallets were not compared with the record for too long. Subject: `sluice`. */
  'reconciliation_behind',
  /** Confidential transfers wait until their receiver applies them. Subject: the token account. */
  'confidential_pending',
  /** The issuer has frozen a token account of ours, of a listed mint. Subject: the token account. */
  'deposit_account_frozen',
  /** Tokens are in an account whose owner is a token account of ours: nobody is credited. Subject: that account. */
  'nested_tokens',
  /** What a webhook has not heard waits for long; it closes once that is heard. Subject: the webhook. */
  'webhook_behind',
  /** An event was not delivered to a webhook in all its tries. Subject: the webhook. */
  'webhook_dead_letter',
  /** Nothing can be sent to a webhook by a fault of our own: resolver, network, clock or keys. Subject: the webhook. */
  'webhook_unsent',
  /** A webhook is told nothing any more. Subject: the webhook. */
  'webhook_disabled',
  'too_few_nodes',
  'nodes_of_one_provider',
  'node_history_off',
  'node_ledger_gap',
  'node_version_behind',
  'node_other_cluster',
  'node_twice',
  'node_lagging',
  'node_false_word',
  'node_silent',
] as const;

export type AlertKind = (typeof ALERT_KINDS)[number];

/** Path of the page that says what an alert of this kind means, what to do, and how it ends. */
export function runbookOf(kind: AlertKind): string {
  return `docs/runbooks/${kind}.md`;
}

/**
 * What has happened: open until people say that they have looked into it, or, for few, until it turns out well. Every other alert ends with its cause, or
 * by the order that settles it.
 */
export const ENDED_BY_A_LOOK: readonly AlertKind[] = [
  'workflow_failed',
  'confirmed_taken_back',
  'deposit_mismatch',
  'deposit_missed',
  'deposit_unowned',
  'tokens_seized',
  'asset_changed',
  'payment_short',
];

/** Alerts that stop a settlement. Only an order that names the settlement and gives a reason closes one, because Sluice may then pay. */
export const CLOSED_BY_ORDER = [
  'maybe_paid',
  'dead_attempt_landed',
  'payment_keeps_failing',
] as const satisfies readonly AlertKind[];

/** Alerts whose subject is a settlement, by its id. */
export const ABOUT_SETTLEMENT: readonly AlertKind[] = [
  'maybe_paid',
  'dead_attempt_landed',
  'evidence_missing',
  'payment_keeps_failing',
  'confirmed_taken_back',
  'record_lost',
  'workflow_failed',
  'payment_short',
  'default_frozen',
  'account_frozen',
  'confidential_only',
];

/** The subject of an alert about no single thing. */
export const WHOLE = 'sluice';

/** Something that people must know. Raised again, it is the same alert seen once more. */
export interface Alarm {
  readonly kind: AlertKind;
  readonly subject: string;
  /** One sentence for people. */
  readonly message: string;
  /** Fields for programs, JSON scalars or lists of them. */
  readonly details?: Readonly<Record<string, unknown>>;
}
