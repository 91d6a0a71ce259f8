import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this module, and so every program beside it, runs compiled from `dist`. */
const BUILT = import.meta.url.endsWith('.js');

/** What {@link ManagedProcess} and `spawn` need to start a program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * How to run a program of Sluice, named by the URL of its source, in one process: a signal to it reaches the program itself and no
 * wrapper. In `dist` the compiled program runs as it is, so that the development tools need not be installed.
 *
 * @param flags for Node.js itself
 */
export function nodeProgram(
  source: URL,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): Program {
  const path = fileURLToPath(source);
  const run = BUILT ? [path.replace(/\.ts$/, '.js')] : ['--import', tsx(), path];
  return { command: process.execPath, args: ['--enable-source-maps', ...flags, ...run, ...args] };
}

function tsx(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
}
