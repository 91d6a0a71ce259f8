import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundlePrograms } from './bundle.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let directory: string | undefined;

/** Compiles every program that tests start, once: from its source each process would compile itself and the workflows for seconds. */
export async function setup(): Promise<void> {
  const place = join(ROOT, '.sluice');
  mkdirSync(place, { recursive: true });
  directory = mkdtempSync(join(place, 'programs-'));
  // Also where a person ends the run early.
  process.once('exit', teardown);
  const build = [
    'scripts/build.mjs',
    directory,
    'test/tsconfig.programs.json',
    'test/support/short-timeouts.js',
  ];
  await promisify(execFile)(process.execPath, build, { cwd: ROOT });
  await bundlePrograms(directory);
  process.env.COMPILED_PROGRAMS = directory;
}

export function teardown(): void {
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
}
