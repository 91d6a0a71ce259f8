// `node scripts/build.mjs [--as-installed] [directory] [project] [timeouts]`: the compiled programs, and the workflows as one bundle that
// workers load. `--as-installed` installs no packages and checks no types: a production installation has no types of packages.
// The directory is `dist` where none is named; any other must be in `.sluice`, as it is deleted first. The project is
// `tsconfig.build.json` where none is named; a wider one keeps `src` as a directory of its own. `timeouts` names a compiled module of
// that project that replaces `domain/timeouts.js`.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapOrExit } from './bootstrap.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const asInstalled = process.argv[2] === '--as-installed';
const [directory = 'dist', project = 'tsconfig.build.json', timeouts] = process.argv.slice(
  asInstalled ? 3 : 2,
);
const DIST = resolve(ROOT, directory);

if (!asInstalled) await bootstrapOrExit({ temporal: false, peers: false });
if (DIST !== join(ROOT, 'dist') && !DIST.startsWith(join(ROOT, '.sluice') + sep))
  throw new Error(
    `cannot build into ${DIST}, because the build deletes it first: use dist, or a directory in .sluice`,
  );
rmSync(DIST, { recursive: true, force: true });
const windows = process.platform === 'win32';
const tsc = join(ROOT, 'node_modules', '.bin', windows ? 'tsc.cmd' : 'tsc');
const { status } = spawnSync(tsc, ['-p', project, '--outDir', DIST, ...(asInstalled ? ['--noCheck'] : [])], {
  cwd: ROOT,
  stdio: 'inherit',
  shell: windows,
});
if (status !== 0) process.exit(status ?? 1);
const SRC = existsSync(join(DIST, 'src')) ? join(DIST, 'src') : DIST;
copyModules('src', SRC);
// A project that compiles the development kit as well compiles it beside.
if (existsSync(join(DIST, 'devkit'))) copyModules('devkit', join(DIST, 'devkit'));
if (timeouts !== undefined) cpSync(join(DIST, timeouts), join(SRC, 'domain', 'timeouts.js'));

const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
const workflowsPath = join(SRC, 'workflows', 'index.js');
const { code } = await bundleWorkflowCode({
  workflowsPath,
  // The same options as in src/platform/roles/workflow-source.ts.
  preloadModules: [workflowsPath],
  logger: new DefaultLogger('WARN'),
});
writeFileSync(join(SRC, 'workflow-bundle.js'), code);
process.stderr.write(`sluice: built ${DIST}\n`);

/** The modules that are written in JavaScript. @param {string} from @param {string} to */
function copyModules(from, to) {
  cpSync(join(ROOT, from), to, {
    recursive: true,
    filter: (source) => source.endsWith('.mjs') || statSync(source).isDirectory(),
  });
}
