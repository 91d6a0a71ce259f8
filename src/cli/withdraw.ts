import type { Command } from '@commander-js/extra-typings';
import type { SluiceClient, Withdrawal, WithdrawalTerms } from '../client/client.ts';
import { isTerminal } from '../domain/settlement.ts';
import { connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { JSON_AND_PROGRESS_OPTION, type Output, run } from './output.ts';
import { renderStep, renderWithdrawal } from './render.ts';

/** `sluice withdraw`: asks for a withdrawal and, with `--wait`, follows it to its end. */
export function registerWithdraw(program: Command): void {
  program
    .command('withdraw')
    .description('ask for a withdrawal; the same id never pays twice')
    .option('--id <id>', 'your id of this withdrawal, for ever')
    .option('--asset <asset>', 'SOL, or the address of a mint')
    .option('--amount <units>', 'base units: lamports, or the smallest unit of the token')
    .option('--to <wallet>', 'wallet of the receiver')
    .option('--accept-empty-wallet', 'pay a wallet that holds nothing yet without asking')
    .option('--memo <text>', 'text that is written to the chain')
    .option('--wait', 'wait until it is finalized, rejected, cancelled or failed')
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const terms = termsOf(options);
        const sluice = connect();
        const asked = await sluice.withdraw(terms);
        return options.wait ? follow(sluice, asked, output) : end(asked, output);
      }),
    );
}

interface WithdrawOptions {
  readonly id?: string | undefined;
  readonly asset?: string | undefined;
  readonly amount?: string | undefined;
  readonly to?: string | undefined;
  readonly acceptEmptyWallet?: true | undefined;
  readonly memo?: string | undefined;
}

/** Commander would name only the first of several options that are missing. */
function termsOf({ id, asset, amount, to, acceptEmptyWallet, memo }: WithdrawOptions): WithdrawalTerms {
  if (id === undefined || asset === undefined || amount === undefined || to === undefined) {
    const missing = Object.entries({ id, asset, amount, to }).filter(([, value]) => value === undefined);
    throw new UsageError(`missing: ${missing.map(([name]) => `--${name}`).join(', ')}; see --help`);
  }
  return {
    id,
    asset,
    amount,
    destination: to,
    ...(acceptEmptyWallet === undefined ? {} : { acceptEmptyWallet: true }),
    ...(memo === undefined ? {} : { memo }),
  };
}

async function follow(sluice: SluiceClient, asked: Withdrawal, output: Output): Promise<number> {
  const goesOn = `interrupted; the withdrawal goes on, see: sluice status ${asked.id}`;
  const final = await untilInterrupted(goesOn, (signal) =>
    sluice.waitForFinal(asked.id, {
      signal,
      onChange: (withdrawal) => output.progress(renderStep(withdrawal)),
      onSilence: ({ message }) => output.progress(`${message}; asking on`),
    }),
  );
  return end(final, output);
}

function end(withdrawal: Withdrawal, output: Output): number {
  output.result(withdrawal, renderWithdrawal(withdrawal));
  return isTerminal(withdrawal.status) && withdrawal.status !== 'finalized' ? EXIT.unpaid : EXIT.ok;
}
