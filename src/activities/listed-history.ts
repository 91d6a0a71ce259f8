import pLimit from 'p-limit';
import type { BlockFinding } from '../domain/deposit.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { historyOf, listedTransaction } from '../solana/scan/history.ts';
import { addressesOf } from '../solana/scan/searched-block.ts';
import type { DepositMatcher } from './deposit-matcher.ts';

export interface HistoryDeps {
  readonly pool: NodePool;
  readonly matcher: DepositMatcher;
}

/** A finalized transaction that nodes list, and what it means for the wallets on record. */
export interface Listed {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly finding: BlockFinding;
}

const AT_ONCE = 8;

/**
 * Every finalized transaction that names one of these accounts in slots `from` to `to`, each once. Throws NoHealthyNode where no
 * quorum of nodes lists them.
 */
export async function listedFor(
  { pool, matcher }: HistoryDeps,
  accounts: Iterable<string>,
  from: bigint,
  to: bigint,
): Promise<readonly Listed[]> {
  const signatures = new Set<string>();
  for (const account of accounts)
    for (const { signature } of await historyOf(pool, account, from, to)) signatures.add(signature);
  return pLimit(AT_ONCE).map([...signatures], async (signature) => {
    const { slot, time, transaction } = await listedTransaction(pool, signature);
    const search = { candidates: addressesOf(transaction), transactions: [transaction] };
    const [finding = { inflows: [], outflows: [], spends: [] }] = await matcher.findings([search]);
    return { slot, time, finding };
  });
}
