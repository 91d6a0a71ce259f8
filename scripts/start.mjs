// `node scripts/start.mjs <worker|server> [argument…]`: runs the program of `dist/` in this process. If nothing is built yet, as after
// `npm ci --omit=dev` on a fresh clone, it builds first, with the packages that are installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [, , name = 'worker'] = process.argv;
const program = join(ROOT, 'dist', `${name}.js`);

if (!existsSync(program)) {
  const build = [join(ROOT, 'scripts', 'build.mjs'), '--as-installed'];
  const { status } = spawnSync(process.execPath, build, { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}
process.argv.splice(1, 2, program);
await import(pathToFileURL(program).href);
