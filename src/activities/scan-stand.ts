import type { Stand } from '../domain/scan-view.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { finalizedTip } from '../solana/scan/frontier.ts';
import type { Step } from './deposit-scanner.ts';

/** How the scan stands after a step. */
export function standOf(step: Step): Stand {
  const { cursor, tip } = step;
  const still = { cursor, tip };
  switch (step.stand) {
    case 'goes on':
      return { ...still, state: 'tail' };
    case 'idle':
      return tip <= cursor.slot
        ? { ...still, state: 'tail' }
        : {
            ...still,
            state: 'waiting',
            why: `no quorum of nodes agrees on a block above slot ${cursor.slot}`,
          };
    case 'gap': {
      const { from, to } = step.gap;
      return {
        ...still,
        state: 'gap',
        gap: step.gap,
        why: `no node shows the blocks from slot ${from} to ${to}`,
      };
    }
    case 'lost':
      return {
        ...still,
        state: 'stopped',
        why: `the chain that the nodes show does not hold block ${cursor.blockhash} of slot ${cursor.slot}`,
      };
  }
}

/** Blocks are read on; but what is left undone beside them is told as loudly as if they were not. */
export function withDefects(stand: Stand, defects: ReadonlyMap<string, string>): Stand {
  const [first] = defects;
  if (first === undefined || 'why' in stand) return stand;
  const { cursor, tip } = stand;
  return { cursor, tip, state: 'waiting', why: first.join(': ') };
}

/** What a quorum has finalized; null where none answers: what was known before says nothing of how far the scan is behind. */
export function tipOrNull(pool: NodePool): Promise<bigint | null> {
  return finalizedTip(pool).catch(() => null);
}
