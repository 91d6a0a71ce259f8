import pLimit from 'p-limit';
import { highest } from '../../domain/bigint.ts';
import { NodeFault } from '../../solana/rpc/errors.ts';
import { getBlocks } from '../../solana/rpc/methods.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { WatchSet } from '../../solana/scan/bytes/watch-set.ts';
import { confirmedTip } from '../../solana/scan/frontier.ts';
import type { Search } from '../../solana/scan/search.ts';
import { showBlock } from '../../solana/scan/searched-block.ts';
import { isOperational } from '../scan/failure-alerts.ts';
import type { ScannerDeps } from '../scan/scanner.ts';

const AT_ONCE = 4;
/** A look reads no more than the newest of these: who is behind announces nothing that is final soon anyway. */
const NEWEST_SLOTS = 150n;

/**
 * Tells of deposits in blocks that are confirmed and not final yet: a hint by one node's word, which may be dropped again. No slot that a
 * quorum has not confirmed is told of: the cursor passes every one that is.
 */
export class DepositAnnouncer {
  readonly #deps: ScannerDeps;
  /** The slots above the cursor whose block was read, on whatever fork it was. */
  readonly #read = new Set<bigint>();

  constructor(deps: ScannerDeps) {
    this.#deps = deps;
  }

  /**
   * Announces what came since the last look. A block that is not listed or shown now is looked for again, until the cursor passes it.
   * Once `end` is aborted no block is waited for any more. Throws as `NodePool.read` does; and what is no node's fault, once all that
   * could be read is announced.
   */
  async announce(end?: AbortSignal): Promise<void> {
    const { ledger, pool, matcher } = this.#deps;
    const cursor = await ledger.scan.cursor();
    if (cursor === null) return;
    const tip = await confirmedTip(pool);
    const oldest = tip - NEWEST_SLOTS;
    const from = highest([cursor.slot, oldest]) + 1n;
    for (const slot of this.#read) if (slot < from) this.#read.delete(slot);
    if (from > tip) return;
    const listed = await pool.read((node) => getBlocks(node, from, tip, 'confirmed'));
    const unread = [...new Set(listed)].filter(
      (slot) => slot >= from && slot <= tip && !this.#read.has(slot),
    );
    const { set } = await matcher.watch();
    const defects: unknown[] = [];
    const shown = await pLimit(AT_ONCE).map(unread, (slot) =>
      pool
        .read((node, over) => showLinked(node, slot, set, over), end)
        .catch((error: unknown) => {
          if (!isOperational(error) && end?.aborted !== true) defects.push(error);
          return [];
        }),
    );
    const blocks = shown.flat();
    await ledger.deposits.announce(await matcher.findings(blocks));
    for (const { header } of blocks) this.#read.add(header.slot);
    if (defects.length > 0) throw defects[0];
  }
}

/** What was found in a block, without its bytes: those of all that one look reads would take more memory than there is. */
async function showLinked(node: SolanaNode, slot: bigint, set: WatchSet, over: AbortSignal): Promise<Search> {
  const { header, listed, candidates, transactions } = await showBlock(
    node,
    slot,
    'confirmed',
    set,
    undefined,
    over,
  );
  if (header.parentSlot < slot) return { header, listed, candidates, transactions };
  throw new NodeFault(node.name, `getBlock: shows block ${slot} with a parent that is not before it`);
}
