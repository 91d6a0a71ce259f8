import { DomainError } from '../domain/errors.ts';
import { getSignaturesForAddress, getTransactionParties } from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';

/** A finalized transaction that names a wallet, failed ones included. */
export interface WalletSignature {
  readonly signature: string;
  readonly slot: bigint;
}

const PAGE = 1_000;

/** Who signed a transaction, and who had a part in it: every account of its message and the owners of its token accounts. */
export interface Parties {
  readonly signers: readonly string[];
  readonly all: readonly string[];
}

/** What the nodes together list: one that lags or has lost some of it hides nothing that another one knows. */
export interface WalletListing {
  readonly entries: readonly WalletSignature[];
  /** Slot of the newest entry; 0 where there is none. */
  readonly newestSlot: bigint;
  /** True where so many nodes answered that a transaction which all of them should list cannot be missing. */
  readonly quorate: boolean;
}

/** Everything finalized above `slot` in which the wallet has a part. Throws NoHealthyNode where no node answers. */
export function signaturesAbove(pool: NodePool, wallet: string, slot: bigint): Promise<WalletListing> {
  return union(pool, (node) => allAbove(node, wallet, slot));
}

/** The newest finalized transaction in which the wallet has a part. Throws NoHealthyNode where no node answers. */
export function newestOf(pool: NodePool, wallet: string): Promise<WalletListing> {
  return union(pool, (node) => getSignaturesForAddress(node, wallet, { limit: 1 }));
}

/** The parties of a finalized transaction, from any node that has it. Throws NodeFault where none shows it now. */
export async function partiesOf(pool: NodePool, signature: string): Promise<Parties> {
  const shown = await pool.second(
    '',
    (node) => getTransactionParties(node, signature),
    (answer) => answer !== null,
  );
  if (shown === null || shown.answer === null) {
    throw new DomainError(
      'NodeFault',
      `no node shows the transaction ${signature} that a wallet's history lists`,
    );
  }
  const { transaction, meta } = shown.answer;
  const { accountKeys, header } = transaction.message;
  const owners = (meta?.postTokenBalances ?? []).flatMap(({ owner }) => (owner === undefined ? [] : [owner]));
  return {
    signers: accountKeys.slice(0, header.numRequiredSignatures),
    all: [...new Set([...accountKeys, ...owners])],
  };
}

async function union(
  pool: NodePool,
  ask: (node: SolanaNode) => Promise<readonly WalletSignature[]>,
): Promise<WalletListing> {
  const answers = (await pool.all(ask)).map(({ result }) => result);
  const heard = answers.filter((answer) => answer.status === 'fulfilled');
  if (heard.length === 0) {
    const silent = answers.find((answer) => answer.status === 'rejected');
    throw new DomainError('NoHealthyNode', 'no node shows the history of the wallet', {}, silent?.reason);
  }
  const bySignature = new Map(heard.flatMap(({ value }) => value).map((entry) => [entry.signature, entry]));
  const entries = [...bySignature.values()];
  return {
    entries,
    newestSlot: entries.reduce((high, { slot }) => (slot > high ? slot : high), 0n),
    quorate: heard.length >= pool.quorum,
  };
}

async function allAbove(node: SolanaNode, wallet: string, slot: bigint): Promise<readonly WalletSignature[]> {
  const found: WalletSignature[] = [];
  for (let before: string | undefined; ; ) {
    const entries = await getSignaturesForAddress(node, wallet, {
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    });
    found.push(...entries.filter((entry) => entry.slot > slot));
    const last = entries.at(-1);
    if (last === undefined || entries.length < PAGE || last.slot <= slot) return found;
    before = last.signature;
  }
}
