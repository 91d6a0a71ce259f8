/** Scanned blocks and the time taken. Older ones count less. */
export interface Pace {
  readonly blocks: number;
  readonly seconds: number;
}

export const NO_PACE: Pace = { blocks: 0, seconds: 0 };

const FADES_AFTER_SECONDS = 60;

export function paceAfter({ blocks, seconds }: Pace, moreBlocks: number, moreSeconds: number): Pace {
  const kept = seconds > FADES_AFTER_SECONDS ? FADES_AFTER_SECONDS / seconds : 1;
  return { blocks: blocks * kept + moreBlocks, seconds: seconds * kept + moreSeconds };
}
