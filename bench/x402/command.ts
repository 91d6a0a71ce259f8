import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { parsePositive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import { openMarket } from './market.ts';
import { measure } from './measure.ts';
import { renderReport, reportOf } from './report.ts';

/** `bench x402`: compares the cost of a paid request at Sluice's gateway and at the official Express server with the official facilitator. */
export function registerX402(program: Command): void {
  program
    .command('x402')
    .description(
      'paid requests of the gateway, compared with the official server and facilitator on one chain',
    )
    .option(...JSON_AND_PROGRESS_OPTION)
    .option('--rounds <n>', 'rounds of both sellers by turns', parsePositive, 3)
    .option('--alone <n>', 'paid requests of a round with one in flight', parsePositive, 15)
    .option('--per-lane <n>', 'paid requests of a round for each in flight, with 16 and 64', parsePositive, 4)
    .option('--buyers <n>', 'wallets that pay', parsePositive, 64)
    .option('--slot-ms <ms>', 'length of a slot of the chain', parsePositive, 400)
    .option('--finality-lag <slots>', 'slots from processed to finalized', parsePositive, 32)
    .option('--profile <dir>', 'leave CPU profiles of the API and of the x402 worker in this directory')
    .action(({ json, profile, ...plan }) =>
      run({ json }, async (output) => {
        const closers = new Closers();
        try {
          output.progress('starting a chain, both sellers, Temporal and PostgreSQL …');
          const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`];
          const market = await openMarket({ ...plan, flags }, closers);
          const seen = await measure(market, plan, (line) => output.progress(line));
          const report = reportOf(seen);
          output.result(report, renderReport(report));
          const { paid, finalized } = seen;
          const isPaid = paid.ours === finalized.ours && paid.theirs === finalized.theirs;
          return isPaid ? EXIT.ok : EXIT.failure;
        } finally {
          await closers.close();
        }
      }),
    );
}
