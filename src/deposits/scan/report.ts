import { log } from '@temporalio/activity';
import type { ScanReport } from '../../domain/scan.ts';
import { isNodeError } from '../../solana/rpc/errors.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import type { BrokenLink } from '../../solana/scan/chain-reader.ts';
import { finalizedTip } from '../../solana/scan/frontier.ts';
import { describeVersions } from '../../solana/scan/header-quorum.ts';
import type { ScanStep } from './scanner.ts';

/** Milliseconds between two reports of the same state. */
export const REPORT_EVERY_MS = 2_000;

const COMPARE_HINT =
  'One of these hashes is false: compare the blocks of both slots with another provider, and replace the nodes that return the false hash';

function describeParent({ child, nodes }: BrokenLink): string {
  const { slot, blockhash, parentSlot, previousBlockhash, height } = child;
  return `block ${blockhash} of slot ${slot} (from ${nodes.join(', ')}) names block ${previousBlockhash} (height ${height - 1n}) in slot ${parentSlot} as its parent`;
}

export function reportOf(step: ScanStep): ScanReport {
  const { cursor, tip } = step;
  switch (step.state) {
    case 'continues':
      return { state: 'tail', tip, reason: null };
    case 'idle':
      return tip <= cursor.slot
        ? { state: 'tail', tip, reason: null }
        : { state: 'waiting', tip, reason: `no quorum of nodes agrees on a block above slot ${cursor.slot}` };
    case 'gap': {
      const { from, to } = step.gap;
      const reason =
        step.link.versions.length === 0
          ? `no node returns the blocks from slot ${from} to ${to}`
          : `${describeParent(step.link)}; in slot ${to} nodes return another block (${describeVersions(step.link.versions)}). ${COMPARE_HINT}`;
      return { state: 'gap', tip, reason };
    }
    case 'lost':
      return {
        state: 'stopped',
        tip,
        reason: `the chain of the nodes does not contain block ${cursor.blockhash} of slot ${cursor.slot}, which the scan has committed: ${describeParent(step.link)}. ${COMPARE_HINT}`,
      };
  }
}

/**
 * Reports a failed side task as state `waiting`, although blocks are still read, so that a lasting failure raises an
 * alert.
 */
export function withTaskFailures(report: ScanReport, defects: ReadonlyMap<string, string>): ScanReport {
  const [first] = defects;
  if (first === undefined || report.reason !== null) return report;
  return { state: 'waiting', tip: report.tip, reason: first.join(': ') };
}

export function slowReport(tip: bigint | null, waitedMs: number): ScanReport {
  const reason = `the next blocks have not been read for ${Math.round(waitedMs / 1_000)} s: nodes or PostgreSQL are slow`;
  return { state: 'waiting', tip, reason };
}

/**
 * The newest slot that a quorum has finalized; null if it cannot be read. A cached tip would give a wrong lag. Never
 * throws, because the caller must still report the state of the scan. A defect is logged.
 */
export async function tipOrNull(pool: NodePool): Promise<bigint | null> {
  try {
    return await finalizedTip(pool);
  } catch (error) {
    if (!isNodeError(error)) log.error('the finalized slot cannot be read', { error });
    return null;
  }
}
