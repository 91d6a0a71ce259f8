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
