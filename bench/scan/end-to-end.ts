import { median, timed } from '../figures.ts';
import { MAINNET_SHAPE } from './block.ts';
import { type BenchChain, onChain, type ScannerProcess } from './chain.ts';
import { Child } from './child.ts';
import { GAINS_OF_A_PAYMENT } from './ours.ts';
import type { Web3Answer, Web3Question } from './web3js.ts';

export interface EndToEndPlan {
  /** Blocks that the scan reads in each round. */
  readonly blocks: number;
  readonly rounds: number;
  /** Processes that catch up together; 1 leaves that out. */
  readonly workers: number;
}

/** From a local server to committed rows. Ratios are medians of rounds in which what is compared takes turns. */
export interface EndToEndFigures {
  readonly blocksPerSecond: number;
  /** Of unpacked answers. */
  readonly megabytesPerSecond: number;
  /** Speed of the scan, one process, as a multiple of that of a getBlock loop with web3.js that finds the same. */
  readonly endToEndVsWeb3js: number;
  /** Time of a block as a multiple of that of JSON.parse on its text. */
  readonly endToEndVsJsonParse: number;
  /** Speed of catching up with all processes as a multiple of that of one; null where there is one. */
  readonly catchUpVsOneWorker: number | null;
  readonly blocksCommitted: number;
  readonly depositsCommitted: number;
}

interface Round {
  readonly scanMs: number;
  readonly web3Ms: number;
  readonly parseMs: number;
}

type Web3 = Child<Web3Question, Web3Answer>;

const CHAIN = { shape: MAINNET_SHAPE, bodies: 4, rangeBlocks: 16 };
/** The web3.js loop is much slower, so that fewer blocks suffice. */
const WEB3_SHARE = 8;

/** Times of a block, in rounds, after one warm-up round. Throws unless every payment of every block is recorded once. */
export async function measureEndToEnd(
  { blocks, rounds, workers }: EndToEndPlan,
  say: (line: string) => void,
): Promise<EndToEndFigures> {
  const web3: Web3 = new Child(new URL('./web3js.ts', import.meta.url));
  try {
    return await onChain({ ...CHAIN, scanners: workers }, async (chain) => {
      const seen: Round[] = [];
      const gains: number[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        seen.push(await measureRound(chain, web3, blocks));
        if (workers > 1) gains.push(await catchUpGain(chain, blocks));
        say(`round ${round} of ${rounds}: ${(1000 / (seen.at(-1)?.scanMs ?? 0)).toFixed(1)} blocks/s`);
      }
      const counted = await expectAll(chain);
      return {
        ...figuresOf(seen.slice(1), chain),
        catchUpVsOneWorker: workers > 1 ? median(gains.slice(1)) : null,
        ...counted,
      };
    });
  } finally {
    await web3.stop();
  }
}

function figuresOf(rounds: readonly Round[], { blockBytes }: BenchChain) {
  const blocksPerSecond = 1000 / median(rounds.map(({ scanMs }) => scanMs));
  return {
    blocksPerSecond,
    megabytesPerSecond: (blocksPerSecond * blockBytes) / 1e6,
    endToEndVsWeb3js: median(rounds.map(({ scanMs, web3Ms }) => web3Ms / scanMs)),
    endToEndVsJsonParse: median(rounds.map(({ scanMs, parseMs }) => scanMs / parseMs)),
  };
}

async function measureRound(chain: BenchChain, web3: Web3, blocks: number): Promise<Round> {
  const { from } = await chain.grow(blocks);
  const [scanner] = chain.scanners;
  const [rpcUrl] = chain.rpcUrls;
  if (scanner === undefined || rpcUrl === undefined) throw new Error('no scanner runs');
  const scan = await timed(() => scanner.ask({ kind: 'tail' }));
  expectEqual('blocks', scan.value.blocks, blocks);
  const few = Math.ceil(blocks / WEB3_SHARE);
  const asked = { rpcUrl, from, to: from + few - 1, wallets: chain.wallets };
  const looped = await web3.ask({ kind: 'getBlock', ...asked });
  expectEqual('gains', looped.found, few * chain.wallets.length * GAINS_OF_A_PAYMENT);
  const parsed = await web3.ask({ kind: 'JSON.parse', ...asked });
  return {
    scanMs: scan.milliseconds / blocks,
    web3Ms: looped.milliseconds / few,
    parseMs: parsed.milliseconds / few,
  };
}

async function catchUpGain(chain: BenchChain, blocks: number): Promise<number> {
  const one = await catchUp(chain, chain.scanners.slice(0, 1), blocks);
  const all = await catchUp(chain, chain.scanners, blocks);
  return one / all;
}

/** Milliseconds that these take to read new blocks in ranges and to join them. */
async function catchUp(
  chain: BenchChain,
  scanners: readonly ScannerProcess[],
  blocks: number,
): Promise<number> {
  await chain.grow(blocks);
  const { milliseconds, value } = await timed(async () => {
    const [first] = scanners;
    if (first === undefined) throw new Error('no scanner runs');
    const { ranges } = await first.ask({ kind: 'plan' });
    await Promise.all(
      scanners.map((scanner, turn) =>
        scanner.ask({
          kind: 'stage',
          ranges: ranges.filter((_, index) => index % scanners.length === turn),
        }),
      ),
    );
    return first.ask({ kind: 'join' });
  });
  expectEqual('blocks', value.blocks, blocks);
  return milliseconds;
}

async function expectAll({ ledger, wallets, tip }: BenchChain) {
  const cursor = await ledger.scan.cursor();
  expectEqual('slot of the cursor', Number(cursor?.slot), tip);
  const blocksCommitted = tip - 1;
  const { count } = await ledger.db
    .selectFrom('deposit')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('reason', 'is', null)
    .executeTakeFirstOrThrow();
  const depositsCommitted = Number(count);
  expectEqual('deposits', depositsCommitted, blocksCommitted * wallets.length * GAINS_OF_A_PAYMENT);
  return { blocksCommitted, depositsCommitted };
}

function expectEqual(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${what}: ${found}, not ${expected}`);
}
