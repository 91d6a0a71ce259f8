import type { NodePool } from '../../solana/rpc/pool.ts';
import type { BrokenLink } from '../../solana/scan/chain-reader.ts';
import { finalizedTip } from '../../solana/scan/frontier.ts';
import { describeVersions } from '../../solana/scan/header-quorum.ts';
import type { ScanProgress } from './progress-view.ts';
import type { Step } from './scanner.ts';

const COMPARE =
  'One of these hashes is false: compare both slots with another provider, and replace the nodes that return the false hash';

function parentInWords({ child, nodes }: BrokenLink): string {
  const { slot, blockhash, parentSlot, previousBlockhash, height } = child;
  return `block ${blockhash} of slot ${slot} (from ${nodes.join(', ')}) names block ${previousBlockhash} (height ${height - 1n}) in slot ${parentSlot} as its parent`;
}

export function standOf(step: Step): ScanProgress {
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
            reason: `no quorum of nodes agrees on a block above slot ${cursor.slot}`,
          };
    case 'gap': {
      const { from, to } = step.gap;
      const reason =
        step.link.shown.length === 0
          ? `no node shows the blocks from slot ${from} to ${to}`
          : `${parentInWords(step.link)}; in slot ${to} nodes show another block (${describeVersions(step.link.shown)}). ${COMPARE}`;
      return { ...still, state: 'gap', gap: step.gap, reason };
    }
    case 'lost':
      return {
        ...still,
        state: 'stopped',
        reason: `the chain that the nodes show does not hold block ${cursor.blockhash} of slot ${cursor.slot}, which the scan has read: ${parentInWords(step.link)}. ${COMPARE}`,
      };
  }
}

/** Shows failed side tasks as a waiting scan, although blocks are still read. */
export function withDefects(stand: ScanProgress, defects: ReadonlyMap<string, string>): ScanProgress {
  const [first] = defects;
  if (first === undefined || 'reason' in stand) return stand;
  const { cursor, tip } = stand;
  return { cursor, tip, state: 'waiting', reason: first.join(': ') };
}

/** Finalized slot of a quorum, or null. An earlier tip would give a wrong lag. */
export function tipOrNull(pool: NodePool): Promise<bigint | null> {
  return finalizedTip(pool).catch(() => null);
}
