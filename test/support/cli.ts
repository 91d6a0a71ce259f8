import { type ChildProcess, spawn } from 'node:child_process';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { COMPILED } from './compiled.ts';

/** How a command ended, and its output. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandResult>;
  /** Its output until now. */
  stdout(): string;
  stderr(): string;
}

/** The working directory of a command, and its settings besides PATH. */
export interface ProcessOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts the real `sluice` as a process of its own. */
export function startSluice(args: readonly string[], surroundings?: ProcessOptions): RunningCommand {
  return start(new URL('../../src/cli.ts', import.meta.url), args, surroundings);
}

/** {@link startSluice} with the commands for development: `dev`, `demo` and `x402 buy`. */
export function startDevelopment(args: readonly string[], surroundings?: ProcessOptions): RunningCommand {
  return start(new URL('../../devkit/main.ts', import.meta.url), args, surroundings);
}

function start(source: URL, args: readonly string[], { cwd, env = {} }: ProcessOptions = {}): RunningCommand {
  const program = nodeProgram(source, args, COMPILED);
  const child = spawn(program.command, program.args, {
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<CommandResult>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, ended, stdout: () => stdout, stderr: () => stderr };
}

/** Runs {@link startSluice} to its end. */
export function runSluice(args: readonly string[], surroundings?: ProcessOptions): Promise<CommandResult> {
  return startSluice(args, surroundings).ended;
}

/** Runs any program of Sluice, named by the URL of its source, to its end. */
export function runProgram(
  source: URL,
  args: readonly string[],
  surroundings?: ProcessOptions,
): Promise<CommandResult> {
  return start(source, args, surroundings).ended;
}

/** The JSON object at the end of the output of a command that prints JSON. */
export function jsonOf({ stdout }: Pick<CommandResult, 'stdout'>): unknown {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}
