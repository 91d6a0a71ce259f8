/** Scanned blocks and the time taken. Older ones count less. */
export interface BlockRate {
  readonly blocks: number;
  readonly seconds: number;
}

export const NO_PACE: BlockRate = { blocks: 0, seconds: 0 };

const FADES_AFTER_SECONDS = 60;

export function paceAfter(
  { blocks, seconds }: BlockRate,
  moreBlocks: number,
  moreSeconds: number,
): BlockRate {
  const kept = seconds > FADES_AFTER_SECONDS ? FADES_AFTER_SECONDS / seconds : 1;
  return { blocks: blocks * kept + moreBlocks, seconds: seconds * kept + moreSeconds };
}
