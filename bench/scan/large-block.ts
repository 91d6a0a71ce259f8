import { MAINNET_SHAPE } from './block.ts';
import { type BenchChain, onChain, type ScannerProcess } from './chain.ts';

/** Memory of scanning processes that met nothing but blocks of such a size. */
export interface LargeBlockFigures {
  readonly largeBlockMegabytes: number;
  /** The most that a process ever had that follows the chain, code and watch set included. */
  readonly largeBlockPeakMegabytes: number;
  /** The same of one that catches up, some ranges at once. */
  readonly largeBlockCatchUpPeakMegabytes: number;
}

const LARGE_SHAPE = { ...MAINNET_SHAPE, transactions: 18_000 };
const CHAIN = { shape: LARGE_SHAPE, bodies: 1, rangeBlocks: 2, scanners: 2 };
const MEGABYTE = 1e6;

/** Lets one process follow so many large blocks, and another one catch up with as many. */
export function measureLargeBlocks(blocks: number): Promise<LargeBlockFigures> {
  return onChain(CHAIN, async (chain) => {
    const [follower, catcher] = chain.scanners;
    if (follower === undefined || catcher === undefined) throw new Error('no scanner runs');
    return {
      largeBlockMegabytes: chain.blockBytes / MEGABYTE,
      largeBlockPeakMegabytes: (await follow(chain, follower, blocks)) / MEGABYTE,
      largeBlockCatchUpPeakMegabytes: (await catchUp(chain, catcher, blocks)) / MEGABYTE,
    };
  });
}

async function follow({ grow }: BenchChain, scanner: ScannerProcess, blocks: number): Promise<number> {
  await grow(blocks);
  const end = await scanner.ask({ kind: 'tail' });
  return peakAfter(end, blocks);
}

async function catchUp({ grow }: BenchChain, scanner: ScannerProcess, blocks: number): Promise<number> {
  await grow(blocks);
  const { ranges } = await scanner.ask({ kind: 'plan' });
  await scanner.ask({ kind: 'stage', ranges });
  return peakAfter(await scanner.ask({ kind: 'join' }), blocks);
}

function peakAfter(end: { readonly blocks: number; readonly peakBytes: number }, blocks: number): number {
  if (end.blocks !== blocks) throw new Error(`${end.blocks} blocks are committed, not ${blocks}`);
  return end.peakBytes;
}
