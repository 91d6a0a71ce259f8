import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** How to run a program of `src/` in one process: a signal to it reaches the program itself and no wrapper. */
export function sourceProgram(
  file: string,
  args: readonly string[] = [],
): { command: string; args: readonly string[] } {
  const path = fileURLToPath(new URL(`../../src/${file}`, import.meta.url));
  return { command: process.execPath, args: ['--enable-source-maps', '--import', TSX, path, ...args] };
}
