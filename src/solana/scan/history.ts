import { DomainError } from '../../domain/errors.ts';
import type { WalletSignature } from '../history-pages.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { listingsAbove, reachedBy, unionOf } from '../wallet-history.ts';
import { fetchTransaction, type ShownTransaction } from './fetch.ts';

/**
 * Every finalized transaction that names `account` in these slots, as at least a quorum of nodes lists them together: an empty list,
 * or one that ends early, is never the end by one node's word. Throws NoHealthyNode where too few nodes list.
 */
export async function historyOf(
  pool: NodePool,
  account: string,
  from: bigint,
  to: bigint,
): Promise<readonly WalletSignature[]> {
  const found = new Map<string, WalletSignature>();
  for (let above = from - 1n; above < to; ) {
    const listings = await listingsAbove(pool, account, above, (signature) => found.has(signature));
    for (const entry of unionOf(listings)) if (entry.slot <= to) found.set(entry.signature, entry);
    const covered = reachedBy(
      pool.quorum,
      listings.map(({ coveredTo }) => coveredTo),
    );
    if (covered === null || covered <= above)
      throw new DomainError('NoHealthyNode', `no quorum of nodes lists ${account} above slot ${above}`);
    above = covered;
  }
  return [...found.values()];
}

/** A finalized transaction that nodes list, from any that shows it. Throws as `NodePool.read` does. */
export function listedTransaction(pool: NodePool, signature: string): Promise<ShownTransaction> {
  return pool.read(async (node) => {
    const shown = await fetchTransaction(node, signature);
    if (shown !== null) return shown;
    throw new NodeFault(node.name, `getTransaction: does not show ${signature}, which is listed`);
  });
}

/** The token accounts that a wallet owns now, under both programs, as any node names them. Throws as `NodePool.read` does. */
export async function tokenAccountsOf(pool: NodePool, wallet: string): Promise<readonly string[]> {
  const programs = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];
  const answers = await Promise.all(
    programs.map((program) => pool.read((node) => getTokenAccountsByOwner(node, wallet, program))),
  );
  return answers.flatMap(({ value }) => value.map(({ pubkey }) => pubkey));
}
