import type { Holding } from '../../domain/reconciliation.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getMultipleAccounts, getTokenAccountsByOwner } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { readTokenAccount } from '../token-account.ts';

/** Everything that a wallet holds at one finalized slot. */
export interface WalletHoldings {
  readonly wallet: string;
  readonly slot: bigint;
  readonly holdings: readonly Holding[];
  /** Its token accounts in which confidential transfers wait to be applied: no balance shows them. */
  readonly pending: readonly string[];
}

/** A node's finalized slot moves on between three questions, though rarely three times in a row. */
const TRIES = 20;

/** What a wallet holds, token accounts under both programs included, all at one slot. Throws as `NodePool.read` does. */
export function holdingsOf(pool: NodePool, wallet: string): Promise<WalletHoldings> {
  return pool.read(async (node) => {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const holdings = await readAtOnce(node, wallet);
      if (holdings !== null) return holdings;
    }
    throw new NodeFault(node.name, `does not show ${wallet} and its token accounts at one slot`);
  });
}

/** Null where the answers are of different slots. */
async function readAtOnce(node: SolanaNode, wallet: string): Promise<WalletHoldings | null> {
  const [native, ...tokens] = await Promise.all([
    getMultipleAccounts(node, [wallet]),
    getTokenAccountsByOwner(node, wallet, TOKEN_PROGRAM),
    getTokenAccountsByOwner(node, wallet, TOKEN_2022_PROGRAM),
  ]);
  const { slot } = native.context;
  if (tokens.some(({ context }) => context.slot !== slot)) return null;
  const accounts = tokens.flatMap(({ value }) =>
    value.flatMap(({ pubkey, account }) => {
      const read = readTokenAccount(pubkey, account);
      return read === null ? [] : [{ account: pubkey, ...read }];
    }),
  );
  const lamports = native.value[0]?.lamports ?? 0n;
  return {
    wallet,
    slot,
    holdings: [
      { account: wallet, asset: 'SOL', amount: lamports },
      ...accounts.map(({ account, mint, amount }) => ({ account, asset: mint, amount })),
    ],
    pending: accounts.flatMap(({ account, pendingCredits }) => (pendingCredits > 0n ? [account] : [])),
  };
}
