import type { ColumnType, Generated } from 'kysely';
import type {
  DepositAddressState,
  DepositState,
  NotCreditedReason,
  WatchKind,
} from '../../domain/deposit.ts';
import type { ScanGap, ScanRange } from '../../domain/scan.ts';

interface WatchVersionTable {
  one: Generated<boolean>;
  version: bigint;
}

interface WatchedWalletTable {
  address: string;
  kind: WatchKind;
  /** The version of the watch set that it came in with. */
  version: bigint;
  /** Every block above this slot is matched with it; null where nothing had been scanned. */
  watchedAfter: bigint | null;
}

interface DepositAddressTable {
  address: string;
  position: Generated<bigint>;
  path: string;
  state: DepositAddressState;
  userRef: string | null;
  /** The slot from which it may have been paid before it was watched. */
  since: bigint | null;
  /** What came from `since` on is still to be looked for. */
  auditDue: Generated<boolean>;
  /** The newest final slot at its newest import while that is so: what came up to there is looked for, too. */
  importedAfter: bigint | null;
  /** When that was last begun; null where it never was. */
  auditTriedAt: Date | null;
  /** Since when the audit ends without being whole, and when it is begun again; both null where that was not so. */
  unreadSince: Date | null;
  auditAfter: Date | null;
  createdAt: Generated<Date>;
  assignedAt: Date | null;
  /** What came up to this slot was there before the address was the user's; null where nobody knows any more. */
  assignedAfter: bigint | null;
}

interface AssetTable {
  asset: string;
  program: string | null;
  decimals: number;
  extensions: ColumnType<readonly string[], string, string>;
  /** Null where nobody can freeze accounts of the mint. */
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
  /** No header up to there is on record any more; null where none was pruned. */
  prunedTo: bigint | null;
  /** The newest slot that a quorum of nodes was once seen to have finalized; null where it was never asked about. */
  tip: bigint | null;
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
  /** The last block within; its hash and height are what its child says of it. */
  toSlot: bigint;
  blockhash: string;
  height: bigint;
  state: ScanGap['state'];
  openedAt: Generated<Date>;
  endedAt: Date | null;
  actor: string | null;
  reason: string | null;
  /** Every wallet has been asked for over the gap; the wallets of which nodes did not show all are in `gapUnreadWallet`. */
  walkedAt: Date | null;
  /** Since when the walk, or the newest look after it, found no quorum of nodes that shows the blocks of these slots. */
  unshownSince: Date | null;
  /** When it is looked at again; null where that is at once. */
  auditAfter: Date | null;
  auditedAt: Date | null;
}

interface GapUnreadWalletTable {
  fromSlot: bigint;
  toSlot: bigint;
  wallet: string;
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

/** Committed blocks that are read again: until it has ended their headers are kept. */
export interface RescanTable {
  position: Generated<bigint>;
  fromSlot: bigint;
  toSlot: bigint;
  actor: string;
  reason: string;
  begunAt: Generated<Date>;
  /** The run of a workflow that took it up last; null before. */
  run: string | null;
  /** When somebody took it up last: one that nobody goes on with is given up. */
  triedAt: Generated<Date>;
  /** All of it up to this slot is read, but for gaps; null before the first block. */
  readTo: bigint | null;
  blocks: Generated<number>;
  found: Generated<number>;
  /** Slots of closed gaps whose blocks nodes did not show. */
  unread: ColumnType<readonly ScanRange[], string | undefined, string>;
  /** What the newest try failed by; null where it goes on. */
  trouble: string | null;
  endedAt: Date | null;
}

interface StagedRangeTable {
  fromSlot: bigint;
  toSlot: bigint;
  /** What the first block says of its parent. */
  parentSlot: bigint;
  previousBlockhash: string;
  blocks: ColumnType<unknown, string, string>;
  stagedAt: Generated<Date>;
}

interface DepositTable {
  id: Generated<bigint>;
  signature: string;
  slot: bigint;
  /** Null where only the transaction could be had: its block lies in a closed gap. */
  blockhash: string | null;
  time: bigint | null;
  account: string;
  wallet: string;
  asset: string;
  amount: bigint;
  state: DepositState;
  reason: NotCreditedReason | null;
  /** Null while it is only announced. */
  finalizedAt: Date | null;
  /** The names of the nodes that show it, as the pool had them: keys are no part of a name. */
  confirmedBy: string | null;
  createdAt: Generated<Date>;
  updatedAt: Generated<Date>;
}

/** An operator's word, and the nodes that denied the deposit when it was given. */
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
  /** The doubt in which it was last counted on from far above; null before any. */
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
  /** No quorum has shown it yet. */
  witnessDue: Generated<boolean>;
  /** The names of the nodes that do, or the payment of ours that it is. */
  witnessedBy: string | null;
}

interface SpendTable {
  signature: string;
  slot: bigint;
  wallet: string;
  error: string | null;
  judged: Generated<boolean>;
  /** When the scan put it on record. */
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

/** What a pass has compared, and the slots at which it did: null where no wallet was. */
interface PassCounts {
  wallets: Generated<bigint>;
  accounts: Generated<bigint>;
  differences: Generated<bigint>;
  fromSlot: bigint | null;
  toSlot: bigint | null;
}

interface ReconciliationTable extends PassCounts {
  one: Generated<boolean>;
  /** Pages that were ever compared. */
  pages: Generated<bigint>;
  /** When the pass under way began; null where none is. */
  begunAt: Date | null;
  after: string | null;
  /** Why the round ended before its pass did; null where none was ended since the last page. */
  haltedBecause: string | null;
  comparedSince: Generated<Date>;
}

/** The last pass that came to its end. */
interface ReconciledPassTable extends PassCounts {
  one: Generated<boolean>;
  begunAt: Date;
  endedAt: Generated<Date>;
}

interface UnreadWalletTable {
  wallet: string;
  reason: string;
  since: Generated<Date>;
  askedAt: Generated<Date>;
}

/** The tables of what arrives; part of `Tables`. */
export interface DepositTables {
  watchVersion: WatchVersionTable;
  watchedWallet: WatchedWalletTable;
  depositAddress: DepositAddressTable;
  asset: AssetTable;
  scanCursor: ScanCursorTable;
  block: BlockTable;
  scanGap: ScanGapTable;
  gapUnreadWallet: GapUnreadWalletTable;
  scanPause: ScanPauseTable;
  rescan: RescanTable;
  stagedRange: StagedRangeTable;
  deposit: DepositTable;
  depositRejection: DepositRejectionTable;
  depositFeed: DepositFeedTable;
  depositEvent: DepositEventTable;
  outflow: OutflowTable;
  spend: SpendTable;
  walletBaseline: WalletBaselineTable;
  reconciliation: ReconciliationTable;
  reconciledPass: ReconciledPassTable;
  unreadWallet: UnreadWalletTable;
}
