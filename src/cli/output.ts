import { SluiceError } from '../client/client.ts';
import { isDomainError, messageOf } from '../domain/errors.ts';
import { exitCodeOf } from './exit.ts';
import { failureLine } from './last-word.mjs';

/**
 * Where a command speaks: people read stdout; with `--json`, progress goes to stderr and stdout ends with one JSON object, `ok: false`
 * in it for a failure.
 */
export interface Output {
  progress(line: string): void;
  result(json: object, text: string): void;
}

export function createOutput(json: boolean): Output {
  return {
    progress: (line) => (json ? process.stderr : process.stdout).write(`${line}\n`),
    result: (value, text) => process.stdout.write(`${json ? JSON.stringify(value) : text}\n`),
  };
}

/** For commands that have nothing to tell on the way. */
export const JSON_OPTION = ['--json', 'one JSON object on stdout'] as const;
/** For commands that take their time. */
export const JSON_AND_PROGRESS_OPTION = [
  '--json',
  'progress to stderr, one JSON object as the last line of stdout',
] as const;

/** Runs a command's body, and turns what it throws into one line on stderr and an exit code. Resolves always. */
export async function run(
  { json = false }: { readonly json?: boolean | undefined },
  body: (output: Output) => Promise<number>,
): Promise<void> {
  const output = createOutput(json);
  try {
    process.exitCode = await body(output);
  } catch (error) {
    const code = codeOf(error);
    const message = messageOf(error);
    process.stderr.write(`sluice: ${message}\n`);
    if (json) process.stdout.write(failureLine(code, message));
    process.exitCode = exitCodeOf(error);
  }
}

function codeOf(error: unknown): string {
  if (error instanceof SluiceError || isDomainError(error)) return error.code;
  return error instanceof Error ? error.name : 'Error';
}
