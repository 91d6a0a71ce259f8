import type { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { parsePositive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { rounded } from '../figures.ts';
import { type EndToEndFigures, measureEndToEnd } from './end-to-end.ts';
import { type LargeBlockFigures, measureLargeBlocks } from './large-block.ts';
import { type MicroFigures, measureMicro } from './micro.ts';

type Figures = MicroFigures & EndToEndFigures & LargeBlockFigures;

/** `bench scan`: measures the search for watched wallets in blocks, alone and from a node to committed rows. */
export function registerScan(program: Command): void {
  program
    .command('scan')
    .description('scanning of mainnet-size blocks, compared with JSON.parse and with web3.js; memory')
    .option(...JSON_AND_PROGRESS_OPTION)
    .option('--wallets <n>', 'wallets watched where bytes alone are searched', parsePositive, 1_000_000)
    .option('--memory-wallets <n>', 'wallets watched where memory is measured', parsePositive, 10_000_000)
    .option('--repetitions <n>', 'times that a search is measured', parsePositive, 100)
    .option('--blocks <n>', 'blocks of each round from the node to the database', parsePositive, 96)
    .option('--rounds <n>', 'such rounds', parsePositive, 5)
    .option('--workers <n>', 'processes that catch up together, compared with one', parsePositive, 2)
    .option('--large-blocks <n>', 'blocks of 50 MB where memory is measured', parsePositive, 24)
    .action(({ json, ...plan }) =>
      run({ json }, async (output) => {
        const say = (line: string) => output.progress(line);
        say(`watching ${plan.wallets} wallets, scanning and parsing blocks by turns …`);
        const micro = await measureMicro(plan);
        say('from a local node to committed rows, and the same blocks with web3.js, by turns …');
        const endToEnd = await measureEndToEnd(plan, say);
        say('blocks of 50 MB …');
        const figures: Figures = { ...micro, ...endToEnd, ...(await measureLargeBlocks(plan.largeBlocks)) };
        output.result(rounded(figures), render(figures));
        return EXIT.ok;
      }),
    );
}

function render(figures: Figures): string {
  const { blockBytes, jsonParseMs, catchUpVsOneWorker: gain } = figures;
  const {
    largeBlockMegabytes: size,
    largeBlockPeakMegabytes: peak,
    largeBlockCatchUpPeakMegabytes: catchUpPeak,
  } = figures;
  return [
    `block            ${(blockBytes / 1e6).toFixed(2)} MB, JSON.parse ${jsonParseMs.toFixed(1)} ms`,
    `scan             ${figures.scanVsJsonParse.toFixed(2)} of JSON.parse (aim <= 0.45)`,
    `scan, 1 % hits   ${figures.scanWithHitsVsJsonParse.toFixed(2)} of JSON.parse (aim <= 1.3)`,
    `lookup           ${figures.lookupNanoseconds.toFixed(0)} ns, alone ${figures.loneLookupNanoseconds.toFixed(0)} ns (aim < 200)`,
    `memory           ${figures.bytesPerWallet.toFixed(1)} bytes a wallet (aim <= 16)`,
    `end to end       ${figures.blocksPerSecond.toFixed(1)} blocks/s, ${figures.megabytesPerSecond.toFixed(0)} MB/s`,
    `  of web3.js     ${figures.endToEndVsWeb3js.toFixed(2)} x its speed (aim >= 5)`,
    `  of JSON.parse  ${figures.endToEndVsJsonParse.toFixed(2)} of its time`,
    ...(gain === null ? [] : [`catch-up         ${gain.toFixed(2)} x the speed of one worker (aim > 1.6)`]),
    `in the database  ${figures.depositsCommitted} deposits of ${figures.blocksCommitted} blocks`,
    `large blocks     ${peak.toFixed(0)} MB at most, ${catchUpPeak.toFixed(0)} MB in catch-up, with blocks of ${size.toFixed(0)} MB`,
  ].join('\n');
}
