import { heartbeat } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import {
  type Arrived,
  type AuditDifference,
  type AuditedPage,
  type AuditOrder,
  type AuditReport,
  allOf,
  differencesBetween,
} from '../domain/audit.ts';
import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { deriveAta } from '../solana/ata.ts';
import { tokenAccountsOf } from '../solana/scan/history.ts';
import { type HistoryDeps, type Listed, listedFor } from './listed-history.ts';

export interface AuditDeps extends HistoryDeps {
  readonly ledger: Ledger;
}

const ADDRESSES_AT_ONCE = 4;
const ADDRESSES_OF_A_PAGE = 20;
const BEAT_MS = 2_000;

/** Looks again at what came to addresses, past the blocks: by what nodes list for them. */
export function createAddressAudit(deps: AuditDeps) {
  const { ledger } = deps;
  return {
    /**
     * Audits one address, or some of all, those behind `after`; see {@link AuditOrder}. May be repeated. Throws NoHealthyNode where too
     * few nodes list.
     */
    async auditPage(order: AuditOrder, after: string | null): Promise<AuditedPage> {
      const beat = setInterval(() => heartbeat(), BEAT_MS);
      try {
        const all = order.address === null;
        const addresses = all ? await ledger.watched.page(after, ADDRESSES_OF_A_PAGE) : [order.address];
        const parts = await pLimit(ADDRESSES_AT_ONCE).map(addresses, (one) => auditOne(deps, one, order));
        const next = all && addresses.length === ADDRESSES_OF_A_PAGE ? (addresses.at(-1) ?? null) : null;
        return { ...allOf(parts), next };
      } finally {
        clearInterval(beat);
      }
    },

    /** Puts on record that every part of the audit is done; one that does not repair settles nothing. */
    async closeAudit({ address, cause, from, to, repair: repaired }: AuditOrder): Promise<void> {
      if (!repaired) return;
      if (cause === 'import' && address !== null) await ledger.addresses.markAudited(address, BigInt(from));
      if (cause === 'gap') await ledger.gaps.markAudited(BigInt(from), BigInt(to));
    },
  };
}

async function auditOne(deps: AuditDeps, address: string, order: AuditOrder): Promise<AuditReport> {
  const { ledger } = deps;
  const [from, to] = [BigInt(order.from), BigInt(order.to)];
  const before = await ledger.movements.arrivalsOf(address, from, to);
  const found = await listedFor(deps, await accountsOf(deps, address, before), from, to);
  if (order.repair) await repair(deps, found);
  const now = order.repair ? await ledger.movements.arrivalsOf(address, from, to) : before;
  const differences = differencesBetween(arrivalsAt(address, found), before, now);
  if (order.cause !== 'import') for (const one of differences) await ledger.alerts.raise(alarmOf(one));
  return {
    addresses: 1,
    transactions: found.length,
    differences,
    found: differences.length,
    remaining: differences.filter(({ repaired }) => !repaired).length,
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
): Promise<ReadonlySet<string>> {
  const assets = await ledger.assets.list();
  const derived = assets.flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(address, asset, program)],
  );
  const known = onRecord.map(({ account }) => account);
  return new Set([address, ...derived, ...known, ...(await tokenAccountsOf(pool, address))]);
}

function arrivalsAt(address: string, found: readonly Listed[]): readonly Arrived[] {
  return found.flatMap(({ slot, finding }) =>
    finding.inflows.filter(({ wallet }) => wallet === address).map((inflow) => ({ ...inflow, slot })),
  );
}

/** By the rules of the scan, and with the hash of the block where that is on record: any number of audits and scans make one row. */
async function repair({ ledger, matcher }: AuditDeps, found: readonly Listed[]): Promise<void> {
  if (found.length === 0) return;
  const { version } = await matcher.watch();
  const blocks = found.map(({ slot, time, finding }) => ({
    header: { slot, time, blockhash: null },
    finding,
  }));
  // Only the audited address counts here, and it was known: what came in since is scanned, or audited, by itself.
  const rematch = () => blocks.map(({ finding }) => finding);
  const result = await ledger.scan.upsert({ blocks, watchVersion: version, rematch });
  if (result === 'committed') return;
  matcher.forget();
  throw new DomainError('Unavailable', 'the watch set on record is older than the one in memory: read anew');
}

function alarmOf({ signature, account, asset, slot, chain, record, repaired }: AuditDifference): Alarm {
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
