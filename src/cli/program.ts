import { Command, CommanderError } from '@commander-js/extra-typings';
import { EXIT } from './exit.ts';
import { failureLine, wantsJson } from './last-word.mjs';

/** An empty program whose usage errors {@link runProgram} tells; commands that are added later take that over. */
export function createProgram(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .showHelpAfterError(`(add --help to see how ${name} is used)`);
}

/** Parses the arguments and runs the command. Wrong ones are exit code 2 and, with `--json`, one JSON object on stdout. */
export async function runProgram(program: Command): Promise<void> {
  process.stdout.on('error', endUnheard);
  await runCommand(program, process.argv.slice(2));
}

/** {@link runProgram} for a process that goes on afterwards: it leaves the exit code in `process.exitCode` and ends nothing. */
export async function runCommand(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has already told people on stderr; an asked-for `--help` ends here too, with 0.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error.exitCode !== 0 && wantsJson(args))
      process.stdout.write(failureLine('UsageError', plain(error)));
  }
}

/** Whoever read stdout has gone, as `head` does: what would go on for ever ends as by Ctrl-C, everything else at once. */
function endUnheard(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  if (!process.emit('SIGINT', 'SIGINT')) process.exit();
}

function plain({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'no command was named' : message.replace(/^error: /, '');
}
