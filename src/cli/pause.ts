import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { isPauseScope, type PauseScope } from '../domain/pause-scope.ts';
import type { PauseRow } from '../ledger/pauses.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { withRecord } from './record.ts';
import { ownWord, positions, WHY_ARGUMENT } from './word.ts';

const SCOPE_OPTION = [
  '--scope <scope>',
  'what it stops: all (default), kind/<kind> or wallet/<address>',
  (text: string): PauseScope => {
    if (isPauseScope(text)) return text;
    throw new InvalidArgumentError('expected all, kind/<kind> or wallet/<address>');
  },
] as const;

/** `sluice pause WHY` and `sluice resume WHY`, in the name of the user of this machine. */
export function registerPause(program: Command): void {
  program
    .command('pause')
    .description('prepare no more payments; what is signed is landed')
    .argument(...WHY_ARGUMENT)
    .option(...SCOPE_OPTION)
    .option(...JSON_OPTION)
    .action((why, options) =>
      run(options, async (output) => {
        const pauses = await withRecord((ledger) =>
          ledger.pauses.begin({ ...ownWord(why), scope: options.scope }),
        );
        output.result({ pauses: pauses.map(toJson) }, ['paused', ...pauses.map(renderPause)].join('\n'));
        return EXIT.ok;
      }),
    );
  program
    .command('resume')
    .description('end every pause and close the alerts that had begun one')
    .argument(...WHY_ARGUMENT)
    .option('--seen <positions>', 'the alerts that you have looked at, such as 17,18', positions, [])
    .option(...SCOPE_OPTION)
    .option(...JSON_OPTION)
    .action((why, options) =>
      run(options, async (output) => {
        const pauses = await withRecord((ledger) =>
          ledger.pauses.end({ ...ownWord(why), seen: options.seen, scope: options.scope }),
        );
        const head = pauses.length === 0 ? 'nothing was paused' : 'ended';
        output.result({ pauses: pauses.map(toJson) }, [head, ...pauses.map(renderPause)].join('\n'));
        return EXIT.ok;
      }),
    );
}

function toJson({ cause, scope, reason, who, since }: PauseRow): object {
  return { cause, scope, reason, who, since: since.toISOString() };
}

function renderPause({ cause, scope, reason, who, since }: PauseRow): string {
  return `${since.toISOString()}  ${cause}  ${scope}  ${reason} (by ${who})`;
}
