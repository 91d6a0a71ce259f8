// Generated from the migrations by scripts/ledger-tables.ts, which test/ledger/migrate.test.ts runs.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
import type { AlertKind } from '../domain/alerts.ts';
import type { AuditReport } from '../domain/audit.ts';
import type { NotCreditedReason } from '../domain/deposit.ts';
import type { ScanRange, ScanReport } from '../domain/scan.ts';
import type { Address, BlockHeight, Blockhash, Lamports, Signature, Slot } from '../domain/units.ts';
import type { WebhookEventType, WebhookTopic } from '../domain/webhook.ts';
import type { Caller, OfferedTerms, PaymentTerms } from './x402/payment-row.ts';

/** Tables in camelCase, as queries name them. numeric and int8 are bigint. */
export interface Tables {
  accessPass: {
    paymentId: string;
    payer: string;
    route: string;
    path: string;
    issuedAt: Generated<Date>;
    expiresAt: Date;
  };
  alert: {
    position: GeneratedAlways<bigint>;
    kind: AlertKind;
    subject: string;
    message: string;
    details: ColumnType<Readonly<Record<string, unknown>>, string | undefined, string>;
    raisedAt: Generated<Date>;
    lastSeenAt: Generated<Date>;
    count: Generated<number>;
    closedAt: Date | null;
  };
  apiKey: {
    name: string;
    hash: string;
    kind: Generated<'api' | 'facilitator'>;
    createdAt: Generated<Date>;
    mints: readonly string[] | null;
    payTos: readonly string[] | null;
    lamportsPerHour: bigint | null;
  };
  asset: {
    asset: string;
    program: string | null;
    decimals: number;
    extensions: ColumnType<readonly string[], string, string>;
    freezeAuthority: string | null;
    permanentDelegate: string | null;
    minimumDeposit: bigint;
    depositsOn: boolean;
    createdAt: Generated<Date>;
    updatedAt: Generated<Date>;
  };
  attempt: {
    settlementId: string;
    n: number;
    kind: string;
    signers: readonly Address[];
    messageHash: string;
    message: string;
    blockhash: Blockhash;
    blockhashSlot: Slot;
    blockhashHeight: BlockHeight | null;
    lastValidBlockHeight: BlockHeight | null;
    adoptedFrom: Blockhash | null;
    nonceAccount: Address | null;
    bareAdvance: Generated<boolean>;
    computeUnitLimit: number;
    computeUnitPriceMicroLamports: bigint;
    feeLamports: Lamports;
    rentLamports: Lamports;
    createsAccount: Generated<boolean>;
    state: 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';
    signatures: readonly (Signature | null)[];
    signature: GeneratedAlways<Signature | null>;
    slot: Slot | null;
    error: string | null;
    proof: ColumnType<unknown, string | null, string | null>;
    epoch: Generated<number>;
    createdAt: Generated<Date>;
    endedAt: Date | null;
  };
  backfill: {
    position: GeneratedAlways<bigint>;
    address: string | null;
    repair: boolean;
    fromSlot: bigint;
    toSlot: bigint;
    actor: string;
    reason: string;
    run: string | null;
    begunAt: Generated<Date>;
    readTo: bigint | null;
    blocks: Generated<number>;
    found: Generated<number>;
    unread: ColumnType<readonly ScanRange[], string | undefined, string>;
    report: ColumnType<AuditReport | null, string | null, string | null>;
    trouble: string | null;
    retryAfter: Date | null;
    endedAt: Date | null;
  };
  block: {
    slot: bigint;
    blockhash: string;
    parentSlot: bigint;
    previousBlockhash: string;
    height: bigint;
    time: bigint | null;
  };
  catalogEntry: {
    facilitatorKey: string;
    resource: string;
    method: string;
    item: ColumnType<Readonly<Record<string, unknown>>, string, string>;
    updatedAt: Generated<Date>;
  };
  cluster: {
    one: Generated<boolean>;
    genesisHash: string;
    boundAt: Generated<Date>;
  };
  continuity: {
    one: Generated<boolean>;
    identity: string;
    seenAt: Date;
    quarantineHeight: bigint | null;
    quarantineIdentity: string | null;
    noncesSettled: Generated<boolean>;
    epoch: Generated<number>;
    withheldUpTo: Generated<bigint>;
  };
  deposit: {
    id: GeneratedAlways<bigint>;
    signature: string;
    slot: bigint;
    blockhash: string | null;
    time: bigint | null;
    account: string;
    wallet: string;
    asset: string;
    amount: bigint;
    state: 'pending' | 'final' | 'dropped' | 'not_credited';
    reason: NotCreditedReason | null;
    finalizedAt: Date | null;
    confirmedBy: string | null;
    createdAt: Generated<Date>;
    updatedAt: Generated<Date>;
  };
  depositAddress: {
    address: string;
    position: GeneratedAlways<bigint>;
    path: string;
    state: 'auditing' | 'free' | 'assigned' | 'used';
    userRef: string | null;
    since: bigint | null;
    createdAt: Generated<Date>;
    importedAfter: bigint | null;
    assignedAt: Date | null;
    assignedAfter: bigint | null;
    auditDue: Generated<boolean>;
    auditTriedAt: Date | null;
    auditAfter: Date | null;
    unreadSince: Date | null;
  };
  depositEvent: {
    sequence: bigint;
    depositId: bigint;
    kind: 'pending' | 'final' | 'dropped' | 'not_credited';
    amount: bigint;
    reason: NotCreditedReason | null;
    at: Generated<Date>;
  };
  depositFeed: {
    one: Generated<boolean>;
    lastSequence: bigint;
    renumberedFor: string | null;
  };
  depositRejection: {
    position: GeneratedAlways<bigint>;
    depositId: bigint;
    actor: string;
    reason: string;
    deniedBy: string;
    at: Generated<Date>;
  };
  feePayer: {
    address: string;
  };
  lostNonce: {
    address: string;
    nonce: string;
    slot: bigint;
  };
  nonceAccount: {
    address: string;
    authority: string;
    position: number;
    state: 'free' | 'leased' | 'unproved';
    settlementId: string | null;
    nonce: string | null;
    slot: bigint | null;
    createdAt: Generated<Date>;
  };
  offer: {
    route: string;
    hash: string;
    terms: ColumnType<OfferedTerms, string, never>;
    lastOfferedAt: Generated<Date>;
  };
  outflow: {
    signature: string;
    slot: bigint;
    account: string;
    asset: string;
    wallet: string;
    amount: bigint;
    ownerSigned: boolean;
  };
  passRevocation: {
    paymentId: string;
    actor: string;
    reason: string;
    revokedAt: Generated<Date>;
  };
  pause: {
    position: GeneratedAlways<bigint>;
    cause: string;
    scope: Generated<string>;
    reason: string;
    actor: string;
    since: Generated<Date>;
    endedAt: Date | null;
    endedBy: string | null;
    endedReason: string | null;
  };
  payment: {
    id: string;
    position: GeneratedAlways<bigint>;
    state: 'settling' | 'owed' | 'served' | 'refundable' | 'unmatched' | 'void';
    reason: string | null;
    seller: 'gateway' | 'facilitator';
    dialect: 'v2' | 'v1' | 'example' | 'submitted';
    payer: string;
    sourceAccount: string | null;
    feePayer: string;
    feeLamports: bigint;
    computeUnitLimit: number;
    computeUnitPriceMicroLamports: bigint;
    terms: ColumnType<PaymentTerms, string, never>;
    wire: string | null;
    signature: string | null;
    acceptedSlot: bigint;
    received: bigint | null;
    route: string;
    requestHash: string;
    request: string | null;
    answer: string | null;
    answerStatus: number | null;
    caller: ColumnType<Caller, string, never>;
    facilitatorKey: string | null;
    claim: string | null;
    leaseHolder: string | null;
    leaseUntil: Date | null;
    askedAt: Date | null;
    paidAt: Date | null;
    settledAt: Date | null;
    failedAt: Date | null;
    servedAt: Date | null;
    answerRepeats: Generated<number>;
    replacedBy: string | null;
    createdAt: Generated<Date>;
  };
  reconciliation: {
    one: Generated<boolean>;
    pages: Generated<bigint>;
    passes: Generated<bigint>;
    begunAt: Date | null;
    after: string | null;
    comparedSince: Generated<Date>;
    wallets: Generated<bigint>;
    accounts: Generated<bigint>;
    differences: Generated<bigint>;
    haltedBecause: string | null;
    lastBegunAt: Date | null;
    lastEndedAt: Date | null;
    lastWallets: Generated<bigint>;
    lastAccounts: Generated<bigint>;
    lastDifferences: Generated<bigint>;
  };
  reservation: {
    settlementId: string;
    wallet: string;
    asset: string;
    amount: bigint;
    state: 'open' | 'landed' | 'released';
    slot: bigint | null;
  };
  reserved: {
    wallet: string;
    asset: string;
    part: number;
    amount: bigint;
    open: bigint;
  };
  routesVersion: {
    position: bigint;
    source: 'file' | 'api';
    content: string;
    hash: string;
    actor: string;
    reason: string;
    createdAt: Generated<Date>;
  };
  scanCursor: {
    one: Generated<boolean>;
    slot: bigint;
    blockhash: string;
    height: bigint;
    prunedTo: bigint | null;
    tip: bigint | null;
  };
  scanGap: {
    fromSlot: bigint;
    toSlot: bigint;
    blockhash: string;
    height: bigint;
    state: 'open' | 'filled' | 'closed';
    openedAt: Generated<Date>;
    endedAt: Date | null;
    actor: string | null;
    reason: string | null;
    readAt: Date | null;
  };
  scanPause: {
    position: GeneratedAlways<bigint>;
    actor: string;
    reason: string;
    since: Generated<Date>;
    endedAt: Date | null;
    endedBy: string | null;
    endedReason: string | null;
  };
  scanStatus: {
    one: Generated<boolean>;
    state: ScanReport['state'];
    reason: string | null;
    since: Date | null;
    at: Generated<Date>;
    tip: bigint | null;
    rate: number | null;
    measuredAt: Generated<Date>;
    measuredHeight: bigint | null;
  };
  settlement: {
    id: string;
    position: GeneratedAlways<bigint>;
    kind: string;
    subjectId: string;
    status: 'requested' | 'awaiting_confirmation' | 'awaiting_funds' | 'preparing' | 'sending' | 'confirmed' | 'finalized' | 'rejected' | 'cancelled' | 'failed' | 'dead' | 'held';
    reasonCode: string | null;
    reasonMessage: string | null;
    wasConfirmed: Generated<boolean>;
    createdAt: Generated<Date>;
    updatedAt: Generated<Date>;
  };
  spend: {
    signature: string;
    slot: bigint;
    wallet: string;
    error: string | null;
    judged: Generated<boolean>;
    seenAt: Generated<Date>;
  };
  stagedRange: {
    fromSlot: bigint;
    toSlot: bigint;
    parentSlot: bigint;
    previousBlockhash: string;
    blocks: ColumnType<unknown, string, string>;
    stagedAt: Generated<Date>;
  };
  unreadWallet: {
    wallet: string;
    reason: string;
    since: Generated<Date>;
    askedAt: Generated<Date>;
  };
  walletBaseline: {
    wallet: string;
    account: string;
    asset: string;
    slot: bigint;
    amount: bigint;
    takenAt: Generated<Date>;
  };
  walletHistory: {
    wallet: string;
    fromSlot: bigint;
    judgedToSlot: bigint;
  };
  watchVersion: {
    one: Generated<boolean>;
    version: bigint;
  };
  watchedWallet: {
    address: string;
    kind: 'deposit' | 'hot';
    version: bigint;
    watchedAfter: bigint | null;
  };
  webhookDelivery: {
    endpoint: string;
    sequence: bigint;
    entity: string;
    state: Generated<'waiting' | 'delivered' | 'dead'>;
    attempts: Generated<number>;
    lastError: string | null;
    handedAt: Date | null;
    settledAt: Date | null;
  };
  webhookEndpoint: {
    id: string;
    position: GeneratedAlways<bigint>;
    url: string;
    events: readonly WebhookTopic[];
    secret: string;
    previousSecret: string | null;
    previousSecretUntil: Date | null;
    disabledAt: Date | null;
    disabledBecause: string | null;
    createdAt: Generated<Date>;
  };
  webhookEvent: {
    sequence: GeneratedAlways<bigint>;
    id: string;
    type: WebhookEventType;
    entity: string;
    body: string;
    createdAt: Generated<Date>;
  };
  withdrawal: {
    id: string;
    asset: string;
    amount: bigint;
    destination: string;
    acceptEmptyWallet: boolean;
    memo: string | null;
    fingerprint: string;
    confirmedByCustomer: Generated<boolean>;
    amountReceived: bigint | null;
    position: Generated<bigint>;
  };
}
