import type { Alarm } from './alerts.ts';
import { type BlockHeader, depositKey, type Movement } from './deposit.ts';
import type { ScanRange } from './scan.ts';

/**
 * A command to compare transactions on chain with the database, over scanned slots. `repair`: also store missing
 * deposits.
 */
export type AuditCommand = ImportAuditCommand | OperatorAuditCommand;

/**
 * The audit of an imported address. Found deposits raise no alert, because the address was not watched when they
 * arrived. After the audit the address can be assigned, but only in the database copy with the id `databaseId`.
 */
export interface ImportAuditCommand extends ScanRange {
  readonly cause: 'import';
  readonly address: string;
  readonly repair: true;
  readonly databaseId: string;
}

/** An audit that an operator requested. */
export interface OperatorAuditCommand extends ScanRange {
  readonly cause: 'operator';
  readonly address: string;
  readonly repair: boolean;
}

/**
 * Reason why an audit is incomplete: without these blocks, an empty history does not prove that there was no deposit.
 */
export const BLOCKS_NOT_RETURNED =
  'no quorum of nodes returned the blocks of these slots: add nodes that have them';

const IMPORTS_SINCE = 'since ';

/** Matches {@link importsSubject} in SQL and JavaScript; its group is the slot. */
export const IMPORTS_SUBJECT = `^${IMPORTS_SINCE}([0-9]+)$`;

export function importsSubject(since: string): string {
  return `${IMPORTS_SINCE}${since}`;
}

export interface AuditReport {
  readonly transactions: number;
  /** The first differences between chain and database, at most 100. `found` counts all differences. */
  readonly differences: readonly AuditDifference[];
  readonly found: number;
  /** Number of differences that were not repaired. */
  readonly remaining: number;
  /**
   * Transactions without an agreeing quorum, histories that no quorum lists, and slots whose blocks no quorum
   * returned. The audit is incomplete while this is above 0.
   */
  readonly unread: number;
}

/** An incoming transfer that differs between chain and database. Amounts (base units) and slots are decimal strings. */
export interface AuditDifference {
  readonly signature: string;
  readonly slot: string;
  readonly account: string;
  readonly asset: string;
  /** Amount on chain; null if the chain has no such transfer. */
  readonly chain: string | null;
  /** Recorded amount; null if the database has no such deposit. */
  readonly stored: string | null;
  /** True if the database agrees with the chain after the audit. */
  readonly repaired: boolean;
}

export type ComparedTransfer = Pick<Movement, 'signature' | 'account' | 'asset' | 'amount'> &
  Pick<BlockHeader, 'slot'>;

export const NOTHING_AUDITED: AuditReport = {
  transactions: 0,
  differences: [],
  found: 0,
  remaining: 0,
  unread: 0,
};

/** Incoming transfers that differed before the repair. `repaired`: the difference no longer exists in `recordNow`. */
export function differencesBetween(
  chain: readonly ComparedTransfer[],
  recordBefore: readonly ComparedTransfer[],
  recordNow: readonly ComparedTransfer[],
): readonly AuditDifference[] {
  const chainAmounts = amountsOf(chain);
  const [before, now] = [amountsOf(recordBefore), amountsOf(recordNow)];
  const all = new Map([...recordBefore, ...chain].map((one) => [depositKey(one), one]));
  return [...all].flatMap(([key, { signature, slot, account, asset }]) => {
    const [onChain, recorded] = [chainAmounts.get(key) ?? null, before.get(key) ?? null];
    if (onChain === recorded) return [];
    const [chainAmount, storedAmount] = [onChain?.toString() ?? null, recorded?.toString() ?? null];
    const repaired = (now.get(key) ?? null) === onChain;
    return [
      { signature, slot: `${slot}`, account, asset, chain: chainAmount, stored: storedAmount, repaired },
    ];
  });
}

function amountsOf(arrivals: readonly ComparedTransfer[]): ReadonlyMap<string, bigint> {
  return new Map(arrivals.map((one) => [depositKey(one), one.amount]));
}

export function differenceAlarm({
  signature,
  account,
  asset,
  slot,
  chain,
  stored,
  repaired,
}: AuditDifference): Alarm {
  const effect = repaired ? 'the audit corrected the database' : 'the database is unchanged';
  const context = { subject: signature, details: { account, asset, slot, chain, stored } };
  if (stored === null) {
    const message = `${account} received ${chain} base units of ${asset} in slot ${slot}, and the database has no such deposit: ${effect}`;
    return { kind: 'deposit_missed', message, ...context };
  }
  const nodeAmount = chain === null ? 'no such transfer' : `${chain} base units`;
  const message = `the database has ${stored} base units of ${asset} for ${account} in slot ${slot}, and the nodes return ${nodeAmount}: ${effect}`;
  return { kind: 'deposit_mismatch', message, ...context };
}
