import { Command, CommanderError, Help } from '@commander-js/extra-typings';
import { EXIT } from './exit.ts';
import { failureLine, wantsJson } from './failure-line.mjs';

const OPTIONS = 'Options:';

/** A program without commands, whose usage errors {@link runProgram} reports. Commands that are added later inherit its settings. */
export function createProgram(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .helpOption('-h, --help', 'Print help')
    .configureHelp({ groupItems: ownOptionsFirst })
    .showHelpAfterError(`(add --help for the usage of ${name})`);
}

/** Parses the arguments and runs the command. For invalid arguments it sets exit code 2 and, for JSON output, prints JSON. */
export async function runProgram(program: Command): Promise<void> {
  process.stdout.on('error', endOnBrokenPipe);
  await runCommand(program, process.argv.slice(2));
}

/** {@link runProgram} for a process that continues afterwards: sets `process.exitCode` but does not exit. */
export async function runCommand(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has already printed the message to stderr. `--help` and `--version` also throw, with exit code 0.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error.exitCode !== 0 && wantsJson(args))
      process.stdout.write(failureLine('UsageError', plain(error)));
  }
}

/** Ends the program if the reader of stdout, such as `head`, has closed it: as by Ctrl-C if a command handles that. */
function endOnBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  if (!process.emit('SIGINT', 'SIGINT')) process.exit();
}

function plain({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'a command is required' : message.replace(/^error: /, '');
}

/** In the help, a command's own options precede the common ones. */
const ownOptionsFirst: Help['groupItems'] = (unsorted, visible, groupOf) =>
  new Help().groupItems(
    unsorted.toSorted((a, b) => Number(groupOf(b) === OPTIONS) - Number(groupOf(a) === OPTIONS)),
    visible,
    groupOf,
  );
