import pLimit from 'p-limit';
import { getBlocks } from '../solana/rpc/methods.ts';
import { confirmedTip } from '../solana/scan/frontier.ts';
import { type SearchedBlock, showBlock } from '../solana/scan/searched-block.ts';
import type { ScannerDeps } from './deposit-scanner.ts';

const AT_ONCE = 4;
/** A look reads no more than the newest of these: who is behind announces nothing that is final soon anyway. */
const NEWEST_SLOTS = 150n;

/**
 * Tells of deposits in blocks that are confirmed and not final yet: a hint by one node's word, which may be dropped again. No slot that a
 * quorum has not confirmed is told of: the cursor passes every one that is.
 */
export class DepositAnnouncer {
  readonly #deps: ScannerDeps;
  /** Every block up to here was read, on whatever fork it was. */
  #readTo = 0n;

  constructor(deps: ScannerDeps) {
    this.#deps = deps;
  }

  /** Announces what came since the last look. A block that nobody shows now is left to the scan. Throws as `NodePool.read` does. */
  async announce(): Promise<void> {
    const { ledger, pool, matcher } = this.#deps;
    const cursor = await ledger.scan.cursor();
    if (cursor === null) return;
    const tip = await confirmedTip(pool);
    const from = [cursor.slot, this.#readTo, tip - NEWEST_SLOTS].reduce((a, b) => (a > b ? a : b)) + 1n;
    if (from > tip) return;
    const listed = await pool.read((node) => getBlocks(node, from, tip, 'confirmed'));
    const { set } = await matcher.watch();
    const shown = await pLimit(AT_ONCE).map(
      listed.filter((slot) => slot >= from && slot <= tip),
      (slot) => pool.read((node) => showBlock(node, slot, 'confirmed', set)).catch(() => null),
    );
    const blocks = shown.flatMap((block) => (block === null || !isAfterItsParent(block) ? [] : [block]));
    await ledger.deposits.announce(await matcher.findings(blocks));
    this.#readTo = tip;
  }
}

function isAfterItsParent({ header: { slot, parentSlot } }: SearchedBlock): boolean {
  return parentSlot < slot;
}
