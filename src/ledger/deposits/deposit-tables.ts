import type { ColumnType, Generated } from 'kysely';
import type { AuditReport } from '../../domain/audit.ts';
import type {
  DepositAddressState,
  DepositState,
  NotCreditedReason,
  WatchKind,
} from '../../domain/deposit.ts';
import type { ScanGap, ScanRange, ScanReport } from '../../domain/scan.ts';

interface WatchVersionTable {
  one: Generated<boolean>;
  version: bigint;
}

interface WatchedWalletTable {
  address: string;
  kind: WatchKind;
  /** Version of the watch set that added the wallet. */
  version: bigint;
  /** Every block above this slot is matched with the wallet; null if it was added before the first scanned block. */
  watchedAfter: bigint | null;
}

interface DepositAddressTable {
  address: string;
  position: Generated<bigint>;
  path: string;
  state: DepositAddressState;
  userRef: string | null;
  /** Slot from which it may have been paid before it was watched. */
  since: bigint | null;
  /** True while transactions from `since` on still have to be searched. */
  auditDue: Generated<boolean>;
  /** While an audit is due: the newest final slot at the last import. The audit covers slots up to it. */
  importedAfter: bigint | null;
  /** When an audit last began; null if none did. */
  auditTriedAt: Date | null;
  /** Since when audits end incomplete, and when the next one begins; both null if the last one was complete. */
  unreadSince: Date | null;
  auditAfter: Date | null;
  createdAt: Generated<Date>;
  assignedAt: Date | null;
  /** Deposits up to this slot arrived before the assignment to the user; null if that is no longer known. */
  assignedAfter: bigint | null;
}

interface AssetTable {
  asset: string;
  program: string | null;
  decimals: number;
  extensions: ColumnType<readonly string[], string, string>;
  /** Null if the mint has no freeze authority. */
  freezeAuthority: string | null;
  permanentDelegate: string | null;
  minimumDeposit: bigint;
  depositsOn: boolean;
  createdAt: Generated<Date>;
  updatedAt: Generated<Date>;
}

interface ScanCursorTable {
  one: Generated<boolean>;
  slot: bigint;
  blockhash: string;
  height: bigint;
  /** Headers up to this slot are deleted; null if none are. */
  prunedTo: bigint | null;
  /** The newest slot that a quorum has reported as finalized; null if no quorum was asked. */
  tip: bigint | null;
}

/** The newest report of a worker that scans. */
interface ScanStatusTable {
  one: Generated<boolean>;
  state: ScanReport['state'];
  reason: string | null;
  /** Start of the standstill; null while the scan makes progress, and while it is paused. */
  since: Date | null;
  at: Generated<Date>;
  tip: bigint | null;
  /** Blocks per second; null while unknown. Measured from the cursor's height at `measuredAt`. */
  rate: number | null;
  measuredAt: Generated<Date>;
  measuredHeight: bigint | null;
}

interface BlockTable {
  slot: bigint;
  blockhash: string;
  parentSlot: bigint;
  previousBlockhash: string;
  height: bigint;
  time: bigint | null;
}

interface ScanGapTable {
  fromSlot: bigint;
  /** The last block of the gap; its hash and height are derived from its child. */
  toSlot: bigint;
  blockhash: string;
  height: bigint;
  state: ScanGap['state'];
  openedAt: Generated<Date>;
  endedAt: Date | null;
  actor: string | null;
  reason: string | null;
  /** When a rescan had read all blocks of this closed gap from a quorum of nodes; null before. */
  readAt: Date | null;
}

interface ScanPauseTable {
  position: Generated<bigint>;
  actor: string;
  reason: string;
  since: Generated<Date>;
  endedAt: Date | null;
  endedBy: string | null;
  endedReason: string | null;
}

/** Earlier blocks, or the history of one address, that are read again. Headers are kept until it has ended. */
export interface BackfillTable {
  position: Generated<bigint>;
  /** Null for all wallets, by the blocks. */
  address: string | null;
  /** Whether missing deposits are recorded. */
  repair: boolean;
  fromSlot: bigint;
  toSlot: bigint;
  actor: string;
  reason: string;
  begunAt: Generated<Date>;
  /** The workflow run that last continued it; null before the first. */
  run: string | null;
  /** All blocks up to this slot are read, except for gaps; null before the first. */
  readTo: bigint | null;
  blocks: Generated<number>;
  found: Generated<number>;
  /** Slots of closed gaps whose blocks nodes did not return. */
  unread: ColumnType<readonly ScanRange[], string | undefined, string>;
  /** Result for an address. */
  report: ColumnType<AuditReport | null, string | undefined, string>;
  /** Error of the latest try; null while it makes progress. */
  trouble: string | null;
  /** When a run of it is started again; null: at once. */
  retryAfter: Date | null;
  endedAt: Date | null;
}

interface StagedRangeTable {
  fromSlot: bigint;
  toSlot: bigint;
  /** The parent that the first block names. */
  parentSlot: bigint;
  previousBlockhash: string;
  blocks: ColumnType<unknown, string, string>;
  stagedAt: Generated<Date>;
}

interface DepositTable {
  id: Generated<bigint>;
  signature: string;
  slot: bigint;
  /** Null if only the transaction was available: its block is in a closed gap. */
  blockhash: string | null;
  time: bigint | null;
  account: string;
  wallet: string;
  asset: string;
  amount: bigint;
  state: DepositState;
  reason: NotCreditedReason | null;
  /** Null while the deposit is only announced. */
  finalizedAt: Date | null;
  /** Names of the nodes that confirmed it; a name never contains an API key. */
  confirmedBy: string | null;
  createdAt: Generated<Date>;
  updatedAt: Generated<Date>;
}

/** An operator's order, and the nodes that denied the deposit at that time. */
interface DepositRejectionTable {
  position: Generated<bigint>;
  depositId: bigint;
  actor: string;
  reason: string;
  deniedBy: string;
  at: Generated<Date>;
}

interface DepositFeedTable {
  one: Generated<boolean>;
  lastSequence: bigint;
  /** The restore after which sequences last jumped; null before any. */
  renumberedFor: string | null;
}

interface DepositEventTable {
  sequence: bigint;
  depositId: bigint;
  kind: DepositState;
  amount: bigint;
  reason: NotCreditedReason | null;
  at: Generated<Date>;
}

interface OutflowTable {
  signature: string;
  slot: bigint;
  account: string;
  asset: string;
  wallet: string;
  amount: bigint;
  /** False if a delegate moved the tokens. */
  ownerSigned: boolean;
}

interface SpendTable {
  signature: string;
  slot: bigint;
  wallet: string;
  error: string | null;
  judged: Generated<boolean>;
  seenAt: Generated<Date>;
}

interface WalletBaselineTable {
  wallet: string;
  account: string;
  asset: string;
  slot: bigint;
  amount: bigint;
  takenAt: Generated<Date>;
}

interface ReconciliationTable {
  one: Generated<boolean>;
  pages: Generated<bigint>;
  /** Passes that have ended. */
  passes: Generated<bigint>;
  /** When the running pass began; null if none is running. */
  begunAt: Date | null;
  after: string | null;
  /** Why a round ended early; null if none did since the last page. */
  haltedBecause: string | null;
  comparedSince: Generated<Date>;
  wallets: Generated<bigint>;
  accounts: Generated<bigint>;
  differences: Generated<bigint>;
  lastBegunAt: Date | null;
  lastEndedAt: Date | null;
  lastWallets: Generated<bigint>;
  lastAccounts: Generated<bigint>;
  lastDifferences: Generated<bigint>;
}

interface UnreadWalletTable {
  wallet: string;
  reason: string;
  since: Generated<Date>;
  askedAt: Generated<Date>;
}

export interface DepositTables {
  watchVersion: WatchVersionTable;
  watchedWallet: WatchedWalletTable;
  depositAddress: DepositAddressTable;
  asset: AssetTable;
  scanCursor: ScanCursorTable;
  scanStatus: ScanStatusTable;
  block: BlockTable;
  scanGap: ScanGapTable;
  scanPause: ScanPauseTable;
  backfill: BackfillTable;
  stagedRange: StagedRangeTable;
  deposit: DepositTable;
  depositRejection: DepositRejectionTable;
  depositFeed: DepositFeedTable;
  depositEvent: DepositEventTable;
  outflow: OutflowTable;
  spend: SpendTable;
  walletBaseline: WalletBaselineTable;
  reconciliation: ReconciliationTable;
  unreadWallet: UnreadWalletTable;
}
