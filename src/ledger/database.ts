import { type ColumnType, type Generated, type Kysely, type RawBuilder, sql } from 'kysely';
import type { Alarm, AlertKind } from '../domain/alerts.ts';
import type { WithdrawalStatus } from '../domain/withdrawal.ts';
import type { DepositTables } from './deposit-tables.ts';
import type { WebhookTables } from './webhook-tables.ts';

/** How far an attempt has come. `prepared` and `signed` are live; the others are for ever. */
export type AttemptState = 'prepared' | 'signed' | 'landed' | 'failed' | 'dead';

interface WithdrawalTable {
  id: string;
  position: Generated<bigint>;
  asset: string;
  amount: bigint;
  destination: string;
  acceptEmptyWallet: boolean;
  memo: string | null;
  fingerprint: string;
  status: WithdrawalStatus;
  reasonCode: string | null;
  reasonMessage: string | null;
  confirmedByCustomer: Generated<boolean>;
  amountReceived: bigint | null;
  createdAt: Generated<Date>;
  updatedAt: Generated<Date>;
}

interface AttemptTable {
  withdrawalId: string;
  n: number;
  wallet: string;
  messageHash: string;
  message: string;
  /** What the message carries: a blockhash, or the value of the nonce account. */
  blockhash: string;
  /** The slot at which that was read. */
  blockhashSlot: bigint;
  /** Null for a durable nonce, which has no last height. */
  blockhashHeight: bigint | null;
  lastValidBlockHeight: bigint | null;
  nonceAccount: string | null;
  computeUnitLimit: number;
  computeUnitPriceMicroLamports: bigint;
  feeLamports: bigint;
  rentLamports: bigint;
  state: AttemptState;
  signature: string | null;
  raw: string | null;
  slot: bigint | null;
  error: string | null;
  proof: ColumnType<unknown, string | null, string | null>;
  /** That of the record when it was written. */
  generation: Generated<number>;
  createdAt: Generated<Date>;
}

/** `unproved`: its value is not known, or is still `nonce`, which somebody's transaction may carry. */
export type NonceAccountState = 'free' | 'leased' | 'unproved';

interface NonceAccountTable {
  address: string;
  authority: string;
  position: number;
  state: NonceAccountState;
  withdrawalId: string | null;
  nonce: string | null;
  slot: bigint | null;
  createdAt: Generated<Date>;
}

interface NonceUpkeepTable
  extends Pick<
    AttemptTable,
    | 'wallet'
    | 'messageHash'
    | 'message'
    | 'blockhash'
    | 'blockhashSlot'
    | 'blockhashHeight'
    | 'lastValidBlockHeight'
    | 'feeLamports'
    | 'rentLamports'
    | 'state'
    | 'signature'
    | 'raw'
    | 'slot'
    | 'error'
    | 'proof'
    | 'createdAt'
  > {
  kind: 'create' | 'advance';
  address: string;
}

interface ReservationTable {
  withdrawalId: string;
  wallet: string;
  asset: string;
  amount: bigint;
  state: 'open' | 'landed' | 'released';
  slot: bigint | null;
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
  reason: string;
  who: string;
  since: Generated<Date>;
  endedAt: Date | null;
  endedBy: string | null;
  endedWhy: string | null;
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
export interface Tables extends DepositTables, WebhookTables {
  withdrawal: WithdrawalTable;
  attempt: AttemptTable;
  reservation: ReservationTable;
  apiKey: ApiKeyTable;
  alert: AlertTable;
  pause: PauseTable;
  walletHistory: WalletHistoryTable;
  continuity: ContinuityTable;
  nonceAccount: NonceAccountTable;
  nonceUpkeep: NonceUpkeepTable;
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
