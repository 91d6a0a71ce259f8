import { type BlockFinding, depositKey, type Inflow } from '../../domain/deposit.ts';
import { isAlike } from '../../domain/quorum-result.ts';
import { fetchTransaction } from '../../solana/history/transaction.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import type { Agreement } from '../../solana/rpc/quorum.ts';
import type { MatchTransaction } from '../scan/matcher.ts';

/** A finalized transaction: slot and time (Unix seconds) of its block, and its movements of watched wallets. */
export interface MatchedTransaction {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly finding: BlockFinding;
}

/** The transaction that one node returns, or null. Throws as `fetchTransaction` does. */
export async function readMatched(
  node: SolanaNode,
  signature: string,
  match: MatchTransaction,
): Promise<MatchedTransaction | null> {
  const fetched = await fetchTransaction(node, signature);
  if (fetched === null) return null;
  const { slot, time, transaction } = fetched;
  return { slot, time, finding: await match(transaction) };
}

/**
 * Asks each node separately for one transaction. Returns the version on which a quorum agrees, or null. `time` is null
 * unless a quorum agrees on it too, because nodes can lose block times.
 */
export async function agreedTransaction(
  pool: NodePool,
  signature: string,
  match: MatchTransaction,
): Promise<Agreement<MatchedTransaction> | null> {
  let foundCount = 0;
  const ask = async (node: SolanaNode) => {
    const transaction = await readMatched(node, signature, match);
    if (transaction !== null) foundCount += 1;
    return transaction;
  };
  const agreedWithTime = await pool.agreed(
    ask,
    (one, other) => isSameTransaction(one, other) && one?.time === other?.time,
  );
  if (agreedWithTime === null && foundCount < pool.quorum) return null;
  const agreed = agreedWithTime ?? (await pool.agreed(ask, isSameTransaction));
  if (agreed === null || agreed.answer === null) return null;
  const { answer, nodes } = agreed;
  return { answer: agreedWithTime === null ? { ...answer, time: null } : answer, nodes };
}

/**
 * The inflow of the transaction with the key of `expected`: same slot, signature, account and asset. Null if it has
 * none.
 */
export function inflowIn(
  { slot, finding }: MatchedTransaction,
  expected: Inflow & { readonly slot: bigint },
): Inflow | null {
  const key = depositKey(expected);
  return finding.inflows.find((inflow) => depositKey({ ...inflow, slot }) === key) ?? null;
}

function isSameTransaction(one: MatchedTransaction | null, other: MatchedTransaction | null): boolean {
  if (one === null || other === null || one.slot !== other.slot) return false;
  return isSameFinding(one.finding, other.finding);
}

/**
 * True if both findings have the same transfers and spends. Error texts are ignored, because they differ between nodes.
 */
export function isSameFinding(a: BlockFinding, b: BlockFinding): boolean {
  return (
    haveSameElements(a.inflows, b.inflows, (x, y) => isSamePlace(x, y) && isAlike(x, y)) &&
    haveSameElements(
      a.outflows,
      b.outflows,
      (x, y) => isSamePlace(x, y) && x.amount === y.amount && x.ownerSigned === y.ownerSigned,
    ) &&
    haveSameElements(
      a.spends,
      b.spends,
      (x, y) => x.wallet === y.wallet && (x.error === null) === (y.error === null),
    )
  );
}

function haveSameElements<T>(
  ones: readonly T[],
  others: readonly T[],
  isSame: (one: T, other: T) => boolean,
): boolean {
  return ones.length === others.length && ones.every((one) => others.some((other) => isSame(one, other)));
}

function isSamePlace(one: InflowPlace, other: InflowPlace): boolean {
  return one.account === other.account && one.asset === other.asset && one.wallet === other.wallet;
}

type InflowPlace = Pick<Inflow, 'account' | 'asset' | 'wallet'>;
