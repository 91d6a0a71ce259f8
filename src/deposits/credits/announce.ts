import pLimit from 'p-limit';
import { highest } from '../../domain/units.ts';
import { NodeFault } from '../../solana/rpc/errors.ts';
import { getBlocks } from '../../solana/rpc/methods.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { WatchSet } from '../../solana/scan/bytes/watch-set.ts';
import { confirmedTip } from '../../solana/scan/frontier.ts';
import type { Search } from '../../solana/scan/search.ts';
import { fetchBlock } from '../../solana/scan/searched-block.ts';
import { isOperational } from '../scan/failure-alerts.ts';
import type { ScannerDeps } from '../scan/scanner.ts';

const MAX_CONCURRENT_BLOCKS = 4;
/**
 * Maximum slots that one call reads. Older slots are skipped if the scan is further behind: they are finalized soon.
 */
const MAX_SLOTS_PER_CALL = 150n;

/**
 * Announces deposits in confirmed blocks of one node. Such a deposit can still be withdrawn. Only slots that a quorum
 * has confirmed are read, so that the cursor passes every announced slot later.
 */
export class DepositAnnouncer {
  readonly #deps: ScannerDeps;
  /** Slots above the cursor of which a block was read, on whichever fork. */
  readonly #readSlots = new Set<bigint>();

  constructor(deps: ScannerDeps) {
    this.#deps = deps;
  }

  /**
   * Announces the deposits in confirmed blocks that no earlier call has read. A missing block is requested again until
   * the cursor passes its slot. Block requests are cancelled as soon as `signal` is aborted.
   * @throws like `NodePool.read`
   * @throws the first unexpected error, after the deposits of all readable blocks are announced
   */
  async announce(signal?: AbortSignal): Promise<void> {
    const { ledger, pool, matcher } = this.#deps;
    const cursor = await ledger.scan.cursor();
    if (cursor === null) return;
    const tip = await confirmedTip(pool);
    const oldest = tip - MAX_SLOTS_PER_CALL;
    const from = highest([cursor.slot, oldest]) + 1n;
    for (const slot of this.#readSlots) if (slot < from) this.#readSlots.delete(slot);
    if (from > tip) return;
    const listedSlots = await pool.read((node) => getBlocks(node, from, tip, 'confirmed'));
    const unreadSlots = [...new Set(listedSlots)].filter(
      (slot) => slot >= from && slot <= tip && !this.#readSlots.has(slot),
    );
    const { set } = await matcher.watch();
    const defects: unknown[] = [];
    const searches = await pLimit(MAX_CONCURRENT_BLOCKS).map(unreadSlots, (slot) =>
      pool
        .read((node, nodeSignal) => readLinked(node, slot, set, nodeSignal), signal)
        .catch((error: unknown) => {
          if (!isOperational(error) && signal?.aborted !== true) defects.push(error);
          return [];
        }),
    );
    const blocks = searches.flat();
    await ledger.deposits.announce(await matcher.findings(blocks));
    for (const { header } of blocks) this.#readSlots.add(header.slot);
    if (defects.length > 0) throw defects[0];
  }
}

/** Searches a block and drops its bytes, because the bytes of all blocks of one call would not fit into memory. */
async function readLinked(
  node: SolanaNode,
  slot: bigint,
  set: WatchSet,
  signal: AbortSignal,
): Promise<Search> {
  const { header, signaturesHash, candidates, transactions } = await fetchBlock(node, {
    slot,
    commitment: 'confirmed',
    watched: set,
    signal,
  });
  if (header.parentSlot < slot) return { header, signaturesHash, candidates, transactions };
  throw new NodeFault(
    node.name,
    `getBlock: the parent slot ${header.parentSlot} of block ${slot} is not below its own slot`,
  );
}
