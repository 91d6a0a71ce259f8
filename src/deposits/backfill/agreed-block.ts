import { type BlockFinding, NOTHING_FOUND } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { NodeFault } from '../../solana/rpc/errors.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { answersIn } from '../../solana/rpc/quorum.ts';
import { type ListedHeader, tellsOfAbsence } from '../../solana/scan/header-quorum.ts';
import { blockShownBy } from '../../solana/scan/searched-block.ts';
import { agreedTransaction, isSameFinding } from '../credits/agreed-transaction.ts';
import type { Watch, WatchedBlock } from '../scan/matcher.ts';
import type { BlockDeps } from '../scan/scanner.ts';

interface NodeBlockFindings {
  readonly block: WatchedBlock;
  readonly parts: ReadonlyMap<string, BlockFinding>;
}

/**
 * A finalized block as a quorum of nodes returns it; one copy if they agree. A transfer that one node hides is in
 * another node's copy. If copies differ in a transaction, a quorum is asked for it, and blocks that differ from the
 * result are dropped. Fewer copies than a quorum suffice if every other node reports the block as missing.
 * @throws NoHealthyNode if too few nodes return it now
 * @throws the reason of `end` once that is aborted
 */
export async function agreedBlocks(
  deps: BlockDeps,
  header: ListedHeader,
  end?: AbortSignal,
): Promise<readonly WatchedBlock[]> {
  const { pool, matcher } = deps;
  const watch = await matcher.watch();
  const heard = await pool.some(
    (node, over) => blockOrNone(node, header, watch, over),
    (block) => block !== null,
    end,
  );
  const answers = answersIn(heard);
  const shown = answers.flatMap(({ answer }) => answer ?? []);
  const isAll = shown.length > 0 && answers.length === pool.nodes.length;
  if (shown.length >= pool.quorum || isAll) return withoutLiars(deps, shown);
  const what = `block ${header.blockhash} of slot ${header.slot}`;
  const failure = heard.find(({ result }) => result.status === 'rejected')?.result;
  const cause: unknown = failure?.status === 'rejected' ? failure.reason : undefined;
  throw new DomainError('NoHealthyNode', `too few nodes show ${what} now`, {}, cause);
}

/** Null if the node reports the block as missing. */
async function blockOrNone(
  node: SolanaNode,
  header: ListedHeader,
  watch: Watch,
  over?: AbortSignal,
): Promise<WatchedBlock | null> {
  const readAgain = (newer: Watch) => blockOf(node, header, newer);
  try {
    const block = await blockShownBy(node, header.slot, 'finalized', watch.set, header, over);
    return block === null ? null : { ...block, header, watch, readAgain };
  } catch (error) {
    if (tellsOfAbsence(error)) return null;
    throw error;
  }
}

async function blockOf(node: SolanaNode, header: ListedHeader, watch: Watch): Promise<WatchedBlock> {
  const block = await blockOrNone(node, header, watch);
  if (block !== null) return block;
  throw new NodeFault(node.name, `getBlock: shows block ${header.slot} no more`);
}

async function withoutLiars(
  { pool, matcher }: BlockDeps,
  shown: readonly WatchedBlock[],
): Promise<readonly WatchedBlock[]> {
  if (shown.length < 2) return shown;
  let left = (await matcher.findings(await matcher.searchedAlike(shown))).map(findingsOf);
  for (;;) {
    const signature = disputed(left);
    if (signature === undefined) return blocksOf(left.slice(0, 1));
    const agreed = await agreedTransaction(pool, signature, await matcher.judge());
    if (agreed === null) return blocksOf(left);
    const { slot, finding } = agreed.answer;
    const honest = left.filter(({ block, parts }) => {
      const truth = slot === block.header.slot ? finding : NOTHING_FOUND;
      return isSameFinding(parts.get(signature) ?? NOTHING_FOUND, truth);
    });
    // A wallet watched since the blocks were read would make every node a liar.
    if (honest.length === 0) return blocksOf(left);
    const liars = left.filter((one) => !honest.includes(one));
    blame(pool, blocksOf(liars), `${signature}, which ${agreed.nodes.join(', ')} show`);
    left = honest;
  }
}

function blame(pool: NodePool, liars: readonly WatchedBlock[], what: string): void {
  for (const { node, header } of liars)
    pool.distrust(node, `showed otherwise in block ${header.slot} what came and went by ${what}`);
}

function blocksOf(findings: readonly NodeBlockFindings[]): readonly WatchedBlock[] {
  return findings.map(({ block }) => block);
}

function disputed(findings: readonly NodeBlockFindings[]): string | undefined {
  const [first, ...others] = findings.map(({ parts }) => parts);
  if (first === undefined) return undefined;
  const signatures = new Set([first, ...others].flatMap((parts) => [...parts.keys()]));
  return [...signatures].find((signature) => {
    const one = first.get(signature) ?? NOTHING_FOUND;
    return others.some((parts) => !isSameFinding(parts.get(signature) ?? NOTHING_FOUND, one));
  });
}

function findingsOf(block: WatchedBlock & { readonly finding: BlockFinding }): NodeBlockFindings {
  const { inflows, outflows, spends } = block.finding;
  const parts = new Map<string, { [Kind in keyof BlockFinding]: BlockFinding[Kind][number][] }>();
  const at = (signature: string) => {
    const part = parts.get(signature) ?? { inflows: [], outflows: [], spends: [] };
    parts.set(signature, part);
    return part;
  };
  for (const inflow of inflows) at(inflow.signature).inflows.push(inflow);
  for (const outflow of outflows) at(outflow.signature).outflows.push(outflow);
  for (const spend of spends) at(spend.signature).spends.push(spend);
  return { block, parts };
}
