import { type BlockFinding, depositKey, type Inflow } from '../../domain/deposit.ts';
import { isAlike } from '../../domain/quorum-result.ts';
import { fetchTransaction } from '../../solana/history/transaction.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import type { Agreement } from '../../solana/rpc/quorum.ts';
import type { MatchTransaction } from '../scan/matcher.ts';

/** A finalized transaction: slot and time (Unix seconds) of its block, and its findings for watched wallets. */
export interface MatchedTransaction {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly finding: BlockFinding;
}

/** A transaction as one node returns it, or null. Throws like `fetchTransaction`. */
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
 * A transaction on which a quorum agrees, each node asked for it alone, or null. `time` needs its own quorum,
 * else it is null: nodes may lose block times.
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

/** The arrival in the same slot and transaction at the same account, or null. */
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

/** True if both findings have the same transfers. Error texts may differ between nodes. */
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
