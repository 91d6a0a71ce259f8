import type { BlockName } from '../../domain/block-link.ts';
import type { GOING_ON, ScanPosition, ScanRange, ScanStatus, STANDING_STILL } from '../../domain/scan.ts';
import type { BlockRate } from './block-rate.ts';

/** Milliseconds; a worker that reads reports every minute. */
const OUTDATED_MS = 300_000;

/** Why the scan does not move. `why` is one sentence for operators. */
export type Halt =
  | { readonly state: (typeof STANDING_STILL)[number]; readonly reason: string }
  | { readonly state: 'gap'; readonly gap: ScanRange; readonly reason: string }
  | { readonly state: 'paused'; readonly actor: string; readonly reason: string; readonly since: Date };

/** State of the scan, without values measured over time. */
export type ScanProgress = { readonly cursor: BlockName | null; readonly tip: bigint | null } & (
  | { readonly state: (typeof GOING_ON)[number] }
  | Halt
);

/** When the scan stopped; null if it runs. `before`: when an earlier check first saw it stopped. */
export function standsSince(stand: ScanProgress, before: Date | null, now: Date): Date | null {
  if (!('reason' in stand)) return null;
  return stand.state === 'paused' ? stand.since : (before ?? now);
}

export function statusOf(stand: ScanProgress, pace: BlockRate, since: Date | null, at: Date): ScanStatus {
  const { cursor, tip, ...still } = stand;
  const hasPace = pace.seconds > 0 && !('reason' in still);
  const blocksPerSecond = hasPace ? Math.round((10 * pace.blocks) / pace.seconds) / 10 : null;
  const position = { ...positionOf(cursor, tip), blocksPerSecond, at: at.toISOString() };
  if (!('reason' in still)) return { ...position, ...still };
  return { ...position, ...still, since: (since ?? at).toISOString() };
}

export function positionOf(
  cursor: BlockName | null,
  tip: bigint | null,
): Pick<ScanPosition, 'cursor' | 'tip' | 'lag'> {
  // The tip was read before the newest blocks, so it may be behind the cursor.
  const highest = cursor !== null && tip !== null && tip < cursor.slot ? cursor.slot : tip;
  const lag = cursor === null || highest === null ? null : highest - cursor.slot;
  return {
    cursor:
      cursor === null
        ? null
        : { slot: cursor.slot.toString(), blockhash: cursor.blockhash, height: cursor.height.toString() },
    tip: highest?.toString() ?? null,
    lag: lag?.toString() ?? null,
  };
}

/** True if the last report is too old to describe the scan now. A catch-up reports only whole ranges. */
export function isOutdated({ state, at }: ScanStatus, now: Date): boolean {
  return state !== 'catch-up' && at !== null && now.getTime() - Date.parse(at) > OUTDATED_MS;
}
