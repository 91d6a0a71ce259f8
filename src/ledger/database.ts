import {
  type ColumnType,
  type Generated,
  type GeneratedAlways,
  type Kysely,
  type RawBuilder,
  sql,
} from 'kysely';
import type { Alarm, AlertKind } from '../domain/alerts.ts';
import type { SettlementStatus } from '../domain/settlement.ts';
import type { DepositTables } from './deposits/deposit-tables.ts';
import type { WebhookTables } from './webhooks/webhook-tables.ts';
import type { PaymentTables } from './x402/payment-tables.ts';

/** How far an attempt has come. `prepared` and `signed` are live; the others are for ever. */
export type AttemptState = 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';

interface SettlementTable {
  id: string;
  position: Generated<bigint>;
  kind: string;
  subjectId: string;
  status: SettlementStatus;
  reasonCode: string | null;
  reasonMessage: string | null;
  wasConfirmed: Generated<boolean>;
  createdAt: Generated<Date>;
  updatedAt: Generated<Date>;
}

interface WithdrawalTable {
  id: string;
  asset: string;
  amount: bigint;
  destination: string;
  acceptEmptyWallet: boolean;
  memo: string | null;
  fingerprint: string;
  confirmedByCustomer: Generated<boolean>;
  amountReceived: bigint | null;
  /** That of its settlement. */
  position: Generated<bigint>;
}

interface AttemptTable {
  settlementId: string;
  n: number;
  /** That of its settlement. */
  kind: string;
  /** base58, in the order of the message's keys: the first pays the fee. */
  signers: readonly string[];
  messageHash: string;
  message: string;
  /** What the message carries: a blockhash, or the value of the nonce account. */
  blockhash: string;
  /** The slot at which that was read; for an adopted message the slot of the block `adoptedFrom`. */
  blockhashSlot: bigint;
  /** Null for a durable nonce, which has no last height. */
  blockhashHeight: bigint | null;
  lastValidBlockHeight: bigint | null;
  /** The hash of a finalized block before which an adopted message cannot have landed; null for a message that we composed. */
  adoptedFrom: string | null;
  nonceAccount: string | null;
  /** Uses up the nonce that another attempt carries, and does nothing else. */
  bareAdvance: Generated<boolean>;
  computeUnitLimit: number;
  computeUnitPriceMicroLamports: bigint;
  feeLamports: bigint;
  rentLamports: bigint;
  createsAccount: Generated<boolean | null>;
  state: AttemptState;
  /** base58, one for each signer; null for those that have not signed yet. */
  signatures: readonly (string | null)[];
  /** That of the transaction: the fee payer's. */
  signature: GeneratedAlways<string | null>;
  slot: bigint | null;
  error: string | null;
  proof: ColumnType<unknown, string | null, string | null>;
  /** That of the record when it was written. */
  generation: Generated<number>;
  createdAt: Generated<Date>;
  /** When its end was recorded; null while it lives, and for attempts that ended before this column existed. */
  endedAt: Generated<Date | null>;
}

/** `unproved`: its value is not known, or is still `nonce`, which somebody's transaction may carry. */
export type NonceAccountState = 'free' | 'leased' | 'unproved';

interface NonceAccountTable {
  address: string;
  authority: string;
  position: number;
  state: NonceAccountState;
  settlementId: string | null;
  nonce: string | null;
  slot: bigint | null;
  createdAt: Generated<Date>;
}

interface ReservationTable {
  settlementId: string;
  wallet: string;
  asset: string;
  amount: bigint;
  state: 'open' | 'landed' | 'released';
  slot: bigint | null;
}

/** The sum of the open reservations of a wallet and an asset, in parts; triggers on `reservation` maintain it. */
interface ReservedTable {
  wallet: string;
  asset: string;
  part: number;
  amount: bigint;
  open: bigint;
}

interface ApiKeyTable {
  name: string;
  hash: string;
  createdAt: Generated<Date>;
}

interface AlertTable {
  position: Generated<bigint>;
  kind: AlertKind;
  subject: string;
  message: string;
  details: ColumnType<Readonly<Record<string, unknown>>, string, string>;
  raisedAt: Generated<Date>;
  lastSeenAt: Generated<Date>;
  count: Generated<number>;
  closedAt: Date | null;
}

interface PauseTable {
  position: Generated<bigint>;
  cause: string;
  /** What it stops, as `PauseScope` writes it. */
  scope: Generated<string>;
  reason: string;
  actor: string;
  since: Generated<Date>;
  endedAt: Date | null;
  endedBy: string | null;
  endedReason: string | null;
}

interface FeePayerTable {
  address: string;
}

interface WalletHistoryTable {
  wallet: string;
  judgedToSlot: bigint;
  fromSlot: bigint;
}

interface ContinuityTable {
  one: Generated<boolean>;
  identity: string;
  seenAt: Date;
  quarantineHeight: bigint | null;
  quarantineIdentity: string | null;
  noncesSettled: Generated<boolean>;
  /** How many gaps have ended. */
  generation: Generated<number>;
  /** Addresses of the pool up to this position may be some user's, though nobody has them here; 0 where none is in doubt. */
  doubtfulUpTo: Generated<bigint>;
}

interface LostNonceTable {
  address: string;
  nonce: string;
  slot: bigint;
}

interface ClusterTable {
  one: Generated<boolean>;
  genesisHash: string;
  boundAt: Generated<Date>;
}

interface NodeLedgerTable {
  node: string;
  firstSlot: bigint;
  finalizedSlot: bigint;
  gapFrom: bigint | null;
  gapTo: bigint | null;
}

interface NodeViewTable {
  worker: string;
  alarms: ColumnType<readonly Alarm[], string, string>;
  seenAt: Generated<Date>;
}

/** The tables in camelCase, as queries name them. numeric and int8 are bigint. */
export interface Tables extends DepositTables, PaymentTables, WebhookTables {
  settlement: SettlementTable;
  withdrawal: WithdrawalTable;
  attempt: AttemptTable;
  reservation: ReservationTable;
  reserved: ReservedTable;
  apiKey: ApiKeyTable;
  alert: AlertTable;
  pause: PauseTable;
  feePayer: FeePayerTable;
  walletHistory: WalletHistoryTable;
  continuity: ContinuityTable;
  nonceAccount: NonceAccountTable;
  lostNonce: LostNonceTable;
  cluster: ClusterTable;
  nodeLedger: NodeLedgerTable;
  nodeView: NodeViewTable;
}

export type Database = Kysely<Tables>;

/** For `where(column, '=', anyOf(values))`: however many values there are, they are one parameter, of which a query has 65,535. */
export function anyOf(values: readonly string[]): RawBuilder<string> {
  return sql<string>`any(${values}::text[])`;
}

/** {@link anyOf} for whole numbers; a cursor or a caller may hold them as text. */
export function anyOfNumbers(values: readonly (bigint | string)[]): RawBuilder<bigint> {
  return sql<bigint>`any(${values.map(String)}::bigint[])`;
}
