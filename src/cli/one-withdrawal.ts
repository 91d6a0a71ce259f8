import type { Command } from '@commander-js/extra-typings';
import type { SluiceClient, Withdrawal } from '../client/client.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { renderWithdrawal } from './render.ts';

interface Question {
  readonly what: string;
  readonly ask: (sluice: SluiceClient, id: string) => Promise<Withdrawal>;
}

const QUESTIONS: Readonly<Record<string, Question>> = {
  status: { what: 'show a withdrawal and its attempts', ask: (sluice, id) => sluice.get(id) },
  confirm: {
    what: 'pay the wallet although it needs a confirmation',
    ask: (sluice, id) => sluice.confirm(id),
  },
  cancel: { what: 'end a withdrawal that has no attempt yet', ask: (sluice, id) => sluice.cancel(id) },
};

/** `sluice status ID`, `sluice confirm ID` and `sluice cancel ID`: each asks the API once and shows the withdrawal as it then is. */
export function registerOneWithdrawal(program: Command): void {
  for (const [name, { what, ask }] of Object.entries(QUESTIONS)) {
    program
      .command(name)
      .description(what)
      .argument('<id>', 'id of the withdrawal')
      .option(...JSON_OPTION)
      .action((id, options) =>
        run(options, async (output) => {
          const withdrawal = await ask(connect(), id);
          output.result(withdrawal, renderWithdrawal(withdrawal));
          return EXIT.ok;
        }),
      );
  }
}
