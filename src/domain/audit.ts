import type { Alarm } from './alerts.ts';
import type { BlockHeader, Movement } from './deposit.ts';
import { depositKey } from './deposit-key.ts';
import type { ScanRange } from './scan.ts';

/**
 * Hold what the chain lists for addresses against what is on record, over slots that the scan has passed. `repair`: put on record what is
 * missing; else it is only told.
 */
export type AuditOrder = GapAuditOrder | ImportAuditOrder | OperatorAuditOrder;

/** Every watched wallet, over a gap that was closed. `record`: the name of the record that waits for it, no other may call it done. */
export interface GapAuditOrder extends ScanRange {
  readonly cause: 'gap';
  readonly address: null;
  readonly repair: true;
  readonly record: string;
}

/** What is found is no alarm, as nobody could have scanned it; at the end the address may be assigned in that `record`. */
export interface ImportAuditOrder extends ScanRange {
  readonly cause: 'import';
  readonly address: string;
  readonly repair: true;
  readonly record: string;
}

/** No record waits for it. */
export interface OperatorAuditOrder extends ScanRange {
  readonly cause: 'operator';
  readonly address: string;
  readonly repair: boolean;
}

/** Why what nodes do not list is no proof that nothing came. */
export const UNSHOWN = 'no quorum of nodes has shown the blocks of these slots: add nodes that have them';

const IMPORTS_SINCE = 'since ';

/** As {@link importsSubject} makes them, for SQL and JavaScript alike: its group is the slot. */
export const IMPORTS_SUBJECT = `^${IMPORTS_SINCE}([0-9]+)$`;

/** The subject of the one alert about all imports since a slot. */
export function importsSubject(since: string): string {
  return `${IMPORTS_SINCE}${since}`;
}

/** What an audit came to. */
export interface AuditReport {
  readonly addresses: number;
  readonly transactions: number;
  /** Some of the arrivals of which chain and record said different things, at most 100; `found` counts all of them. */
  readonly differences: readonly AuditDifference[];
  readonly found: number;
  /** How many of them the record still has, or still lacks. */
  readonly remaining: number;
  /**
   * Transactions that no quorum of nodes shows alike, histories that none lists, and addresses over slots of which none has shown the
   * blocks: nothing is said of them, and the audit is not done.
   */
  readonly unread: number;
}

/** An arrival of which chain and record said different things. Amounts are base units, slots too are decimal strings. */
export interface AuditDifference {
  readonly signature: string;
  readonly slot: string;
  readonly account: string;
  /** `SOL`, or the address of a mint. */
  readonly asset: string;
  /** Null where the chain shows no such arrival. */
  readonly chain: string | null;
  /** Null where it was not on record. */
  readonly record: string | null;
  /** True where the record says now what the chain says. */
  readonly repaired: boolean;
}

/** A part of an audit; `next`: the address behind which the next part begins, null where there is none. */
export interface AuditedPage extends AuditReport {
  readonly next: string | null;
}

/** What came to an account of one wallet in a finalized block. */
export type Arrived = Pick<Movement, 'signature' | 'account' | 'asset' | 'amount'> &
  Pick<BlockHeader, 'slot'>;

const LISTED = 100;

export const NOTHING_AUDITED: AuditReport = {
  addresses: 0,
  transactions: 0,
  differences: [],
  found: 0,
  remaining: 0,
  unread: 0,
};

/** Parts of one audit as one report. */
export function allOf(parts: readonly AuditReport[]): AuditReport {
  const sum = (count: (part: AuditReport) => number) => parts.reduce((total, part) => total + count(part), 0);
  return {
    addresses: sum(({ addresses }) => addresses),
    transactions: sum(({ transactions }) => transactions),
    differences: parts.flatMap(({ differences }) => differences).slice(0, LISTED),
    found: sum(({ found }) => found),
    remaining: sum(({ remaining }) => remaining),
    unread: sum(({ unread }) => unread),
  };
}

/** The arrivals of which chain and record differ, before a repair and after it: what only the first comparison shows is repaired. */
export function differencesBetween(
  chain: readonly Arrived[],
  recordBefore: readonly Arrived[],
  recordNow: readonly Arrived[],
): readonly AuditDifference[] {
  const shown = amountsOf(chain);
  const [before, now] = [amountsOf(recordBefore), amountsOf(recordNow)];
  const all = new Map([...recordBefore, ...chain].map((one) => [depositKey(one), one]));
  return [...all].flatMap(([key, { signature, slot, account, asset }]) => {
    const [onChain, onRecord] = [shown.get(key) ?? null, before.get(key) ?? null];
    if (onChain === onRecord) return [];
    const [chainSays, recordSaid] = [onChain?.toString() ?? null, onRecord?.toString() ?? null];
    const repaired = (now.get(key) ?? null) === onChain;
    return [{ signature, slot: `${slot}`, account, asset, chain: chainSays, record: recordSaid, repaired }];
  });
}

function amountsOf(arrivals: readonly Arrived[]): ReadonlyMap<string, bigint> {
  return new Map(arrivals.map((one) => [depositKey(one), one.amount]));
}

/** What people are told of a difference. */
export function differenceAlarm({
  signature,
  account,
  asset,
  slot,
  chain,
  record,
  repaired,
}: AuditDifference): Alarm {
  const done = repaired ? 'the record is right now' : 'the record stays as it is';
  const about = { subject: signature, details: { account, asset, slot, chain, record } };
  if (record === null) {
    const message = `${chain} of ${asset} came to ${account} in slot ${slot}, and was not on record: ${done}`;
    return { kind: 'deposit_missed', message, ...about };
  }
  const shown = chain === null ? 'no such arrival' : `${chain} of it`;
  const message = `${record} of ${asset} at ${account} in slot ${slot} is on record, and nodes show ${shown}: ${done}`;
  return { kind: 'deposit_mismatch', message, ...about };
}

/** One audit of one thing at a time; one that only looks never stands for one that repairs. */
export function auditWorkflowId({ address, cause, from, to, repair }: AuditOrder): string {
  return `address-audit/${cause}/${address ?? 'all'}/${from}-${to}${repair ? '' : '/look'}`;
}

/** By its workflow id. */
export function isOfGap(workflowId: string): boolean {
  return workflowId.startsWith('address-audit/gap/');
}
