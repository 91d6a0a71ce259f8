import { execFile } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { testEnvironment } from './stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Copies the files of the working tree that Git does not ignore, and removes deleted files from `directory`. */
export async function copyWorkingTree(directory: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', args, { cwd: ROOT, maxBuffer: 64_000_000 });
  for (const path of stdout.split('\0').filter((each) => each !== '')) {
    rmSync(join(directory, path), { force: true });
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(directory, path));
  }
}

/** Without the variables of the npm that runs this test, and with npm's cache in place of the registry where it has a package. */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(testEnvironment()).filter(
    ([name]) => !/^npm_(?!config_)|^npm_config_(local|global)_prefix$/.test(name),
  );
  return { ...Object.fromEntries(own), NO_COLOR: '1', npm_config_prefer_offline: 'true' };
}
