import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { findingOf } from '../../src/domain/credits.ts';
import { scanBlockBytes } from '../../src/solana/scan/bytes/match-bytes.ts';
import type { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { searchBlock } from '../../src/solana/scan/search.ts';
import { Chance } from '../chance.ts';
import { median, milliseconds } from '../figures.ts';
import { blockAnswer, MAINNET_SHAPE } from './block.ts';
import type { WatchSetFigures } from './large-set.ts';
import { type BenchRules, ourWallets, payTo, rulesFor } from './ours.ts';
import { watchSetOf } from './wallets.ts';

/** How much to measure. */
export interface MicroPlan {
  readonly wallets: number;
  /** Number of wallets in the set that {@link WatchSetFigures} describes. */
  readonly memoryWallets: number;
  readonly repetitions: number;
}

/** Times as multiples of that of JSON.parse on the same block's text, measured beside it. */
export interface MicroFigures extends WatchSetFigures {
  readonly scanVsJsonParse: number;
  /** Of blocks of which 1 % of the transactions pay us, those read and put to the rules of deposits. */
  readonly scanWithHitsVsJsonParse: number;
  readonly jsonParseMs: number;
  readonly blockBytes: number;
}

const BLOCKS = 4;
const NODE = { name: 'node', maxTransactionVersion: 1 };
const WARM_UP = 8;

/** Scans blocks in which nothing, and in which 1 % is ours, and parses them, by turns in one process. */
export async function measureMicro(plan: MicroPlan): Promise<MicroFigures> {
  const chance = new Chance(1);
  const watched = watchSetOf(plan.wallets, chance);
  const ours = ourWallets(MAINNET_SHAPE);
  for (const wallet of ours) watched.add(wallet);
  const seeds = Array.from({ length: BLOCKS }, (_, index) => index + 1);
  const foreign = seeds.map((seed) => blockAnswer(seed, MAINNET_SHAPE));
  const hit = seeds.map((seed) => blockAnswer(seed, MAINNET_SHAPE, payTo(MAINNET_SHAPE, ours)));
  const rules = rulesFor(ours);
  const rounds = Array.from({ length: WARM_UP + plan.repetitions }, (_, round) =>
    measureRound(foreign[round % BLOCKS] as Buffer, hit[round % BLOCKS] as Buffer, watched, rules),
  ).slice(WARM_UP);
  return {
    scanVsJsonParse: median(rounds.map(({ scan, parse }) => scan / parse)),
    scanWithHitsVsJsonParse: median(rounds.map(({ withHits, parse }) => withHits / parse)),
    ...(await measureWatchSet(plan.memoryWallets)),
    jsonParseMs: median(rounds.map(({ parse }) => parse)),
    blockBytes: foreign[0]?.length ?? 0,
  };
}

function measureRound(foreign: Buffer, hit: Buffer, watched: WatchSet, rules: BenchRules) {
  const text = foreign.toString();
  return {
    parse: milliseconds(() => JSON.parse(text)),
    scan: milliseconds(() => expectHits(0, hitsOf(foreign, watched))),
    withHits: milliseconds(() => {
      const { transactions } = searchBlock(hit, { slot: 1n, watched, node: NODE });
      expectHits(rules.gains, findingOf({ transactions }, rules).inflows.length);
    }),
  };
}

function hitsOf(bytes: Buffer, watched: WatchSet): number {
  const scan = scanBlockBytes(bytes, watched);
  if (scan.mustParse) throw new Error('the block must be parsed');
  return scan.hitTransactions.length;
}

function expectHits(expected: number, found: number): void {
  if (found !== expected) throw new Error(`${found} hits, not ${expected}`);
}

/** In a process of its own, so that nothing else grows or shrinks meanwhile. */
async function measureWatchSet(wallets: number): Promise<WatchSetFigures> {
  const { command, args } = nodeProgram(new URL('./large-set.ts', import.meta.url), [String(wallets)], {
    flags: ['--expose-gc'],
  });
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout) as WatchSetFigures;
}
