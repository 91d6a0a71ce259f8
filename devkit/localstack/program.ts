import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this module, and thus every program in the tree, is compiled to JavaScript. */
const IS_COMPILED = import.meta.url.endsWith('.js');

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

export interface CompiledPrograms {
  /** A directory with the compiled tree of the repository. Programs that are missing there run from their source. */
  readonly compiledIn?: string | undefined;
}

/**
 * The command that runs a program of Sluice in one process, so that a signal reaches the program and not a wrapper. A compiled program
 * runs without tsx, which is a development dependency.
 *
 * @param source URL of the program's source
 * @param args arguments of the program; `flags` are those of Node.js
 */
export function nodeProgram(
  source: URL,
  args: readonly string[] = [],
  { flags = [], compiledIn }: CompiledPrograms & { readonly flags?: readonly string[] } = {},
): Program {
  const path = fileURLToPath(source);
  const compiled = compiledProgram(path, compiledIn);
  const entry = compiled === undefined ? ['--import', tsx(), path] : [compiled];
  return { command: process.execPath, args: ['--enable-source-maps', ...flags, ...entry, ...args] };
}

function compiledProgram(path: string, directory: string | undefined): string | undefined {
  const name = path.replace(/\.ts$/, '.js');
  if (IS_COMPILED) return name;
  if (directory === undefined) return undefined;
  const compiled = join(directory, relative(REPOSITORY, name));
  return existsSync(compiled) ? compiled : undefined;
}

function tsx(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
}
