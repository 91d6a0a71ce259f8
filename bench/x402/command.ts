import { resolve } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { parsePositive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import { openMarket } from './market.ts';
import { measure } from './measure.ts';
import { FULL, QUICK } from './plan.ts';
import { reportOf } from './report.ts';
import { renderReport } from './table.ts';

const CHAIN = new Option('--chain <kind>', 'chain of both sellers; on a validator the whole product runs')
  .choices(['localnet', 'validator'] as const)
  .default('localnet' as const);
const WALLETS = new Option('--wallets <which>', 'many wallets, one wallet at one target, or both')
  .choices(['many', 'one', 'both'] as const)
  .default('both' as const);

/** `bench x402`: compares the cost of a paid request at Sluice's gateway and at the official Express server with the official facilitator. */
export function registerX402(program: Command): void {
  program
    .command('x402')
    .description(
      'paid requests of the gateway, compared with the official server and facilitator on one chain',
    )
    .option(...JSON_AND_PROGRESS_OPTION)
    .addOption(CHAIN)
    .addOption(WALLETS)
    .option('--quick', 'about two minutes, for development: figures mean nothing')
    .option(
      '--warm-up <n>',
      size('paid requests of each seller with 64 in flight before the first turn', 'warmUp'),
      parsePositive,
    )
    .option('--rounds <n>', size('rounds of both sellers by turns', 'rounds'), parsePositive)
    .option('--alone <n>', size('paid requests of a round with one in flight', 'alone'), parsePositive)
    .option(
      '--per-lane <n>',
      size('paid requests of a round for each in flight, with 16 and 64', 'perLane'),
      parsePositive,
    )
    .option('--buyers <n>', size('wallets that pay', 'buyers'), parsePositive)
    .option('--sustained-turns <n>', size('sustained turns of each seller', 'sustainedTurns'), parsePositive)
    .option(
      '--sustained-seconds <n>',
      size('measured seconds of a sustained turn', 'sustainedSeconds'),
      parsePositive,
    )
    .option(
      '--one-wallet <n>',
      size('paid requests of one wallet, with 8 and with 16 in flight', 'oneWallet'),
      parsePositive,
    )
    .option('--slot-ms <ms>', 'length of a slot of localnet', parsePositive, 400)
    .option(
      '--finality-lag <slots>',
      size('slots from processed to finalized on localnet', 'finalityLag'),
      parsePositive,
    )
    .option('--profile <dir>', 'leave CPU profiles of the API and of the x402 worker in this directory')
    .action(({ json, profile, quick, slotMs, ...given }) =>
      run({ json }, async (output) => {
        const plan = { ...(quick === true ? QUICK : FULL), ...given };
        const closers = new Closers();
        try {
          output.progress('starting a chain, both sellers, Temporal and PostgreSQL …');
          const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`];
          const market = await openMarket({ ...plan, slotMs, flags }, closers);
          const report = reportOf(await measure(market, plan, (line) => output.progress(line)), plan);
          output.result(report, renderReport(report));
          return report.faults.length === 0 ? EXIT.ok : EXIT.failure;
        } finally {
          await closers.close();
        }
      }),
    );
}

function size(what: string, key: keyof typeof FULL): string {
  return `${what}; default ${FULL[key]}`;
}
