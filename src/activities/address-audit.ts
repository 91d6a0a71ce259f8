import { heartbeat } from '@temporalio/activity';
import pLimit from 'p-limit';
import {
  type AuditedPage,
  type AuditOrder,
  type AuditReport,
  allOf,
  type MissedArrival,
} from '../domain/audit.ts';
import type { BlockFinding } from '../domain/deposit.ts';
import { finalizedKey } from '../domain/deposit-key.ts';
import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { deriveAta } from '../solana/ata.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { historyOf, listedTransaction, tokenAccountsOf } from '../solana/scan/history.ts';
import { addressesOf } from '../solana/scan/searched-block.ts';
import type { DepositMatcher } from './deposit-matcher.ts';

export interface AuditDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
}

/** A transaction in which something came to, or left, a wallet of ours. */
interface Found {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly finding: BlockFinding;
}

const ADDRESSES_AT_ONCE = 4;
const ADDRESSES_OF_A_PAGE = 20;
const TRANSACTIONS_AT_ONCE = 8;
const BEAT_MS = 2_000;
const PAGE = 1_000;

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
  const { ledger, pool } = deps;
  const signatures = new Set<string>();
  for (const account of await accountsOf(deps, address))
    for (const { signature } of await historyOf(pool, account, BigInt(order.from), BigInt(order.to)))
      signatures.add(signature);
  const found = await pLimit(TRANSACTIONS_AT_ONCE).map([...signatures], (signature) => read(deps, signature));
  const missed = await missing(ledger, address, found);
  if (order.repair) await repair(deps, found);
  if (order.cause !== 'import') for (const one of missed) await ledger.alerts.raise(missedAlarm(one, order));
  return { addresses: 1, transactions: signatures.size, missed, missedCount: missed.length };
}

/** Transfers to a token account do not name its wallet: each account is asked for by itself. */
async function accountsOf({ ledger, pool }: AuditDeps, address: string): Promise<ReadonlySet<string>> {
  const assets = await ledger.assets.list();
  const derived = assets.flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(address, asset, program)],
  );
  return new Set([address, ...derived, ...(await tokenAccountsOf(pool, address))]);
}

async function read({ pool, matcher }: AuditDeps, signature: string): Promise<Found> {
  const { slot, time, transaction } = await listedTransaction(pool, signature);
  const search = { candidates: addressesOf(transaction), transactions: [transaction] };
  const [finding = { inflows: [], outflows: [], spends: [] }] = await matcher.findings([search]);
  return { slot, time, finding };
}

/** What came to the address and is not on record. */
async function missing(
  ledger: Ledger,
  address: string,
  found: readonly Found[],
): Promise<readonly MissedArrival[]> {
  const known = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await ledger.deposits.list({ address, limit: PAGE, ...(cursor ? { cursor } : {}) });
    for (const row of page.rows) if (row.finalizedAt !== null) known.add(finalizedKey(row));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  return found.flatMap(({ slot, finding }) =>
    finding.inflows
      .filter((inflow) => inflow.wallet === address && !known.has(finalizedKey({ ...inflow, slot })))
      .map(({ signature, account, asset, amount }) => ({
        signature,
        slot: slot.toString(),
        account,
        asset,
        amount: amount.toString(),
      })),
  );
}

/** By the rules of the scan, and with the hash of the block where that is on record: any number of audits and scans make one row. */
async function repair({ ledger, matcher }: AuditDeps, found: readonly Found[]): Promise<void> {
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

function missedAlarm(
  { signature, account, asset, amount, slot }: MissedArrival,
  { repair: repaired }: AuditOrder,
) {
  const done = repaired ? 'it is on record now' : 'it is not on record';
  return {
    kind: 'deposit_missed' as const,
    subject: signature,
    message: `${amount} of ${asset} came to ${account} in slot ${slot}, and the scan has not seen it: ${done}`,
    details: { account, asset, amount, slot },
  };
}
