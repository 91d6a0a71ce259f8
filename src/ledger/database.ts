import {
  type ColumnType,
  type Generated,
  type GeneratedAlways,
  type Kysely,
  type RawBuilder,
  sql,
} from 'kysely';
import type { AlertKind } from '../domain/alerts.ts';
import type { AttemptState } from '../domain/attempt.ts';
import type { SettlementStatus } from '../domain/settlement.ts';
import type { Address, BlockHeight, Blockhash, Lamports, Signature, Slot } from '../domain/units.ts';
import type { DepositTables } from './deposits/deposit-tables.ts';
import type { WebhookTables } from './webhooks/webhook-tables.ts';
import type { PaymentTables } from './x402/payment-tables.ts';

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
  /** The settlement's position. */
  position: Generated<bigint>;
}

interface AttemptTable {
  settlementId: string;
  n: number;
  /** The settlement's kind. */
  kind: string;
  /** base58, in the order of the message's account keys: the first pays the fee. */
  signers: readonly Address[];
  messageHash: string;
  message: string;
  /** The blockhash in the message, or the nonce of its nonce account. */
  blockhash: Blockhash;
  /** Slot at which the blockhash was read; for an adopted message, the slot of the block `adoptedFrom`. */
  blockhashSlot: Slot;
  /** Null for a durable nonce, which does not expire. */
  blockhashHeight: BlockHeight | null;
  lastValidBlockHeight: BlockHeight | null;
  /** Hash of a finalized block before which an adopted message cannot have landed; null for our messages. */
  adoptedFrom: Blockhash | null;
  nonceAccount: Address | null;
  /** True if the transaction only advances the nonce that another attempt uses. */
  bareAdvance: Generated<boolean>;
  computeUnitLimit: number;
  computeUnitPriceMicroLamports: bigint;
  feeLamports: Lamports;
  rentLamports: Lamports;
  /** Whether it creates the token account of the receiver, maybe without rent. */
  createsAccount: Generated<boolean>;
  state: AttemptState;
  /** base58, one for each signer; null for signers that have not signed. */
  signatures: readonly (Signature | null)[];
  /** The transaction's signature, which is the fee payer's. */
  signature: GeneratedAlways<Signature | null>;
  slot: Slot | null;
  error: string | null;
  proof: ColumnType<unknown, string | null, string | null>;
  /** Epoch of the database when the row was inserted: see `EPOCH`. */
  generation: Generated<number>;
  createdAt: Generated<Date>;
  /** Null while the attempt is live. */
  endedAt: Generated<Date | null>;
}

/** `unproved`: its nonce is unknown, or is still `nonce`, which an existing transaction may use. */
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

/** Sum of the open reservations of a wallet and an asset, in parts. Triggers on `reservation` maintain it. */
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
  /** A `PauseScope`. */
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
  /** Epoch: the number of gaps that have ended. */
  generation: Generated<number>;
  /** Unassigned addresses up to here may belong to users that a restore has lost; 0: none. */
  withheldUpTo: Generated<bigint>;
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

/** Tables in camelCase, as queries name them. numeric and int8 are bigint. */
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
}

export type Database = Kysely<Tables>;

/** For `where(column, '=', anyOf(values))`: all values are one parameter, of which a query can have 65,535. */
export function anyOf(values: readonly string[]): RawBuilder<string> {
  return sql<string>`any(${values}::text[])`;
}

/** {@link anyOf} for integers, which cursors and callers may have as decimal strings. */
export function anyOfNumbers(values: readonly (bigint | string)[]): RawBuilder<bigint> {
  return sql<bigint>`any(${values.map(String)}::bigint[])`;
}

declare const LOCK: unique symbol;

/** Proof that this transaction has a lock: only the function that takes the lock makes it. */
export type Locked<Held, Lock extends string> = Held & { readonly [LOCK]: Lock };

/** A value as JSON, bigint as decimal strings; null for null and undefined. */
export function toJson(proof: unknown): string | null {
  if (proof === null || proof === undefined) return null;
  return JSON.stringify(proof, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}
