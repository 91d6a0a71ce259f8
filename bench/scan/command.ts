import type { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { positive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { type MicroFigures, measureMicro } from './micro.ts';

/** `bench scan`: what it costs to look for our wallets in a block, against parsing it. */
export function registerScan(program: Command): void {
  program
    .command('scan')
    .description('scanning of mainnet-size blocks against JSON.parse; memory and lookups of the watch set')
    .option(...JSON_AND_PROGRESS_OPTION)
    .option('--wallets <n>', 'wallets watched', positive, 1_000_000)
    .option('--memory-wallets <n>', 'wallets watched where memory is measured', positive, 10_000_000)
    .option('--repetitions <n>', 'times that each is measured', positive, 100)
    .action(({ json, ...plan }) =>
      run({ json }, async (output) => {
        output.progress(`watching ${plan.wallets} wallets, scanning and parsing blocks by turns …`);
        const figures = await measureMicro(plan);
        const report = Object.fromEntries(
          Object.entries(figures).map(([name, value]) => [name, round(value)]),
        );
        output.result(report, render(figures));
        return EXIT.ok;
      }),
    );
}

function render(figures: MicroFigures): string {
  const { blockBytes, jsonParseMs, lookupNanoseconds, bytesPerWallet } = figures;
  return [
    `block            ${(blockBytes / 1e6).toFixed(2)} MB, JSON.parse ${jsonParseMs.toFixed(1)} ms`,
    `scan             ${figures.scanVsJsonParse.toFixed(2)} of JSON.parse`,
    `scan, 1 % hits   ${figures.scanWithHitsVsJsonParse.toFixed(2)} of JSON.parse, hits parsed`,
    `lookup           ${lookupNanoseconds.toFixed(0)} ns`,
    `memory           ${bytesPerWallet.toFixed(1)} bytes a wallet`,
  ].join('\n');
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
