import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this module, and so every program beside it, runs compiled from `dist`. */
const BUILT = import.meta.url.endsWith('.js');

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/** Where the programs that run from their sources were compiled to, if they were. */
export interface Compiled {
  /** A directory with the tree of the repository; what it lacks is run from its source. */
  readonly compiledIn?: string | undefined;
}

/**
 * How to run a program of Sluice, named by the URL of its source, in one process: a signal to it reaches the program itself and no
 * wrapper. A compiled program runs as it is, so that the development tools need not be installed.
 *
 * @param flags for Node.js itself
 */
export function nodeProgram(
  source: URL,
  args: readonly string[] = [],
  { flags = [], compiledIn }: Compiled & { readonly flags?: readonly string[] } = {},
): Program {
  const path = fileURLToPath(source);
  const compiled = compiledProgram(path, compiledIn);
  const run = compiled === undefined ? ['--import', tsx(), path] : [compiled];
  return { command: process.execPath, args: ['--enable-source-maps', ...flags, ...run, ...args] };
}

function compiledProgram(path: string, directory: string | undefined): string | undefined {
  const name = path.replace(/\.ts$/, '.js');
  if (BUILT) return name;
  if (directory === undefined) return undefined;
  const compiled = join(directory, relative(REPOSITORY, name));
  return existsSync(compiled) ? compiled : undefined;
}

function tsx(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
}
