import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this module, and so every program beside it, runs compiled from `dist`. */
const BUILT = import.meta.url.endsWith('.js');

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** What {@link ManagedProcess} and `spawn` need to start a program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
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
  flags: readonly string[] = [],
): Program {
  const path = fileURLToPath(source);
  const compiled = compiledProgram(path);
  const run = compiled === undefined ? ['--import', tsx(), path] : [compiled];
  return { command: process.execPath, args: ['--enable-source-maps', ...flags, ...run, ...args] };
}

/** In `dist` the program beside this module; from source the one in the directory `COMPILED_PROGRAMS`, if it is there. */
function compiledProgram(path: string): string | undefined {
  const name = path.replace(/\.ts$/, '.js');
  if (BUILT) return name;
  const { COMPILED_PROGRAMS: directory } = process.env;
  if (!directory) return undefined;
  const compiled = join(directory, relative(REPOSITORY, name));
  return existsSync(compiled) ? compiled : undefined;
}

function tsx(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
}
