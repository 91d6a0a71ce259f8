import type { ScanRange, ScanState, ScanView } from './scan.ts';
import type { Pace } from './scan-pace.ts';
import type { BlockName } from './scan-walk.ts';

/** How the scan stands, without what is reckoned over time. */
export interface Stand {
  readonly state: ScanState;
  readonly cursor: BlockName | null;
  readonly tip: bigint | null;
  readonly gap: ScanRange | null;
  /** One sentence for people where it stands still; null where it goes on. */
  readonly why: string | null;
}

/** Since when it stands still, which one who looks again has been told before; null where it goes on. */
export function standsSince({ why }: Pick<Stand, 'why'>, before: Date | null, now: Date): Date | null {
  return why === null ? null : (before ?? now);
}

/** What people and programs see of it. */
export function scanView(
  { state, cursor, tip, gap, why }: Stand,
  pace: Pace,
  since: Date | null,
  at: Date,
): ScanView {
  const lag = cursor === null || tip === null ? null : tip > cursor.slot ? tip - cursor.slot : 0n;
  return {
    state,
    cursor:
      cursor === null
        ? null
        : { slot: cursor.slot.toString(), blockhash: cursor.blockhash, height: cursor.height.toString() },
    tip: tip?.toString() ?? null,
    lag: lag?.toString() ?? null,
    blocksPerSecond: pace.seconds === 0 ? null : Math.round((10 * pace.blocks) / pace.seconds) / 10,
    gap,
    why,
    since: since?.toISOString() ?? null,
    at: at.toISOString(),
  };
}
