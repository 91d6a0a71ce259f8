/**
 * Every kind of alert. Kinds are public: never rename or reuse one. The subject is the id of a settlement, deposit,
 * webhook or route, a signature, a wallet, a node's name, or `sluice` for the whole system.
 */
export const ALERT_KINDS = [
  /** The hot wallet signed a transaction without an attempt: a restore, or a leaked key. Subject: the signature. */
  'unknown_spend',
  /** A settlement may have been paid by a transaction that is not in the database. Subject: the settlement. */
  'maybe_paid',
  /** Two nodes return the transaction of an attempt that was proved dead as landed. Subject: the settlement. */
  'dead_attempt_landed',
  /** The nodes do not prove the outcome of an attempt yet, so no next attempt is signed. Subject: the settlement. */
  'evidence_missing',
  /** Attempts keep failing on chain. No further attempt is made while the alert is open. Subject: the settlement. */
  'payment_keeps_failing',
  /**
   * A fork removed a transaction that was reported as `confirmed`. Closes when the settlement is final. Subject: the
   * settlement.
   */
  'confirmed_taken_back',
  /** A workflow has an attempt that is not in PostgreSQL. Subject: the settlement. */
  'attempt_lost',
  /** PostgreSQL is not the database that Sluice last wrote to, or is an older copy of it. Subject: `sluice`. */
  'database_restored',
  /** The history of a fee payer cannot be read, so a spend unknown to Sluice is not detected. Subject: the wallet. */
  'fee_payer_unread',
  /** A node lists a transaction of one of our wallets, and no quorum of nodes returns it. Subject: the wallet. */
  'listing_unproved',
  /** An x402 fee payer is almost out of SOL. Without SOL for fees, sales stop. Subject: the wallet. */
  'fee_payer_low',
  /** An x402 payment was served, but the finalized amount is below the price. Subject: the settlement. */
  'payment_short',
  /** A gateway cannot sell a route and answers 503. Subject: the route. */
  'route_closed',
  /** A gateway cannot use the newest version of the routes, or its routes file after SIGHUP. Subject: `sluice`. */
  'routes_outdated',
  /** Paid requests of a route have not been served for more than a minute. Subject: the route. */
  'payment_owed',
  /** A workflow failed, and Sluice started it again. Subject: the settlement. */
  'workflow_failed',
  /** The issuer froze the hot wallet's token account: withdrawals of the token wait. Subject: the mint. */
  'hot_account_frozen',
  /** The issuer paused all transfers of a token: withdrawals of it wait. Subject: the mint. */
  'mint_paused',
  /**
   * New accounts of the token start frozen, and the receiver has no account: the withdrawal waits. Subject: the
   * withdrawal.
   */
  'default_frozen',
  /** The issuer froze the receiver's token account: the withdrawal waits. Subject: the withdrawal. */
  'account_frozen',
  /**
   * The receiver's token account accepts only confidential transfers: the withdrawal waits. Subject: the withdrawal.
   */
  'confidential_only',
  /**
   * A listed mint was closed, or recreated with a different program or decimals: deposits are not credited. Subject:
   * the mint.
   */
  'asset_changed',
  /**
   * A listed mint was closed, or recreated with a different program or decimals: withdrawals wait. Subject: the mint.
   */
  'mint_changed',
  /**
   * Withdrawals cannot be prepared: nodes disagree or fail, or Sluice's own check of the message fails. Subject: the
   * asset.
   */
  'cannot_prepare',
  /** The lowest fee is above `SLUICE_MAX_FEE_LAMPORTS`: withdrawals of the asset wait. Subject: the asset. */
  'fee_above_bound',
  /** A transaction that the owner did not sign moved tokens out of one of our accounts. Subject: the token account. */
  'tokens_seized',
  /** No node returns blocks that the chain links to: later deposits wait. Subject: the first slot of the gap. */
  'scan_gap',
  /** The scan is stopped until an operator acts, or has waited for nodes for more than a minute. Subject: `sluice`. */
  'scan_stopped',
  /** No worker has reported the scan's status for a minute. Subject: `sluice`. */
  'scan_silent',
  /** The scan is far behind the newest finalized slot, so deposits are credited late. Subject: `sluice`. */
  'scan_behind',
  /** No quorum of nodes returns a finalized deposit by its signature. Subject: the deposit id. */
  'deposit_unconfirmed',
  /** A second read returned a different amount than the recorded one, or no deposit. Subject: the signature. */
  'deposit_mismatch',
  /**
   * A deposit arrived before its address was assigned to a user: it is credited to no user. Subject: the deposit id.
   */
  'deposit_unowned',
  /** An audit or a rescan found a deposit that was not recorded. Subject: its signature. */
  'deposit_missed',
  /**
   * No quorum returns the transactions that nodes list for an address, or the blocks of the slots: the audit is
   * incomplete. Subject: the address, the slots of a closed gap, or for imports `since` and the slot.
   */
  'audit_incomplete',
  /** Few unassigned deposit addresses are left. Subject: `sluice`. */
  'addresses_low',
  /**
   * Unassigned addresses of a restored database are withheld, because users may already have these. Subject: `sluice`.
   */
  'addresses_withheld',
  /** An account's balance on chain differs from the sum of its recorded changes. Subject: the account and the asset. */
  'balance_difference',
  /** Some wallet balances were not compared with the database for too long. Subject: `sluice`. */
  'reconciliation_behind',
  /**
   * One of our token accounts has pending confidential transfers, which are not credited. Subject: the token account.
   */
  'confidential_pending',
  /** The issuer of a listed mint froze one of our token accounts. Subject: the token account. */
  'deposit_account_frozen',
  /** An account whose owner is one of our token accounts has tokens, which are not credited. Subject: that account. */
  'nested_tokens',
  /** Events for a webhook have waited too long. Closes when all are delivered. Subject: the webhook. */
  'webhook_behind',
  /** All tries to deliver an event to a webhook failed. Subject: the webhook. */
  'webhook_dead_letter',
  /** A local fault (DNS, network, clock or keys) stops deliveries to a webhook. Subject: the webhook. */
  'webhook_unsent',
  /** A webhook was disabled and receives no more events. Subject: the webhook. */
  'webhook_disabled',
  'too_few_nodes',
  'nodes_of_one_provider',
  'node_history_off',
  'node_ledger_gap',
  'node_version_behind',
  'node_other_cluster',
  'node_twice',
  'node_lagging',
  'node_false_answer',
  'node_silent',
] as const;

export type AlertKind = (typeof ALERT_KINDS)[number];

export function runbookOf(kind: AlertKind): string {
  return `docs/runbooks/${kind}.md`;
}

/** Alerts about past events, which operators close by acknowledging them. Other alerts close when their cause ends. */
export const ACKNOWLEDGED_ALERTS: readonly AlertKind[] = [
  'workflow_failed',
  'confirmed_taken_back',
  'deposit_mismatch',
  'deposit_missed',
  'deposit_unowned',
  'addresses_withheld',
  'tokens_seized',
  'asset_changed',
  'payment_short',
];

/**
 * Alerts that stop a settlement. Only an operator's command with a reason closes one, because Sluice may pay after
 * that.
 */
export const ALERTS_CLOSED_WITH_REASON = [
  'maybe_paid',
  'dead_attempt_landed',
  'payment_keeps_failing',
] as const satisfies readonly AlertKind[];

/** Alerts whose subject is a settlement. */
export const SETTLEMENT_ALERTS: readonly AlertKind[] = [
  'maybe_paid',
  'dead_attempt_landed',
  'evidence_missing',
  'payment_keeps_failing',
  'confirmed_taken_back',
  'attempt_lost',
  'workflow_failed',
  'payment_short',
  'default_frozen',
  'account_frozen',
  'confidential_only',
];

/** The subject of an alert about the whole system. */
export const WHOLE_SYSTEM = 'sluice';

/** An alert to raise. If one with this kind and subject is open, raising it adds one occurrence. */
export interface Alarm {
  readonly kind: AlertKind;
  readonly subject: string;
  readonly message: string;
  /** Each value is a JSON scalar or a list of JSON scalars. */
  readonly details?: Readonly<Record<string, unknown>>;
}
