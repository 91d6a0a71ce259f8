import { SluiceError } from '../client/client.ts';
import { isDomainError, messageOf } from '../domain/errors.ts';
import { exitCodeOf } from './exit.ts';
import { failureLine } from './failure-line.mjs';

/** Output of a command. In JSON format progress goes to stderr, and stdout ends with one JSON object. */
export interface Output {
  progress(line: string): void;
  result(json: object, text: string): void;
}

function createOutput(json: boolean): Output {
  return {
    progress: (line) => (json ? process.stderr : process.stdout).write(`${line}\n`),
    result: (value, text) => process.stdout.write(`${json ? jsonOf(value) : text}\n`),
  };
}

/** Output format: `-o` of the product's commands, `--json` of the development kit, benches and chaos runs. */
export interface OutputOptions {
  readonly output?: 'table' | 'json' | undefined;
  readonly json?: boolean | undefined;
}

export const JSON_OPTION = ['--json', 'Print one JSON object'] as const;
export const JSON_AND_PROGRESS_OPTION = [
  '--json',
  'Print progress to stderr, and one JSON object as the last line of stdout',
] as const;

/** `value` as JSON: bigints become decimal strings, times ISO-8601. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? field.toString() : field,
  );
}

/** Runs a command. Prints an error as one line on stderr and sets the exit code. Never rejects. */
export async function run(options: OutputOptions, body: (output: Output) => Promise<number>): Promise<void> {
  const json = options.json === true || options.output === 'json';
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
