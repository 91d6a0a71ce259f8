import { vi } from 'vitest';
import type { CommandResult, ProcessOptions } from './cli.ts';

/** Settles when all earlier commands have ended. */
let before: Promise<unknown> = Promise.resolve();

/**
 * Runs the command `sluice` inside this process: for tests of what it does and prints. Calls run one after another, because a command
 * reads the environment and the working directory of its process. A test of signals, pipes or the end of a process starts a real one.
 */
export function callSluice(
  args: readonly string[],
  surroundings: ProcessOptions = {},
): Promise<CommandResult> {
  const ended = before.then(() => call(args, surroundings));
  before = ended.catch(() => undefined);
  return ended;
}

async function call(args: readonly string[], { cwd, env }: ProcessOptions): Promise<CommandResult> {
  const { exitCode, env: own } = process;
  const directory = process.cwd();
  const stdout = capture(process.stdout);
  const stderr = capture(process.stderr);
  try {
    process.env = { PATH: own.PATH, NO_COLOR: '1', ...env };
    process.exitCode = undefined;
    if (cwd !== undefined) process.chdir(cwd);
    await run(args);
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.env = own;
    process.exitCode = exitCode;
    process.chdir(directory);
    stdout.release();
    stderr.release();
  }
}

/** Loads the command after its environment is set: its first load decides on colours. */
async function run(args: readonly string[]): Promise<void> {
  const [{ runCommand }, { sluiceProgram }] = await Promise.all([
    import('../../src/cli/program.ts'),
    import('../../src/cli/sluice.ts'),
  ]);
  await runCommand(sluiceProgram(), args);
}

/** Collects writes to a stream of this process, in place of writing them. */
function capture(stream: NodeJS.WriteStream) {
  let text = '';
  const write = vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    text += chunk.toString();
    return true;
  });
  return { text: () => text, release: () => write.mockRestore() };
}
