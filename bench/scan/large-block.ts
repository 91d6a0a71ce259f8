import { MAINNET_SHAPE } from './block.ts';
import { onChain } from './chain.ts';

/** Memory of a scanning process that met nothing but blocks of such a size. */
export interface LargeBlockFigures {
  readonly largeBlockMegabytes: number;
  /** The most that the process ever had, code and watch set included. */
  readonly largeBlockPeakMegabytes: number;
}

const LARGE_SHAPE = { ...MAINNET_SHAPE, transactions: 18_000 };
const BLOCKS = 24;

/** Lets a process of its own scan more large blocks than its memory holds. */
export function measureLargeBlocks(): Promise<LargeBlockFigures> {
  return onChain(LARGE_SHAPE, 1, async ({ grow, scanners, blockBytes }) => {
    await grow(BLOCKS);
    const answers = await Promise.all(scanners.map((scanner) => scanner.ask({ kind: 'tail' })));
    const peakBytes = Math.max(...answers.map((answer) => answer.peakBytes));
    return { largeBlockMegabytes: blockBytes / 1e6, largeBlockPeakMegabytes: peakBytes / 1e6 };
  });
}
