import { MockActivityEnvironment } from '@temporalio/testing';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import { DepositMatcher } from '../../src/deposits/scan/matcher.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import type { CatchUpRange } from '../../src/domain/scan.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { answerQuestions } from './child.ts';

/** Where to scan; `rangeBlocks` are those of one range of a catch-up. */
interface Opening {
  readonly kind: 'open';
  readonly databaseUrl: string;
  readonly rpcUrls: readonly string[];
  readonly rangeBlocks: number;
}

/** What a process with the scan of a worker in it is asked; the first question says where. */
export type ScannerQuestion =
  | Opening
  /** Read and commit all finalized blocks. */
  | { readonly kind: 'tail' }
  | { readonly kind: 'plan' }
  | { readonly kind: 'stage'; readonly ranges: readonly CatchUpRange[] }
  | { readonly kind: 'join' };

/** `blocks` are those committed; `peakBytes` the most memory that the process ever had. */
export interface ScannerAnswer {
  readonly blocks: number;
  readonly ranges: readonly CatchUpRange[];
  readonly peakBytes: number;
}

/** For an answer: this machine may be busy with much else. */
const PATIENCE_MS = 120_000;

type OpenedScanner = Awaited<ReturnType<typeof open>>;
let opened: OpenedScanner | undefined;

answerQuestions<ScannerQuestion, ScannerAnswer>(async (question) => {
  const { blocks = 0, ranges = [] } = await answer(question);
  return { blocks, ranges, peakBytes: process.resourceUsage().maxRSS * 1024 };
});

async function answer(question: ScannerQuestion): Promise<Partial<ScannerAnswer>> {
  if (question.kind === 'open') {
    opened = await open(question);
    return {};
  }
  if (opened === undefined) throw new Error('open comes first');
  const { scanner, ranges } = opened;
  switch (question.kind) {
    case 'tail':
      return { blocks: await readAll(scanner) };
    case 'plan':
      return inActivity(() => ranges.planCatchUp());
    case 'stage':
      await Promise.all(question.ranges.map((range) => stage(ranges, range)));
      return {};
    case 'join':
      return { blocks: (await inActivity(() => ranges.joinRanges())).joined };
  }
}

async function open({ databaseUrl, rpcUrls, rangeBlocks }: Opening) {
  const ledger = await openLedger(databaseUrl);
  const pool = await openNodePool(rpcUrls, { timeoutMs: PATIENCE_MS });
  const matcher = new DepositMatcher(ledger, {
    ownerChangeAllowed: false,
    maxTransactionVersion: 1,
    minimumLamports: async () => 890_880n,
  });
  await matcher.watch();
  const deps = { ledger, pool, matcher, startSlot: 2n, catchUpSlots: 0n, rangeBlocks };
  return { scanner: new DepositScanner(deps), ranges: createDepositRanges(deps) };
}

async function readAll(scanner: DepositScanner): Promise<number> {
  for (let blocks = 0; ; ) {
    const step = await scanner.step();
    blocks += step.blocks;
    if (step.state === 'idle') return blocks;
    if (step.state !== 'continues') throw new Error(`the scan is ${step.state}`);
  }
}

async function stage(ranges: OpenedScanner['ranges'], range: CatchUpRange): Promise<void> {
  const { complete, reason } = await inActivity(() => ranges.scanRange(range));
  if (!complete) throw new Error(`the range to ${range.to} is not read to its end: ${reason}`);
}

function inActivity<T>(work: () => Promise<T>): Promise<T> {
  return new MockActivityEnvironment().run(work);
}
