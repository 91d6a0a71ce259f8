// Generated from the OpenAPI document by scripts/client-api.mjs: edit the schemas in src/http.

export interface AddressImport {
  /** Number of new addresses */
  readonly imported: number;
  /** Number of addresses that were imported before */
  readonly known: number;
  /** Number of free addresses. Counted only up to 10,000, or up to SLUICE_ADDRESS_LOW_WATER if that is higher */
  readonly free: number;
  /** Conditions that need attention, although the request has succeeded */
  readonly warnings: readonly Warning[];
}

/** A list of wallets, written and signed by `sluice addresses generate` */
export interface AddressManifest {
  /** Version of the manifest format */
  readonly version: 1;
  /** Public key of the signer of the manifest in base58. This key signs only manifests */
  readonly publicKey: string;
  /** Wallets, each listed once */
  readonly entries: readonly {
    /** Derivation path of the private key */
    readonly path: string;
    /** Address of the wallet in base58 */
    readonly address: string;
  }[];
  /** Ed25519 signature over `version`, `publicKey` and `entries`, in base58 */
  readonly signature: string;
}

export interface Alert {
  /** Position of the alert, for `POST /v1/resume` and `POST /v1/alerts/seen` */
  readonly position: string;
  /** Kind of alert */
  readonly kind: "unknown_spend" | "maybe_paid" | "dead_attempt_landed" | "evidence_missing" | "payment_keeps_failing" | "confirmed_taken_back" | "attempt_lost" | "database_restored" | "fee_payer_unread" | "listing_unproved" | "fee_payer_low" | "payment_short" | "route_closed" | "routes_outdated" | "payment_owed" | "workflow_failed" | "hot_account_frozen" | "mint_paused" | "default_frozen" | "account_frozen" | "confidential_only" | "asset_changed" | "mint_changed" | "cannot_prepare" | "fee_above_bound" | "tokens_seized" | "scan_gap" | "scan_stopped" | "scan_silent" | "scan_behind" | "deposit_unconfirmed" | "deposit_mismatch" | "deposit_unowned" | "deposit_missed" | "audit_incomplete" | "addresses_low" | "addresses_withheld" | "balance_difference" | "reconciliation_behind" | "confidential_pending" | "deposit_account_frozen" | "nested_tokens" | "webhook_behind" | "webhook_dead_letter" | "webhook_unsent" | "webhook_disabled" | "too_few_nodes" | "nodes_of_one_provider" | "node_history_off" | "node_ledger_gap" | "node_version_behind" | "node_other_cluster" | "node_twice" | "node_lagging" | "node_false_answer" | "node_silent";
  /** Subject of the alert: a settlement (a withdrawal by its own id), signature, wallet, node, webhook or route, or `sluice` for the whole service */
  readonly subject: string;
  /** Explanation of the alert, for display */
  readonly message: string;
  /** Path of the runbook page in the repository */
  readonly runbook: string;
  /** Further fields, depending on `kind` */
  readonly details: {
    readonly [field: string]: unknown;
  };
  /** Time at which the alert was raised */
  readonly raisedAt: string;
  /** Time at which the condition was last observed */
  readonly lastSeenAt: string;
  /** Number of observations of the condition */
  readonly count: number;
  /** Time at which the alert was closed; null while it is open */
  readonly closedAt: string | null;
}

export interface AlertPage {
  /** Items of the page, newest first */
  readonly alerts: readonly Alert[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export interface Asset {
  /** `SOL` or the address of a mint */
  readonly asset: string;
  /** Token program of the mint; null for SOL */
  readonly program: string | null;
  /** Number of decimals of the asset */
  readonly decimals: number;
  /** Names of the Token-2022 extensions of the mint */
  readonly extensions: readonly string[];
  /** Address that can freeze every token account of the mint, including deposit accounts; null if the mint has none */
  readonly freezeAuthority: string | null;
  /** Address that can transfer or burn the tokens of every holder, including deposit accounts; null if the mint has none */
  readonly permanentDelegate: string | null;
  /** Minimum deposit in base units. A smaller deposit is recorded as `not_credited` with the reason `below_minimum` */
  readonly minimumDeposit: string;
  /** Whether deposits are credited */
  readonly depositsOn: boolean;
  /** Warnings about powers that the mint gives to its issuer */
  readonly warnings: readonly Warning[];
}

export interface AssetChange {
  /** Minimum deposit in base units. Default for a new asset: 1 for a token; for SOL the rent-exempt minimum */
  readonly minimumDeposit?: string | undefined;
  /** Whether deposits are credited. Default for a new asset: true */
  readonly depositsOn?: boolean | undefined;
  /** Accept deposits of a token with a transfer hook, although SLUICE_TOKEN_POLICY refuses its withdrawals. Applies to this request only */
  readonly acceptTransferHook?: true | undefined;
}

export interface Assets {
  /** Assets, SOL first */
  readonly assets: readonly Asset[];
}

export interface Attempt {
  /** Number of the attempt, starting at 1. Sluice prepares the next attempt only after this one has failed or is proved dead */
  readonly n: number;
  /** State of the attempt. While it is `prepared` or `signed`, its transaction can still land */
  readonly state: "prepared" | "signed" | "landed" | "failed" | "dead";
  /** Transaction signature in base58; null until the attempt is signed */
  readonly signature: string | null;
  /** Blockhash of the transaction, or the nonce that a transaction with a durable nonce has in its place */
  readonly blockhash: string;
  /** Last block height at which the transaction can land; null for a durable nonce, which has no such height */
  readonly lastValidBlockHeight: string | null;
  /** Durable nonce account of the transaction; null if the transaction uses a recent blockhash */
  readonly nonceAccount: string | null;
  /** Fee in lamports: the charged fee if the transaction ran and nodes report it, otherwise the maximum */
  readonly feeLamports: string;
  /** Rent in lamports that the transaction pays to create the token account of the receiver; 0 if it creates none */
  readonly rentLamports: string;
  /** Slot of the finalized block that contains the transaction; null if there is none yet */
  readonly slot: string | null;
  /** Error of a transaction that failed on chain, as the nodes report it; null for every other attempt */
  readonly error: string | null;
  /** URL of the transaction in a block explorer; null until the attempt is signed */
  readonly explorer: string | null;
  /** Evidence for the final verdict; null until the attempt has ended */
  readonly proof: AttemptEvidence | null;
  /** For a dead attempt after the database was restored from a backup: evidence that its message has not landed with any other signature. Null for every other attempt */
  readonly messageProof: AttemptEvidence | null;
  /** Time at which the attempt was prepared */
  readonly createdAt: string;
}

/** Evidence for the verdict on an attempt: heights or nonces, then blocks, then statuses */
export interface AttemptEvidence {
  /** Time of the first request to the nodes; null for evidence stored without times */
  readonly askedAt: string | null;
  /** Time of the verdict; null for evidence stored without times */
  readonly judgedAt: string | null;
  /** Minimum number of nodes that must agree */
  readonly quorum: number;
  /** Last block height at which the transaction could land; null for a durable nonce */
  readonly lastHeight: string | null;
  /** Finalized block height of each node */
  readonly finalizedHeights: readonly {
    /** Name of the node */
    readonly node: string;
    /** Sequence number of the request to the nodes; later requests have greater numbers */
    readonly order: number;
    /** Finalized block height of the node */
    readonly height: string;
  }[];
  /** Names of the nodes whose finalized bank still accepts the blockhash */
  readonly stillTaking: readonly string[];
  /** Block that has the blockhash of the transaction; for a message from a buyer, the first block that was searched. Null if the nodes do not agree on it */
  readonly blockhashBlock: ShownBlock | null;
  /** Proof that the finalized chain does not contain the block that has the blockhash; null if there is no such proof */
  readonly displacedBy: {
    /** Slot of the block that is not in the finalized chain */
    readonly slot: string;
    /** Slot of the parent of `block`; lower than `slot` */
    readonly parentSlot: string;
    /** First block of the finalized chain at or after `slot` */
    readonly block: ShownBlock;
    /** Sequence number of the request to the nodes; later requests have greater numbers */
    readonly order: number;
  } | null;
  /** Range of finalized blocks, each linked to its parent by slot, hash and height; null if no range was read */
  readonly linkedBlocks: {
    /** First block of the range */
    readonly first: ShownBlock;
    /** Last block of the range */
    readonly last: ShownBlock;
    /** Whether one of the blocks contains the transaction */
    readonly containsSignature: boolean;
    /** At least this many nodes return each of the blocks with the same transactions */
    readonly agreeingNodes: number;
    /** Sequence number of the request to the nodes; later requests have greater numbers */
    readonly order: number;
  } | null;
  /** Value of the durable nonce account in the finalized bank of each node */
  readonly finalizedNonces: readonly {
    /** Name of the node */
    readonly node: string;
    /** Sequence number of the request to the nodes; later requests have greater numbers */
    readonly order: number;
    /** Value of the nonce */
    readonly nonce: string;
  }[];
  /** Finalized transaction that used the nonce of the attempt, or advanced the nonce account past it; null if none was found */
  readonly nonceUsedBy: {
    /** Signature of the transaction in base58 */
    readonly signature: string;
    /** Slot of the block that contains the transaction */
    readonly slot: string;
    /** True if the transaction used the nonce of the attempt; false if it advanced the nonce account past that nonce */
    readonly carriedNonce: boolean;
    /** Names of the nodes that return the transaction */
    readonly nodes: readonly string[];
    /** Sequence number of the request to the nodes; later requests have greater numbers */
    readonly order: number;
  } | null;
  /** Status of the signature on each node */
  readonly statuses: readonly StatusAnswer[];
  /** Names of the nodes that confirm an outcome which another node reports as finalized */
  readonly outcomeConfirmedBy: readonly string[];
  /** Names of the nodes in `outcomeConfirmedBy` that report a charged fee. A transaction without a fee did not run */
  readonly chargedBy: readonly string[];
}

export interface AuditDifference {
  /** Signature of the transaction in base58 */
  readonly signature: string;
  /** Slot of the block */
  readonly slot: string;
  /** Account of the deposit: the wallet for SOL, or else a token account */
  readonly account: string;
  /** `SOL` or the address of a mint */
  readonly asset: string;
  /** Base units that the account received on chain; null if it received none */
  readonly chain: string | null;
  /** Base units in the database; null if the database had no such deposit */
  readonly stored: string | null;
  /** Whether the audit corrected the database */
  readonly repaired: boolean;
}

export interface AuditReport {
  /** Number of transactions examined */
  readonly transactions: number;
  /** Deposits that differ between the chain and the database; at most 100 */
  readonly differences: readonly AuditDifference[];
  /** Total number of differences */
  readonly found: number;
  /** Number of differences that are not repaired */
  readonly remaining: number;
  /** Number of transactions that no quorum of nodes returned; 0 for a complete audit */
  readonly unread: number;
}

export interface Backfill {
  /** Number of the backfill */
  readonly id: string;
  /** Address of the wallet whose history is read; null if the blocks are read again for all wallets */
  readonly address: string | null;
  /** First slot of the range */
  readonly from: string;
  /** Last slot of the range */
  readonly to: string;
  /** Whether missing deposits are recorded */
  readonly repair: boolean;
  /** Name of the API key or operator that requested the backfill */
  readonly actor: string;
  /** Reason for the backfill */
  readonly reason: string;
  /** `waiting`: the last try failed because of `trouble`; Sluice tries again. `given_up`: the backfill ended early because of `trouble`. `incomplete`: the backfill has ended, but nodes did not return the blocks of the slots in `unread`, or all of the history of the address */
  readonly state: "reading" | "waiting" | "done" | "incomplete" | "given_up";
  /** Slot up to which blocks are read, apart from gaps; null before the first block */
  readonly readTo: string | null;
  /** Number of blocks read */
  readonly blocks: number;
  /** Number of deposits on chain that differed from the database */
  readonly found: number;
  /** Slot ranges of closed gaps whose blocks no node returned; empty until the backfill has tried to read these gaps */
  readonly unread: readonly {
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
  }[];
  /** Result of the audit of an address; null for a backfill of blocks, and until the backfill has ended */
  readonly report: AuditReport | null;
  /** Why the last try of the backfill failed; null if it did not fail */
  readonly trouble: string | null;
  /** Time at which the backfill was requested */
  readonly begunAt: string;
  /** Time at which the backfill ended; null until then */
  readonly endedAt: string | null;
}

export interface BackfillPage {
  /** Items of the page, newest first */
  readonly backfills: readonly Backfill[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export interface BackfillRequest {
  /** First slot of the range */
  readonly from: string;
  /** Last slot of the range; the scan must have passed it */
  readonly to: string;
  /** Reason for this action, stored with the name of the API key */
  readonly reason: string;
  /** Address of a watched wallet whose history is read; null to read the blocks again for all wallets @default null */
  readonly address?: string | null | undefined;
  /** Whether missing deposits are recorded. Default: false with an address; without an address always true */
  readonly repair?: boolean | undefined;
}

export interface ClosedAlert {
  /** True if the request closed the alert; false if no such alert was open */
  readonly closed: boolean;
}

export interface ClosedAlerts {
  /** Alerts that this request closed */
  readonly alerts: readonly Alert[];
}

export interface Deposit {
  /** Permanent id of the deposit. Use it as the idempotency key of your booking */
  readonly id: string;
  /** Signature of the transaction in base58 */
  readonly signature: string;
  /** Slot of the block */
  readonly slot: string;
  /** Hash of the block; null if no node has the block and only the transaction is known */
  readonly blockhash: string | null;
  /** Time of the block as the nodes report it; null if unknown */
  readonly blockTime: string | null;
  /** Account that received the deposit: the wallet for SOL, or else a token account */
  readonly account: string;
  /** Deposit address that received the deposit */
  readonly wallet: string;
  /** Your id for the user to whom the address was assigned when the deposit arrived; null if it was not assigned */
  readonly userRef: string | null;
  /** `SOL` or the address of a mint */
  readonly asset: string;
  /** Received amount in base units */
  readonly amount: string;
  /** State of the deposit. Book a deposit only when it is `final` */
  readonly state: DepositState;
  /** Why the deposit is not credited. For a pending deposit: why it will not be credited if a quorum agrees with the node that reported it. Else null */
  readonly reason: "nested_token_account" | "owner_changed" | "not_associated_account" | "asset_changed" | "unknown_mint" | "deposits_off" | "below_minimum" | "internal" | "hot_wallet" | null;
  /** URL of the transaction in a block explorer */
  readonly explorerUrl: string;
}

export interface DepositAddress {
  /** Address of the wallet in base58 */
  readonly address: string;
  /** Derivation path of the private key, for the system that holds the keys */
  readonly path: string;
  /** State of the address; only a `free` address can be assigned */
  readonly state: "auditing" | "free" | "assigned" | "used" | "withheld";
  /** Your id for the user of the address; null until the address is assigned */
  readonly userRef: string | null;
  /** First slot of the audit that the address needs before it becomes `free`; null if the address was imported without `since` */
  readonly since: string | null;
  /** Time at which the address was imported */
  readonly createdAt: string;
  /** Time at which the address was assigned to its user; null until then */
  readonly assignedAt: string | null;
  /** Conditions that need attention, although the request has succeeded */
  readonly warnings: readonly Warning[];
}

export interface DepositEvent {
  /** Number of the event, starting at 1, in the order in which events became visible */
  readonly sequence: string;
  /** State that the deposit entered */
  readonly kind: DepositState;
  /** Time of the event */
  readonly at: string;
  /** State of the deposit at the time of the event */
  readonly deposit: Deposit;
}

export interface DepositFeed {
  /** Events after `after`, oldest first */
  readonly events: readonly DepositEvent[];
  /** Pass it as `after` to get the following events. If it equals the `after` of this request, there are none yet */
  readonly next: string;
}

export interface DepositPage {
  /** Items of the page, newest first */
  readonly deposits: readonly Deposit[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export type DepositState = "pending" | "final" | "dropped" | "not_credited";

export interface EndedReconciliation {
  /** Time at which the pass began */
  readonly begunAt: string;
  /** Number of wallet comparisons; a wallet that was compared twice counts twice */
  readonly wallets: number;
  /** Number of accounts compared, each for SOL or a token */
  readonly accounts: number;
  /** Number of accounts whose balance did not match the recorded changes; each raised the alert `balance_difference` */
  readonly differences: number;
  /** Time at which the pass ended */
  readonly endedAt: string;
}

export interface ExplainedAttempt {
  /** Number of the attempt, starting at 1 */
  readonly n: number;
  /** State of the attempt. While it is `prepared` or `signed`, its transaction can still land */
  readonly state: "prepared" | "signed" | "landed" | "failed" | "dead";
  /** Transaction signature in base58; null until the attempt is signed */
  readonly signature: string | null;
  /** Blockhash of the transaction, or the nonce that a transaction with a durable nonce has in its place */
  readonly blockhash: string;
  /** Slot of the finalized block that contains the transaction; null if none is stored */
  readonly slot: string | null;
  /** Current verdict. Sluice makes another attempt only after `dead`, or after `failed` with a cause that can pass */
  readonly verdict: "landed" | "failed" | "alive" | "dead" | "unknown";
  /** Why the verdict is `unknown`, or the error of a `failed` transaction; else null */
  readonly reason: string | null;
  /** Evidence that a final verdict still needs */
  readonly missing: readonly ({
    /** Name of the node that must provide the evidence; null if no single node can */
    readonly node: string | null;
    /** Description of the missing evidence, for display */
    readonly what: string;
  })[];
  /** Current node answers about a live attempt, or the stored answers about an ended one. Null if no node could be asked, or no answers are stored */
  readonly evidence: AttemptEvidence | null;
}

export interface Explanation {
  /** Your id for the withdrawal */
  readonly id: string;
  /** Current status of the withdrawal */
  readonly status: WithdrawalStatus;
  /** Reason for the current status; null if the status needs no reason */
  readonly reason: StatusReason | null;
  /** What the settlement waits for, for display */
  readonly waitsFor: string;
  /** What to do next, for display */
  readonly nextStep: string;
  /** Attempt that can still land, or else the last attempt; null if the settlement has no attempt */
  readonly attempt: ExplainedAttempt | null;
}

export interface Health {
  /** `ok` if PostgreSQL and Temporal respond */
  readonly status: "ok" | "unavailable";
  /** Whether PostgreSQL responds */
  readonly database: boolean;
  /** Whether Temporal responds */
  readonly temporal: boolean;
}

export interface HotWallet {
  /** Address of the wallet in base58 */
  readonly address: string;
  /** Balances from which reconciliation starts; null until the balances have been read */
  readonly baseline: WalletBaseline | null;
}

export interface HotWallets {
  /** Current and former hot wallets */
  readonly hotWallets: readonly HotWallet[];
}

export interface NewWebhook {
  /** https URL of a public host. Plain http and private hosts are accepted only with SLUICE_WEBHOOK_ALLOW_PRIVATE */
  readonly url: string;
  /** Event types to send: single types, groups such as `withdrawal.*`, or `*` for all */
  readonly events: readonly ("deposit.pending" | "deposit.final" | "deposit.dropped" | "deposit.not_credited" | "withdrawal.awaiting_confirmation" | "withdrawal.awaiting_funds" | "withdrawal.sending" | "withdrawal.confirmed" | "withdrawal.finalized" | "withdrawal.rejected" | "withdrawal.cancelled" | "withdrawal.failed" | "withdrawal.held" | "payment.owed" | "payment.served" | "payment.settled" | "payment.refundable" | "payment.unmatched" | "alert.raised" | "alert.closed" | "deposit.*" | "withdrawal.*" | "payment.*" | "alert.*" | "*")[];
}

export interface OpenReconciliation {
  /** Time at which the pass began */
  readonly begunAt: string;
  /** Number of wallet comparisons; a wallet that was compared twice counts twice */
  readonly wallets: number;
  /** Number of accounts compared, each for SOL or a token */
  readonly accounts: number;
  /** Number of accounts whose balance did not match the recorded changes; each raised the alert `balance_difference` */
  readonly differences: number;
  /** Last wallet of the previous round; the next round starts after it. Null before the first round */
  readonly after: string | null;
  /** Why the newest round stopped early; null if the pass has progressed since it stopped, or if no round stopped early */
  readonly haltedBecause: string | null;
}

export interface Pause {
  /** Cause of the pause: `operator`, or the kind of the alert that began the pause */
  readonly cause: string;
  /** Scope of the pause: `all`, `kind/<kind>` or `wallet/<address>` */
  readonly scope: string;
  /** Reason for the pause */
  readonly reason: string;
  /** Name of the API key, operator or process that began the pause */
  readonly actor: string;
  /** Time at which the pause began */
  readonly since: string;
}

export interface Pauses {
  /** Open pauses; after a resume, the pauses that it ended */
  readonly pauses: readonly Pause[];
}

export interface Payment {
  /** Id of the payment and of its Temporal workflow: `x402/<network>/<SHA-256 of the message>` */
  readonly id: string;
  /** State of the sale: whether the payment has settled and the resource was served */
  readonly state: "settling" | "owed" | "served" | "refundable" | "unmatched" | "void";
  /** Why the payment is `refundable` or `unmatched`, or which owed payment was served in place of this one; otherwise null */
  readonly reason: string | null;
  /** Transaction signature in base58; null until the transaction is signed */
  readonly signature: string | null;
  /** Part of Sluice that received the payment */
  readonly seller: "gateway" | "facilitator";
  /** Protocol of the payment: `v2` or `v1` of x402; `example` and `submitted` are the two forms of the exchange interface, in which Sluice or the buyer submits the transaction */
  readonly dialect: "v2" | "v1" | "example" | "submitted";
  /** Address of the wallet of the buyer */
  readonly payer: string;
  /** Network as a CAIP-2 id */
  readonly network: string;
  /** Address of the mint of the token */
  readonly asset: string;
  /** Number of decimals of the token */
  readonly decimals: number;
  /** Price in base units */
  readonly amount: string;
  /** Base units that the landed transaction transferred; null until it has landed */
  readonly received: string | null;
  /** Address of the wallet of the seller */
  readonly payTo: string;
  /** Id of the route, such as `GET /reports/:id`; `facilitator/<key>/<payTo>/<mint>` for a payment that the facilitator settled */
  readonly route: string;
  /** HTTP status of the upstream response; null until there is a response */
  readonly answerStatus: number | null;
  /** Time at which a node reported the transaction as confirmed; null until then */
  readonly paidAt: string | null;
  /** Time at which the transaction was final; null until then */
  readonly settledAt: string | null;
  /** Time at which the response was stored, or the success was delivered; if the response is not stored, the end of its last delivery; null until then */
  readonly servedAt: string | null;
  /** Time at which Sluice first received the payment */
  readonly createdAt: string;
}

export interface PaymentDetails {
  /** Id of the payment and of its Temporal workflow: `x402/<network>/<SHA-256 of the message>` */
  readonly id: string;
  /** State of the sale: whether the payment has settled and the resource was served */
  readonly state: "settling" | "owed" | "served" | "refundable" | "unmatched" | "void";
  /** Why the payment is `refundable` or `unmatched`, or which owed payment was served in place of this one; otherwise null */
  readonly reason: string | null;
  /** Transaction signature in base58; null until the transaction is signed */
  readonly signature: string | null;
  /** Part of Sluice that received the payment */
  readonly seller: "gateway" | "facilitator";
  /** Protocol of the payment: `v2` or `v1` of x402; `example` and `submitted` are the two forms of the exchange interface, in which Sluice or the buyer submits the transaction */
  readonly dialect: "v2" | "v1" | "example" | "submitted";
  /** Address of the wallet of the buyer */
  readonly payer: string;
  /** Network as a CAIP-2 id */
  readonly network: string;
  /** Address of the mint of the token */
  readonly asset: string;
  /** Number of decimals of the token */
  readonly decimals: number;
  /** Price in base units */
  readonly amount: string;
  /** Base units that the landed transaction transferred; null until it has landed */
  readonly received: string | null;
  /** Address of the wallet of the seller */
  readonly payTo: string;
  /** Id of the route, such as `GET /reports/:id`; `facilitator/<key>/<payTo>/<mint>` for a payment that the facilitator settled */
  readonly route: string;
  /** HTTP status of the upstream response; null until there is a response */
  readonly answerStatus: number | null;
  /** Time at which a node reported the transaction as confirmed; null until then */
  readonly paidAt: string | null;
  /** Time at which the transaction was final; null until then */
  readonly settledAt: string | null;
  /** Time at which the response was stored, or the success was delivered; if the response is not stored, the end of its last delivery; null until then */
  readonly servedAt: string | null;
  /** Time at which Sluice first received the payment */
  readonly createdAt: string;
  /** Id of the owed payment that was served in place of settling this one; else null */
  readonly replacedBy: string | null;
  /** Time at which the upstream was first called; null until then, and if the first call of a repeatable request has served the payment */
  readonly askedAt: string | null;
  /** Time at which the failure of the transaction on chain was final; null if it did not fail */
  readonly failedAt: string | null;
  /** Settlement of the payment; null if Sluice did not settle it */
  readonly settlement: {
    /** Current status of the settlement */
    readonly status: SettlementStatus;
    /** Reason for the current status; null if the status needs no reason */
    readonly reason: StatusReason | null;
    /** Time at which the settlement last changed */
    readonly updatedAt: string;
    /** Id of the Temporal workflow of the payment, if it needs one */
    readonly workflowId: string;
  } | null;
  /** Access pass of the payment; null if none was issued */
  readonly accessPass: {
    /** Path for which the pass is valid, on the route of the payment */
    readonly path: string;
    /** Time at which the pass was issued */
    readonly issuedAt: string;
    /** Time at which the pass ends */
    readonly expiresAt: string;
  } | null;
  /** Revocation of the access pass, also of one that is not issued yet; null if the pass is not revoked */
  readonly passRevocation: {
    /** Name of the API key that revoked the pass */
    readonly actor: string;
    /** Reason of the revocation */
    readonly reason: string;
    /** Time of the revocation */
    readonly revokedAt: string;
  } | null;
  /** Attempts, oldest first */
  readonly attempts: readonly Attempt[];
  /** Open alerts about this payment, newest first */
  readonly alerts: readonly ({
    /** Position of the alert, for `POST /v1/resume` and `POST /v1/alerts/seen` */
    readonly position: string;
    /** Explanation of the alert, for display */
    readonly message: string;
    /** Time at which the alert was raised */
    readonly raisedAt: string;
    /** Kind of alert */
    readonly kind: "maybe_paid" | "dead_attempt_landed" | "evidence_missing" | "payment_keeps_failing" | "confirmed_taken_back" | "attempt_lost" | "workflow_failed" | "payment_short" | "default_frozen" | "account_frozen" | "confidential_only";
  })[];
}

export interface PaymentPage {
  /** Items of the page, newest first */
  readonly payments: readonly Payment[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export interface Problem {
  /** URN of this kind of error; ends in `code` */
  readonly type: string;
  /** Short description of this kind of error, for display */
  readonly title: string;
  /** HTTP status code of the response */
  readonly status: number;
  /** What happened in this request, for display */
  readonly detail: string;
  /** Stable identifier of the error, for programs */
  readonly code: string;
  readonly [field: string]: unknown;
}

export interface Reconciliation {
  /** Last complete pass; null until a pass has completed */
  readonly last: EndedReconciliation | null;
  /** Current pass, which runs in hourly rounds; null between passes */
  readonly open: OpenReconciliation | null;
  /** Number of watched wallets: hot wallets and deposit addresses. Exact below 10,000; from there on an estimate */
  readonly watched: number;
  /** Number of wallets whose last comparison failed */
  readonly unread: number;
  /** Up to 100 of the wallets whose last comparison failed; the wallet that has failed for the longest time comes first */
  readonly longestUnread: readonly UnreadWallet[];
}

export interface Revenue {
  /** Beginning of the period */
  readonly from: string;
  /** End of the period */
  readonly to: string;
  /** Sums for each asset, ordered by day, route and asset */
  readonly revenue: readonly ({
    /** Id of the route; null if `by` does not have `route` */
    readonly route: string | null;
    /** Day in UTC, such as `2026-11-01`; null if `by` does not have `day` */
    readonly day: string | null;
    /** Address of the mint of the token */
    readonly asset: string;
    /** Number of decimals of the token */
    readonly decimals: number;
    /** Payments whose transaction is finalized */
    readonly finalized: {
      /** Number of payments */
      readonly payments: number;
      /** Sum in base units */
      readonly units: string;
      /** Sum in the token, with the decimals of its mint */
      readonly amount: string;
    };
    /** Payments whose transaction is confirmed, which a fork can still remove */
    readonly confirmed: {
      /** Number of payments */
      readonly payments: number;
      /** Sum in base units */
      readonly units: string;
      /** Sum in the token, with the decimals of its mint */
      readonly amount: string;
    };
  })[];
}

export interface RevokedAccessPass {
  /** True if this request revoked the pass; false if it was revoked before */
  readonly revoked: boolean;
}

export interface RoutesVersion {
  /** Number of the version; the next version has the next number */
  readonly version: string;
  /** `file`: a gateway read the routes file at its start or after SIGHUP. `api`: a request */
  readonly source: "file" | "api";
  /** Name of the API key; `gateway` if the source is a file */
  readonly actor: string;
  /** Reason for the change */
  readonly reason: string;
  /** Time at which the version was stored */
  readonly createdAt: string;
}

export interface RoutesVersionPage {
  /** Items of the page, newest first */
  readonly versions: readonly RoutesVersion[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export type Scan = {
  /** Last block that was linked, scanned and committed; null before the first block */
  readonly cursor: {
    /** Slot of the block */
    readonly slot: string;
    /** Hash of the block */
    readonly blockhash: string;
    /** Height of the block */
    readonly height: string;
  } | null;
  /** Newest slot that a quorum of nodes has finalized, as a worker last reported it; null without a report */
  readonly tip: string | null;
  /** Number of slots from the cursor to the tip; null if one of them is null */
  readonly lag: string | null;
  /** Blocks per second in the newest report of a worker; null without a report, and while the scan is paused */
  readonly blocksPerSecond: number | null;
  /** Time of the newest report of a worker; null if no worker has reported */
  readonly at: string | null;
  /** Ranges of blocks that no node returned, newest first; at most 100 */
  readonly gaps: readonly ({
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
    /** `open`: the gap stops the scan. `filled`: nodes returned the blocks. `closed`: an operator let the scan continue without the blocks */
    readonly state: "open" | "filled" | "closed";
    /** Time at which the gap was found */
    readonly openedAt: string;
    /** Time at which the gap was closed or filled; null until then */
    readonly endedAt: string | null;
    /** Name of the API key or operator that closed the gap; null if the gap was not closed */
    readonly actor: string | null;
    /** Reason that was given for closing the gap; null if the gap was not closed */
    readonly reason: string | null;
    /** Time at which a rescan had read all blocks of the gap from a quorum of nodes; null until then */
    readonly readAt: string | null;
  })[];
  /** Backfills that have not ended; at most 100 */
  readonly backfills: readonly Backfill[];
  /** The scan makes progress */
  readonly state: "starting" | "tail" | "catch-up";
} | {
  /** Last block that was linked, scanned and committed; null before the first block */
  readonly cursor: {
    /** Slot of the block */
    readonly slot: string;
    /** Hash of the block */
    readonly blockhash: string;
    /** Height of the block */
    readonly height: string;
  } | null;
  /** Newest slot that a quorum of nodes has finalized, as a worker last reported it; null without a report */
  readonly tip: string | null;
  /** Number of slots from the cursor to the tip; null if one of them is null */
  readonly lag: string | null;
  /** Blocks per second in the newest report of a worker; null without a report, and while the scan is paused */
  readonly blocksPerSecond: number | null;
  /** Time of the newest report of a worker; null if no worker has reported */
  readonly at: string | null;
  /** Ranges of blocks that no node returned, newest first; at most 100 */
  readonly gaps: readonly ({
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
    /** `open`: the gap stops the scan. `filled`: nodes returned the blocks. `closed`: an operator let the scan continue without the blocks */
    readonly state: "open" | "filled" | "closed";
    /** Time at which the gap was found */
    readonly openedAt: string;
    /** Time at which the gap was closed or filled; null until then */
    readonly endedAt: string | null;
    /** Name of the API key or operator that closed the gap; null if the gap was not closed */
    readonly actor: string | null;
    /** Reason that was given for closing the gap; null if the gap was not closed */
    readonly reason: string | null;
    /** Time at which a rescan had read all blocks of the gap from a quorum of nodes; null until then */
    readonly readAt: string | null;
  })[];
  /** Backfills that have not ended; at most 100 */
  readonly backfills: readonly Backfill[];
  /** Why the scan is stopped, for display */
  readonly reason: string;
  /** Time at which the scan stopped */
  readonly since: string;
  /** The scan is stopped until nodes recover or an operator acts */
  readonly state: "waiting" | "stopped";
} | {
  /** Last block that was linked, scanned and committed; null before the first block */
  readonly cursor: {
    /** Slot of the block */
    readonly slot: string;
    /** Hash of the block */
    readonly blockhash: string;
    /** Height of the block */
    readonly height: string;
  } | null;
  /** Newest slot that a quorum of nodes has finalized, as a worker last reported it; null without a report */
  readonly tip: string | null;
  /** Number of slots from the cursor to the tip; null if one of them is null */
  readonly lag: string | null;
  /** Blocks per second in the newest report of a worker; null without a report, and while the scan is paused */
  readonly blocksPerSecond: number | null;
  /** Time of the newest report of a worker; null if no worker has reported */
  readonly at: string | null;
  /** Ranges of blocks that no node returned, newest first; at most 100 */
  readonly gaps: readonly ({
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
    /** `open`: the gap stops the scan. `filled`: nodes returned the blocks. `closed`: an operator let the scan continue without the blocks */
    readonly state: "open" | "filled" | "closed";
    /** Time at which the gap was found */
    readonly openedAt: string;
    /** Time at which the gap was closed or filled; null until then */
    readonly endedAt: string | null;
    /** Name of the API key or operator that closed the gap; null if the gap was not closed */
    readonly actor: string | null;
    /** Reason that was given for closing the gap; null if the gap was not closed */
    readonly reason: string | null;
    /** Time at which a rescan had read all blocks of the gap from a quorum of nodes; null until then */
    readonly readAt: string | null;
  })[];
  /** Backfills that have not ended; at most 100 */
  readonly backfills: readonly Backfill[];
  /** Why the scan is stopped, for display */
  readonly reason: string;
  /** Time at which the scan stopped */
  readonly since: string;
  /** An operator paused the scan */
  readonly state: "paused";
  /** Name of the API key or operator that paused the scan */
  readonly actor: string;
} | {
  /** Last block that was linked, scanned and committed; null before the first block */
  readonly cursor: {
    /** Slot of the block */
    readonly slot: string;
    /** Hash of the block */
    readonly blockhash: string;
    /** Height of the block */
    readonly height: string;
  } | null;
  /** Newest slot that a quorum of nodes has finalized, as a worker last reported it; null without a report */
  readonly tip: string | null;
  /** Number of slots from the cursor to the tip; null if one of them is null */
  readonly lag: string | null;
  /** Blocks per second in the newest report of a worker; null without a report, and while the scan is paused */
  readonly blocksPerSecond: number | null;
  /** Time of the newest report of a worker; null if no worker has reported */
  readonly at: string | null;
  /** Ranges of blocks that no node returned, newest first; at most 100 */
  readonly gaps: readonly ({
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
    /** `open`: the gap stops the scan. `filled`: nodes returned the blocks. `closed`: an operator let the scan continue without the blocks */
    readonly state: "open" | "filled" | "closed";
    /** Time at which the gap was found */
    readonly openedAt: string;
    /** Time at which the gap was closed or filled; null until then */
    readonly endedAt: string | null;
    /** Name of the API key or operator that closed the gap; null if the gap was not closed */
    readonly actor: string | null;
    /** Reason that was given for closing the gap; null if the gap was not closed */
    readonly reason: string | null;
    /** Time at which a rescan had read all blocks of the gap from a quorum of nodes; null until then */
    readonly readAt: string | null;
  })[];
  /** Backfills that have not ended; at most 100 */
  readonly backfills: readonly Backfill[];
  /** Why the scan is stopped, for display */
  readonly reason: string;
  /** Time at which the scan stopped */
  readonly since: string;
  /** No node returns blocks that exist, or nodes return blocks that are not linked */
  readonly state: "gap";
  /** Slots of the missing blocks */
  readonly gap: {
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
  };
} | {
  /** Last block that was linked, scanned and committed; null before the first block */
  readonly cursor: {
    /** Slot of the block */
    readonly slot: string;
    /** Hash of the block */
    readonly blockhash: string;
    /** Height of the block */
    readonly height: string;
  } | null;
  /** Newest slot that a quorum of nodes has finalized, as a worker last reported it; null without a report */
  readonly tip: string | null;
  /** Number of slots from the cursor to the tip; null if one of them is null */
  readonly lag: string | null;
  /** Blocks per second in the newest report of a worker; null without a report, and while the scan is paused */
  readonly blocksPerSecond: number | null;
  /** Time of the newest report of a worker; null if no worker has reported */
  readonly at: string | null;
  /** Ranges of blocks that no node returned, newest first; at most 100 */
  readonly gaps: readonly ({
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range */
    readonly to: string;
    /** `open`: the gap stops the scan. `filled`: nodes returned the blocks. `closed`: an operator let the scan continue without the blocks */
    readonly state: "open" | "filled" | "closed";
    /** Time at which the gap was found */
    readonly openedAt: string;
    /** Time at which the gap was closed or filled; null until then */
    readonly endedAt: string | null;
    /** Name of the API key or operator that closed the gap; null if the gap was not closed */
    readonly actor: string | null;
    /** Reason that was given for closing the gap; null if the gap was not closed */
    readonly reason: string | null;
    /** Time at which a rescan had read all blocks of the gap from a quorum of nodes; null until then */
    readonly readAt: string | null;
  })[];
  /** Backfills that have not ended; at most 100 */
  readonly backfills: readonly Backfill[];
  /** No worker reports, or no worker has started the scan */
  readonly state: "silent" | "absent";
};

export interface SettlementExplanation {
  /** Asset, amount and destination of a withdrawal; null for other kinds */
  readonly terms: {
    /** `SOL` or the address of a mint */
    readonly asset: string;
    /** Amount in base units that the hot wallet sends */
    readonly amount: string;
    /** Address of the wallet of the receiver */
    readonly destination: string;
  } | null;
  /** Id of the settlement: the id of a withdrawal, or `<kind>/<subject>` for every other kind */
  readonly id: string;
  /** Kind of settlement, such as `withdrawal` or `nonce-create` */
  readonly kind: string;
  /** What the settlement is for, such as a withdrawal id or the address of a nonce account; unique within its kind */
  readonly subject: string;
  /** Current status of the settlement */
  readonly status: SettlementStatus;
  /** Reason for the current status; null if the status needs no reason */
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt; null until an attempt is signed */
  readonly signature: string | null;
  /** Id of the Temporal workflow of the settlement */
  readonly workflowId: string;
  /** Time at which the settlement was created */
  readonly createdAt: string;
  /** Time at which the settlement last changed */
  readonly updatedAt: string;
  /** What the settlement waits for, for display */
  readonly waitsFor: string;
  /** What to do next, for display */
  readonly nextStep: string;
  /** Attempt that can still land, or else the last attempt; null if the settlement has no attempt */
  readonly attempt: ExplainedAttempt | null;
  /** All attempts, oldest first */
  readonly attempts: readonly Attempt[];
  /** Open alerts about this settlement, newest first */
  readonly alerts: readonly ({
    /** Position of the alert, for `POST /v1/resume` and `POST /v1/alerts/seen` */
    readonly position: string;
    /** Explanation of the alert, for display */
    readonly message: string;
    /** Time at which the alert was raised */
    readonly raisedAt: string;
    /** Kind of alert */
    readonly kind: "maybe_paid" | "dead_attempt_landed" | "evidence_missing" | "payment_keeps_failing" | "confirmed_taken_back" | "attempt_lost" | "workflow_failed" | "payment_short" | "default_frozen" | "account_frozen" | "confidential_only";
  })[];
}

export interface SettlementPage {
  /** Items of the page, newest first */
  readonly settlements: readonly SettlementView[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export type SettlementStatus = "requested" | "awaiting_confirmation" | "awaiting_funds" | "preparing" | "sending" | "confirmed" | "finalized" | "rejected" | "cancelled" | "failed" | "dead" | "held";

export interface SettlementView {
  /** Id of the settlement: the id of a withdrawal, or `<kind>/<subject>` for every other kind */
  readonly id: string;
  /** Kind of settlement, such as `withdrawal` or `nonce-create` */
  readonly kind: string;
  /** What the settlement is for, such as a withdrawal id or the address of a nonce account; unique within its kind */
  readonly subject: string;
  /** Current status of the settlement */
  readonly status: SettlementStatus;
  /** Reason for the current status; null if the status needs no reason */
  readonly reason: StatusReason | null;
  /** base58 signature of the newest signed attempt; null until an attempt is signed */
  readonly signature: string | null;
  /** Id of the Temporal workflow of the settlement */
  readonly workflowId: string;
  /** Time at which the settlement was created */
  readonly createdAt: string;
  /** Time at which the settlement last changed */
  readonly updatedAt: string;
}

/** A finalized block, and the nodes that return it with this slot, hash and height */
export interface ShownBlock {
  /** Slot of the block */
  readonly slot: string;
  /** Hash of the block */
  readonly blockhash: string;
  /** Height of the block */
  readonly height: string;
  /** Names of the nodes that return this block */
  readonly nodes: readonly string[];
}

export interface StatusAnswer {
  /** Name of the node */
  readonly node: string;
  /** Sequence number of the request to the nodes; later requests have greater numbers */
  readonly order: number;
  /** Status of the signature on the node */
  readonly seen: "absent" | "processed" | "confirmed" | "finalized" | "unreadable";
  /** Slot of the block that contains the transaction; null if the node reports none */
  readonly slot: string | null;
  /** Error of the transaction, or why the answer of the node cannot be used; null if there is neither */
  readonly error: string | null;
  /** Slot of the node when it answered; null if the node did not return it */
  readonly atSlot: string | null;
  /** First slot of the history in which the node did not find the transaction; null if no history was searched */
  readonly historyFrom: string | null;
}

export interface StatusReason {
  /** Stable identifier of the reason, for programs */
  readonly code: string;
  /** Explanation of the reason, for display */
  readonly message: string;
}

export interface StoredRoutes {
  /** Number of the version; the next version has the next number */
  readonly version: string;
  /** `file`: a gateway read the routes file at its start or after SIGHUP. `api`: a request */
  readonly source: "file" | "api";
  /** Name of the API key; `gateway` if the source is a file */
  readonly actor: string;
  /** Reason for the change */
  readonly reason: string;
  /** Time at which the version was stored */
  readonly createdAt: string;
  /** Content of a routes file. A header value that is not the name of an environment variable is `{"hidden": true}` */
  readonly routes: {
    readonly [field: string]: unknown;
  };
}

export interface TokenAccount {
  /** Deposit address */
  readonly address: string;
  /** `SOL` or the address of the mint */
  readonly mint: string;
  /** Token program of the mint; null for SOL */
  readonly program: string | null;
  /** Associated token account that receives the token; null for SOL, which the address itself receives */
  readonly tokenAccount: string | null;
  /** Whether deposits of the asset are credited */
  readonly depositsOn: boolean;
}

export interface UnreadWallet {
  /** Address of the wallet */
  readonly wallet: string;
  /** Why the wallet could not be compared */
  readonly reason: string;
  /** Time of the first failed comparison since the last successful one */
  readonly since: string;
  /** Time of the last try to compare the wallet */
  readonly askedAt: string;
}

export interface WalletBaseline {
  /** Finalized slot at which the balances were read */
  readonly slot: string;
  /** Time at which the baseline was stored */
  readonly takenAt: string;
  /** Balances of the wallet; SOL is always included */
  readonly balances: readonly {
    /** Account that has the balance: the wallet for SOL, or else a token account */
    readonly account: string;
    /** `SOL` or the address of a mint */
    readonly asset: string;
    /** Balance in base units */
    readonly amount: string;
  }[];
}

export interface Warning {
  /** Stable identifier of the warning, for programs */
  readonly code: string;
  /** Explanation of the warning, for display */
  readonly message: string;
}

export interface Webhook {
  /** Id of the endpoint, `wh_…` */
  readonly id: string;
  /** URL that receives the events */
  readonly url: string;
  /** Event types to send: single types, groups such as `withdrawal.*`, or `*` for all */
  readonly events: readonly ("deposit.pending" | "deposit.final" | "deposit.dropped" | "deposit.not_credited" | "withdrawal.awaiting_confirmation" | "withdrawal.awaiting_funds" | "withdrawal.sending" | "withdrawal.confirmed" | "withdrawal.finalized" | "withdrawal.rejected" | "withdrawal.cancelled" | "withdrawal.failed" | "withdrawal.held" | "payment.owed" | "payment.served" | "payment.settled" | "payment.refundable" | "payment.unmatched" | "alert.raised" | "alert.closed" | "deposit.*" | "withdrawal.*" | "payment.*" | "alert.*" | "*")[];
  /** Why the endpoint is disabled; null if it is enabled */
  readonly disabledBecause: string | null;
  /** Time until which deliveries are also signed with the previous secret; null if there is no previous secret */
  readonly previousSecretUntil: string | null;
  /** Time at which the endpoint was created */
  readonly createdAt: string;
}

export interface WebhookDelivery {
  /** Id of the event, sent as `webhook-id` with each try */
  readonly event: string;
  /** Event type */
  readonly type: "deposit.pending" | "deposit.final" | "deposit.dropped" | "deposit.not_credited" | "withdrawal.awaiting_confirmation" | "withdrawal.awaiting_funds" | "withdrawal.sending" | "withdrawal.confirmed" | "withdrawal.finalized" | "withdrawal.rejected" | "withdrawal.cancelled" | "withdrawal.failed" | "withdrawal.held" | "payment.owed" | "payment.served" | "payment.settled" | "payment.refundable" | "payment.unmatched" | "alert.raised" | "alert.closed";
  /** Subject of the event; events of one subject are delivered in order */
  readonly entity: string;
  /** State of the delivery; a `dead` delivery is tried again only after a replay */
  readonly state: "waiting" | "delivered" | "dead";
  /** Number of tries since the event occurred or was last replayed */
  readonly attempts: number;
  /** Error of the last failed try; null if no try has failed, or after the delivery */
  readonly lastError: string | null;
  /** Time of the event */
  readonly createdAt: string;
  /** Time at which the event was delivered, or the delivery became `dead`; null while the delivery waits */
  readonly settledAt: string | null;
}

export interface WebhookDeliveryPage {
  /** Items of the page, newest first */
  readonly deliveries: readonly WebhookDelivery[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export interface WebhookWithBacklog {
  /** Id of the endpoint, `wh_…` */
  readonly id: string;
  /** URL that receives the events */
  readonly url: string;
  /** Event types to send: single types, groups such as `withdrawal.*`, or `*` for all */
  readonly events: readonly ("deposit.pending" | "deposit.final" | "deposit.dropped" | "deposit.not_credited" | "withdrawal.awaiting_confirmation" | "withdrawal.awaiting_funds" | "withdrawal.sending" | "withdrawal.confirmed" | "withdrawal.finalized" | "withdrawal.rejected" | "withdrawal.cancelled" | "withdrawal.failed" | "withdrawal.held" | "payment.owed" | "payment.served" | "payment.settled" | "payment.refundable" | "payment.unmatched" | "alert.raised" | "alert.closed" | "deposit.*" | "withdrawal.*" | "payment.*" | "alert.*" | "*")[];
  /** Why the endpoint is disabled; null if it is enabled */
  readonly disabledBecause: string | null;
  /** Time until which deliveries are also signed with the previous secret; null if there is no previous secret */
  readonly previousSecretUntil: string | null;
  /** Time at which the endpoint was created */
  readonly createdAt: string;
  /** Number of events that wait for delivery. Counted only up to 100,000 */
  readonly waiting: number;
  /** Number of deliveries in state `dead`. Counted only up to 100,000 */
  readonly dead: number;
  /** Error of the newest failed try of an undelivered event; null if no try has failed */
  readonly lastError: string | null;
}

export interface WebhookWithSecret {
  /** Id of the endpoint, `wh_…` */
  readonly id: string;
  /** URL that receives the events */
  readonly url: string;
  /** Event types to send: single types, groups such as `withdrawal.*`, or `*` for all */
  readonly events: readonly ("deposit.pending" | "deposit.final" | "deposit.dropped" | "deposit.not_credited" | "withdrawal.awaiting_confirmation" | "withdrawal.awaiting_funds" | "withdrawal.sending" | "withdrawal.confirmed" | "withdrawal.finalized" | "withdrawal.rejected" | "withdrawal.cancelled" | "withdrawal.failed" | "withdrawal.held" | "payment.owed" | "payment.served" | "payment.settled" | "payment.refundable" | "payment.unmatched" | "alert.raised" | "alert.closed" | "deposit.*" | "withdrawal.*" | "payment.*" | "alert.*" | "*")[];
  /** Why the endpoint is disabled; null if it is enabled */
  readonly disabledBecause: string | null;
  /** Time until which deliveries are also signed with the previous secret; null if there is no previous secret */
  readonly previousSecretUntil: string | null;
  /** Time at which the endpoint was created */
  readonly createdAt: string;
  /** Signing secret, returned only in this response; null if no new secret was created */
  readonly secret: string | null;
}

export interface Webhooks {
  /** Webhook endpoints, oldest first */
  readonly webhooks: readonly WebhookWithBacklog[];
}

export interface Withdrawal {
  /** Your id for the withdrawal */
  readonly id: string;
  /** Current status of the withdrawal */
  readonly status: WithdrawalStatus;
  /** Reason for the current status; null if the status needs no reason */
  readonly reason: StatusReason | null;
  /** `SOL` or the address of a mint */
  readonly asset: string;
  /** Amount in base units that the hot wallet sends */
  readonly amount: string;
  /** Address of the wallet of the receiver */
  readonly destination: string;
  /** Base units that the receiver got; less than `amount` if the token has a transfer fee. Null until the withdrawal is finalized */
  readonly amountReceived: string | null;
  /** Whether a destination wallet that holds nothing is paid without a confirmation */
  readonly acceptEmptyWallet: boolean;
  /** Memo of the transaction; null if there is none */
  readonly memo: string | null;
  /** Whether the customer has confirmed the destination */
  readonly confirmedByCustomer: boolean;
  /** Id of the Temporal workflow that pays the withdrawal */
  readonly workflowId: string;
  /** Time at which the withdrawal was created */
  readonly createdAt: string;
  /** Time at which the withdrawal last changed */
  readonly updatedAt: string;
  /** Paths of further requests about the withdrawal */
  readonly links: {
    /** Path of the withdrawal */
    readonly self: string;
    /** Path for the POST request that confirms the destination */
    readonly confirm: string;
    /** Path for the POST request that cancels the withdrawal */
    readonly cancel: string;
  };
  /** Attempts, oldest first */
  readonly attempts: readonly Attempt[];
}

export interface WithdrawalPage {
  /** Items of the page, newest first */
  readonly withdrawals: readonly WithdrawalSummary[];
  /** Value of `cursor` for the next page; null on the last page */
  readonly nextCursor: string | null;
}

export type WithdrawalStatus = "requested" | "awaiting_confirmation" | "awaiting_funds" | "preparing" | "sending" | "confirmed" | "finalized" | "rejected" | "cancelled" | "failed" | "held";

export interface WithdrawalSummary {
  /** Your id for the withdrawal */
  readonly id: string;
  /** Current status of the withdrawal */
  readonly status: WithdrawalStatus;
  /** Reason for the current status; null if the status needs no reason */
  readonly reason: StatusReason | null;
  /** `SOL` or the address of a mint */
  readonly asset: string;
  /** Amount in base units that the hot wallet sends */
  readonly amount: string;
  /** Address of the wallet of the receiver */
  readonly destination: string;
  /** Base units that the receiver got; less than `amount` if the token has a transfer fee. Null until the withdrawal is finalized */
  readonly amountReceived: string | null;
  /** Whether a destination wallet that holds nothing is paid without a confirmation */
  readonly acceptEmptyWallet: boolean;
  /** Memo of the transaction; null if there is none */
  readonly memo: string | null;
  /** Whether the customer has confirmed the destination */
  readonly confirmedByCustomer: boolean;
  /** Id of the Temporal workflow that pays the withdrawal */
  readonly workflowId: string;
  /** Time at which the withdrawal was created */
  readonly createdAt: string;
  /** Time at which the withdrawal last changed */
  readonly updatedAt: string;
  /** Paths of further requests about the withdrawal */
  readonly links: {
    /** Path of the withdrawal */
    readonly self: string;
    /** Path for the POST request that confirms the destination */
    readonly confirm: string;
    /** Path for the POST request that cancels the withdrawal */
    readonly cancel: string;
  };
}

export interface WithdrawalTerms {
  /** Your id for the withdrawal. It is permanent: one id is paid at most once */
  readonly id: string;
  /** `SOL` or the address of a mint */
  readonly asset: string;
  /** Base units (lamports, or the token’s smallest unit) as a decimal string, 1 to 2^64-1 */
  readonly amount: string;
  /** Address of the wallet of the receiver, 32 bytes in base58; never a token account */
  readonly destination: string;
  /** Whether a destination wallet that holds nothing is paid without a confirmation @default false */
  readonly acceptEmptyWallet?: boolean | undefined;
  /** Memo of the transaction, 1 to 200 bytes of UTF-8; public on chain */
  readonly memo?: string | undefined;
}

/** Query parameters by operation id. */
export interface Queries {
  readonly listWithdrawals: {
    readonly status?: "requested" | "awaiting_confirmation" | "awaiting_funds" | "preparing" | "sending" | "confirmed" | "finalized" | "rejected" | "cancelled" | "failed" | "held" | undefined;
    readonly asset?: string | undefined;
    readonly destination?: string | undefined;
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly listSettlements: {
    readonly kind?: string | undefined;
    readonly subject?: string | undefined;
    readonly status?: "requested" | "awaiting_confirmation" | "awaiting_funds" | "preparing" | "sending" | "confirmed" | "finalized" | "rejected" | "cancelled" | "failed" | "dead" | "held" | undefined;
    /** base58 signature of any attempt of the settlement */
    readonly signature?: string | undefined;
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly endSettlementAsPaid: {
    /** Id of the settlement, percent-encoded */
    readonly id: string;
  };
  readonly listPayments: {
    readonly state?: "settling" | "owed" | "served" | "refundable" | "unmatched" | "void" | undefined;
    /** Id of the route, such as `GET /reports/:id` */
    readonly route?: string | undefined;
    /** Address of the wallet of the buyer */
    readonly payer?: string | undefined;
    /** Address of the mint of the token, or `USDC` */
    readonly asset?: string | undefined;
    /** Part of Sluice that received the payment */
    readonly seller?: "gateway" | "facilitator" | undefined;
    /** Only payments that Sluice first received at this time or later; a date begins in UTC */
    readonly from?: string | undefined;
    /** Only payments that Sluice first received before this time; a date begins in UTC */
    readonly to?: string | undefined;
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly getRevenue: {
    /** Separate sums for each route, for each UTC day, or both. Default: neither */
    readonly by?: "route" | "day" | "route,day" | "day,route" | undefined;
    /** Id of the route, such as `GET /reports/:id` */
    readonly route?: string | undefined;
    /** Address of the wallet of the buyer */
    readonly payer?: string | undefined;
    /** Address of the mint of the token, or `USDC` */
    readonly asset?: string | undefined;
    /** Part of Sluice that received the payment */
    readonly seller?: "gateway" | "facilitator" | undefined;
    /** Only payments that Sluice first received at this time or later; a date begins in UTC */
    readonly from?: string | undefined;
    /** Only payments that Sluice first received before this time; a date begins in UTC */
    readonly to?: string | undefined;
  };
  readonly getRoutes: {
    /** Number of a version. Default: the newest one, which is sold */
    readonly version?: string | undefined;
  };
  readonly listRoutesVersions: {
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly explainSettlement: {
    /** Id of the settlement, percent-encoded */
    readonly id: string;
  };
  readonly listAlerts: {
    /** `true`: only open alerts. `false`: only closed alerts */
    readonly open?: boolean | undefined;
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly findDepositAddress: {
    /** Your id for the user. It is permanent: the same id always has the same deposit address */
    readonly userRef: string;
  };
  readonly listDeposits: {
    /** `next` of the previous response, or the sequence of the last event that you have handled; 0 for all events */
    readonly after?: string | undefined;
    /** Deposit address */
    readonly address?: string | undefined;
    /** Your id for the user. It is permanent: the same id always has the same deposit address */
    readonly userRef?: string | undefined;
    readonly state?: DepositState | undefined;
    /** `SOL` or the address of a mint */
    readonly asset?: string | undefined;
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly listBackfills: {
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
  readonly listWebhookDeliveries: {
    readonly state?: "waiting" | "delivered" | "dead" | undefined;
    /** `nextCursor` of the previous page */
    readonly cursor?: string | undefined;
    /** Maximum number of items in the page @default 50 */
    readonly limit?: number | undefined;
  };
}

/** Request bodies by operation id. */
export interface Bodies {
  readonly createWithdrawal: WithdrawalTerms;
  readonly endWithdrawalAsPaid: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly endSettlementAsPaid: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly revokeAccessPass: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly putRoutes: {
    /** Newest version that you have read; `0` if there is none */
    readonly expectedVersion: string;
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
    /** Content of a routes file: see `sluice x402 schema` */
    readonly routes: {
      readonly [field: string]: unknown;
    };
  };
  readonly closeSeenAlerts: {
    /** Positions of the alerts to close */
    readonly seen: readonly string[];
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly closeAlert: {
    /** Kind of the alert */
    readonly kind: "maybe_paid" | "dead_attempt_landed" | "payment_keeps_failing";
    /** Id of the settlement; for a withdrawal, its own id */
    readonly subject: string;
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly pausePayments: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
    /** `all` (default); `kind/<kind>`: settlements of this kind; `wallet/<address>`: attempts that this wallet signs */
    readonly scope?: string | undefined;
  };
  readonly resumePayments: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
    /** `all` (default); `kind/<kind>`: settlements of this kind; `wallet/<address>`: attempts that this wallet signs */
    readonly scope?: string | undefined;
    /** Positions of the open alerts that you have reviewed. Every open alert that began a pause must be among them */
    readonly seen?: readonly string[] | undefined;
  };
  readonly assignDepositAddress: {
    /** Your id for the user. It is permanent: the same id always has the same deposit address */
    readonly userRef: string;
  };
  readonly importDepositAddresses: {
    readonly manifest: AddressManifest;
    /** First slot in which the addresses may have received a payment; not in the future */
    readonly since?: string | undefined;
  };
  readonly rejectDeposit: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly putAsset: AssetChange;
  readonly startBackfill: BackfillRequest;
  readonly pauseScan: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly resumeScan: {
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly closeScanGap: {
    /** First slot of the range */
    readonly from: string;
    /** Last slot of the range; the scan must have passed it */
    readonly to: string;
    /** Reason for this action, stored with the name of the API key */
    readonly reason: string;
  };
  readonly createWebhook: NewWebhook;
  readonly rotateWebhookSecret: {
    /** Hours for which deliveries are also signed with the previous secret; pass 0 if that secret has leaked @default 24 */
    readonly keepPreviousHours?: number | undefined;
  };
  readonly replayWebhookDeliveries: {
    /** Id of one event; default: every delivery in state `dead` */
    readonly event?: string | undefined;
  };
}
