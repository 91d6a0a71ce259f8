import type { BlockName } from '../../domain/block-link.ts';
import type { GOING_ON, ScanPosition, ScanRange, ScanStatus, STANDING_STILL } from '../../domain/scan.ts';
import type { Pace } from './block-rate.ts';

/** A worker that reads says so again each minute. */
const OUTDATED_MS = 300_000;

/** What keeps the scan where it is; `reason` is one sentence for people. */
export type Halt =
  | { readonly state: (typeof STANDING_STILL)[number]; readonly reason: string }
  | { readonly state: 'gap'; readonly gap: ScanRange; readonly reason: string }
  | { readonly state: 'paused'; readonly actor: string; readonly reason: string; readonly since: Date };

/** How the scan stands, without what is reckoned over time. */
export type Stand = { readonly cursor: BlockName | null; readonly tip: bigint | null } & (
  | { readonly state: (typeof GOING_ON)[number] }
  | Halt
);

/** When the scan stopped. `before`: when an earlier look first saw it stopped; null if it runs. A pause has its own time. */
export function standsSince(stand: Stand, before: Date | null, now: Date): Date | null {
  if (!('reason' in stand)) return null;
  return stand.state === 'paused' ? stand.since : (before ?? now);
}

/** What people and programs see of it. */
export function statusOf(stand: Stand, pace: Pace, since: Date | null, at: Date): ScanStatus {
  const { cursor, tip, ...still } = stand;
  const hasPace = pace.seconds > 0 && !('reason' in still);
  const blocksPerSecond = hasPace ? Math.round((10 * pace.blocks) / pace.seconds) / 10 : null;
  const position = { ...positionOf(cursor, tip), blocksPerSecond, at: at.toISOString() };
  if (!('reason' in still)) return { ...position, ...still };
  return { ...position, ...still, since: (since ?? at).toISOString() };
}

/** The cursor and the tip as they are shown, and what lies between. */
export function positionOf(
  cursor: BlockName | null,
  tip: bigint | null,
): Pick<ScanPosition, 'cursor' | 'tip' | 'lag'> {
  // The tip was asked for before the newest blocks were read.
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

/**
 * True where a run has heard of no worker for so long that what it heard says nothing of now. One that catches up hears only of whole
 * ranges.
 */
export function isOutdated({ state, at }: ScanStatus, now: Date): boolean {
  return state !== 'catch-up' && at !== null && now.getTime() - Date.parse(at) > OUTDATED_MS;
}
