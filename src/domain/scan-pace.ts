import type { ScanRange, ScanState, ScanView } from './scan.ts';
import type { BlockName } from './scan-walk.ts';

/** How the scan stands, without what is reckoned over time. */
export interface Stand {
  readonly state: ScanState;
  readonly cursor: BlockName | null;
  readonly tip: bigint | null;
  readonly gap: ScanRange | null;
  readonly why: string | null;
}

/** Blocks and seconds so far; the older ones fade. */
export interface Pace {
  readonly blocks: number;
  readonly seconds: number;
}

export const NO_PACE: Pace = { blocks: 0, seconds: 0 };

const FADES_AFTER_SECONDS = 60;

/** The pace after so many more blocks in so many more seconds. */
export function paceAfter({ blocks, seconds }: Pace, moreBlocks: number, moreSeconds: number): Pace {
  const kept = seconds > FADES_AFTER_SECONDS ? FADES_AFTER_SECONDS / seconds : 1;
  return { blocks: blocks * kept + moreBlocks, seconds: seconds * kept + moreSeconds };
}

/** What people and programs see of it. */
export function scanView({ state, cursor, tip, gap, why }: Stand, pace: Pace, at: Date): ScanView {
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
    at: at.toISOString(),
  };
}
