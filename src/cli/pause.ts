import { userInfo } from 'node:os';
import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Word } from '../domain/word.ts';
import type { PauseRow } from '../ledger/pauses.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { RECORD_SOURCE, withRecord } from './record.ts';

/** `sluice pause WHY` and `sluice resume WHY`, in the name of the user of this machine. */
export function registerPause(program: Command): void {
  program
    .command('pause')
    .description(`prepare no more payments; what is signed is landed ${RECORD_SOURCE}`)
    .argument('<why>', 'for whoever asks later')
    .option(...JSON_OPTION)
    .action((why, options) =>
      run(options, async (output) => {
        const pauses = await withRecord((ledger) => ledger.pauses.begin(word(why)));
        output.result({ pauses: pauses.map(toJson) }, ['paused', ...pauses.map(renderPause)].join('\n'));
        return EXIT.ok;
      }),
    );
  program
    .command('resume')
    .description(`end every pause and close the alerts that had begun one ${RECORD_SOURCE}`)
    .argument('<why>', 'for whoever asks later')
    .option('--seen <positions>', 'the alerts that you have looked at, such as 17,18', positions, [])
    .option(...JSON_OPTION)
    .action((why, options) =>
      run(options, async (output) => {
        const pauses = await withRecord((ledger) => ledger.pauses.end({ ...word(why), seen: options.seen }));
        const head = pauses.length === 0 ? 'nothing was paused' : 'ended';
        output.result({ pauses: pauses.map(toJson) }, [head, ...pauses.map(renderPause)].join('\n'));
        return EXIT.ok;
      }),
    );
}

function positions(text: string): readonly bigint[] {
  const all = text.split(',').map((one) => one.trim());
  if (!all.every((one) => /^[0-9]{1,18}$/.test(one)))
    throw new InvalidArgumentError('whole numbers with commas between them');
  return all.map(BigInt);
}

function word(why: string): Word {
  if (why.trim() === '') throw new UsageError('say why');
  return { who: userInfo().username, why: why.trim() };
}

function toJson({ cause, reason, who, since }: PauseRow): object {
  return { cause, reason, who, since: since.toISOString() };
}

function renderPause({ cause, reason, who, since }: PauseRow): string {
  return `${since.toISOString()}  ${cause}  ${reason} (by ${who})`;
}
