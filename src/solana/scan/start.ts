import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { highest, lowest } from '../../domain/units.ts';
import type { NodePool } from '../rpc/pool.ts';
import { finalizedTip, firstListedSlots, MAX_LOOKAHEAD_SLOTS } from './frontier.ts';
import { HeaderQuorum } from './header-quorum.ts';

/**
 * The block after which a new scan begins: the parent of the first block at or after slot `first`. Without `first`, or
 * if it is in the future: the newest finalized block. A quorum agrees on the returned block. Throws NoHealthyNode if no
 * quorum agrees, or if a node failed that might have older blocks. Throws NotFound if the ledgers of all nodes begin
 * after `first`.
 */
export async function startBlock(pool: NodePool, first: bigint | undefined): Promise<BlockHeader> {
  const tip = await finalizedTip(pool);
  const headers = new HeaderQuorum(pool);
  const agreed = async (...slots: readonly bigint[]): Promise<BlockHeader> => {
    for (const slot of slots) {
      await headers.request([slot]);
      const header = headers.agreedHeader(slot);
      if (header !== undefined) return header;
    }
    throw new DomainError(
      'NoHealthyNode',
      `no quorum of nodes returns the block of slot ${slots.join(' or ')}`,
    );
  };
  if (first === undefined || first > tip) return agreed(tip);
  // The block of slot 0 names itself as its parent and has no transactions, so that a scan begins after it.
  const from = highest([first, 1n]);
  const to = lowest([tip, from + MAX_LOOKAHEAD_SLOTS - 1n]);
  const { slots, agreedSlots, failures } = await firstListedSlots(pool, from, to, 'all');
  // A block that only one node lists might not exist, so that the first block of the quorum's list is tried next. Its
  // parent slot shows whether a block is missing before it.
  const candidates = [...new Set([...slots.slice(0, 1), ...agreedSlots.slice(0, 1)])];
  const next = await agreed(...(slots.length === 0 ? [tip] : candidates));
  if (next.parentSlot < from) return agreed(next.parentSlot);
  const reason = `no node lists the blocks from slot ${from} to ${next.parentSlot}`;
  const message = `the scan cannot begin at slot ${first}: ${[reason, ...failures].join('; ')}`;
  throw new DomainError(failures.length > 0 ? 'NoHealthyNode' : 'NotFound', message, {
    first: first.toString(),
  });
}
