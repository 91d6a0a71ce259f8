import { cancellationSignal, log } from '@temporalio/activity';
import pLimit from 'p-limit';
import {
  type Arrived,
  type AuditedPage,
  type AuditOrder,
  type AuditReport,
  allOf,
  differenceAlarm,
  differencesBetween,
  NOTHING_AUDITED,
} from '../domain/audit.ts';
import { DomainError, isDomainError, messageOf } from '../domain/errors.ts';
import { isDatabaseAway } from '../ledger/database.ts';
import type { AuditedWallets, Slots } from '../ledger/gaps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { tokenAccountsOf } from '../solana/scan/history.ts';
import { beating } from './beating.ts';
import { derivedAccountsOf, type HistoryDeps, listedFor } from './listed-history.ts';
import { defectInWords, isOperational } from './scan-alarms.ts';
import type { Shown } from './testimonies.ts';

export interface AuditDeps extends HistoryDeps {
  readonly ledger: Ledger;
}

/** A report on one address, and why it is not whole, where it is not. */
type PartialReport = AuditReport & { readonly why: string };

const ADDRESSES_AT_ONCE = 4;
const ADDRESSES_OF_A_PAGE = 20;
const MOST_NAMED = 3;

/** Looks again at what came to addresses, past the blocks: by what nodes list for them. */
export function createAddressAudit(deps: AuditDeps) {
  const { ledger } = deps;
  return {
    /**
     * Audits one address, or some of all, those behind `after`; see {@link AuditOrder}. May be repeated. One that nodes do not show whole
     * is alarmed, and keeps no other from being audited.
     */
    auditPage(order: AuditOrder, after: string | null): Promise<AuditedPage> {
      return beating(async () => {
        const all = order.address === null;
        const addresses = all
          ? await ledger.gaps.unaudited(slotsOf(order), after, ADDRESSES_OF_A_PAGE)
          : [order.address];
        const parts = await pLimit(ADDRESSES_AT_ONCE).map(addresses, async (address) => {
          return { address, report: await auditOrTell(deps, address, order) };
        });
        if (all && order.record !== undefined)
          await ledger.gaps.noteAudited(slotsOf(order), auditedOf(parts), order.record);
        const next = all && addresses.length === ADDRESSES_OF_A_PAGE ? (addresses.at(-1) ?? null) : null;
        return { ...allOf(parts.map(({ report }) => report)), next };
      });
    },

    /**
     * Puts on record that every part of the audit is done. One that does not repair, or began in another record, settles nothing; nor does
     * that of one address which could not read all. After that of a gap only those that it could not read are asked for again.
     */
    async closeAudit(
      { address, cause, record, ...order }: AuditOrder,
      { unread }: Pick<AuditReport, 'unread'>,
    ): Promise<void> {
      if (!order.repair || record === undefined) return;
      const slots = slotsOf(order);
      if (address === null) await ledger.gaps.markAudited(slots, record);
      else if (cause === 'import' && unread === 0)
        await ledger.addresses.markAudited(address, slots.from, record);
    },
  };
}

function slotsOf({ from, to }: Pick<AuditOrder, 'from' | 'to'>): Slots {
  return { from: BigInt(from), to: BigInt(to) };
}

function auditedOf(
  parts: readonly { readonly address: string; readonly report: AuditReport }[],
): AuditedWallets {
  const [audited, unread] = [parts.filter(isWhole), parts.filter((part) => !isWhole(part))];
  return { audited: audited.map(({ address }) => address), unread: unread.map(({ address }) => address) };
}

function isWhole({ report }: { readonly report: AuditReport }): boolean {
  return report.unread === 0;
}

/** {@link auditOne}, and where nodes do not show all of it the alert that says so. */
async function auditOrTell(deps: AuditDeps, address: string, order: AuditOrder): Promise<AuditReport> {
  const { alerts } = deps.ledger;
  const { unread, why, ...report } = await auditOne(deps, address, order).catch(leftUnread);
  if (unread === 0) {
    await alerts.close('audit_incomplete', address);
  } else {
    const message = `slots ${order.from} to ${order.to} of ${address} are not audited whole: ${why}`;
    await alerts.raise({
      kind: 'audit_incomplete',
      subject: address,
      message,
      details: { ...order, address },
    });
  }
  return { ...report, unread };
}

/**
 * A failure of one address marks only that one unread. Rethrown are errors after which the whole page should be retried: a list that is
 * not read to its end, a database that is away, a cancellation.
 */
function leftUnread(error: unknown): PartialReport {
  if (isDomainError(error, 'Unavailable') || isDatabaseAway(error) || cancellationSignal().aborted)
    throw error;
  if (isOperational(error)) return { ...NOTHING_AUDITED, unread: 1, why: messageOf(error) };
  log.error('an audit failed', { error });
  return { ...NOTHING_AUDITED, unread: 1, why: defectInWords(error) };
}

async function auditOne(deps: AuditDeps, address: string, order: AuditOrder): Promise<PartialReport> {
  const { ledger } = deps;
  const { from, to } = slotsOf(order);
  const before = await ledger.movements.arrivalsOf(address, from, to);
  const accounts = await accountsOf(deps, address, before, to);
  const { listed: found, unread } = await listedFor(deps, accounts, from, to);
  if (order.repair) await repair(deps, found);
  const now = order.repair ? await ledger.movements.arrivalsOf(address, from, to) : before;
  const hidden = new Set(unread);
  const differences = differencesBetween(arrivalsAt(address, found), before, now).filter(
    ({ signature }) => !hidden.has(signature),
  );
  if (order.cause !== 'import')
    for (const one of differences) await ledger.alerts.raise(differenceAlarm(one));
  return {
    addresses: 1,
    transactions: found.length + unread.length,
    differences,
    found: differences.length,
    remaining: differences.filter(({ repaired }) => !repaired).length,
    unread: unread.length,
    why: `no quorum of nodes shows ${unread.slice(0, MOST_NAMED).join(', ')}`,
  };
}

/**
 * Transfers to a token account do not name its wallet: each account is asked for by itself, one that something on record came to
 * although it is closed since.
 */
async function accountsOf(
  { ledger, pool }: AuditDeps,
  address: string,
  onRecord: readonly Arrived[],
  to: bigint,
): Promise<ReadonlySet<string>> {
  const derived = derivedAccountsOf(await ledger.assets.list(), address);
  const known = onRecord.map(({ account }) => account);
  return new Set([address, ...derived, ...known, ...(await tokenAccountsOf(pool, address, to))]);
}

function arrivalsAt(address: string, found: readonly Shown[]): readonly Arrived[] {
  return found.flatMap(({ slot, finding }) =>
    finding.inflows.filter(({ wallet }) => wallet === address).map((inflow) => ({ ...inflow, slot })),
  );
}

/** By the rules of the scan, and with the hash of the block where that is on record: any number of audits and scans make one row. */
async function repair({ ledger, matcher }: AuditDeps, found: readonly Shown[]): Promise<void> {
  if (found.length === 0) return;
  const { version } = await matcher.watch();
  const blocks = found.map(({ slot, time, finding }) => ({
    header: { slot, time, blockhash: null },
    finding,
  }));
  // Only the audited address counts here, and it was known: what came in since is scanned, or audited, by itself.
  const result = await ledger.scan.upsert({ blocks, watchVersion: version, rematch: () => blocks });
  if (result === 'committed') return;
  matcher.forget();
  throw new DomainError('Unavailable', 'the watch set on record is older than the one in memory: read anew');
}
