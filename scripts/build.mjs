// `node scripts/build.mjs [directory]`: the compiled programs, and the workflows as one bundle that production workers load.
// The directory is `dist` where none is named; it must be inside the repository, where its packages are found.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapOrExit } from './bootstrap.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = resolve(ROOT, process.argv[2] ?? 'dist');

await bootstrapOrExit({ temporal: false });
rmSync(DIST, { recursive: true, force: true });
const windows = process.platform === 'win32';
const tsc = join(ROOT, 'node_modules', '.bin', windows ? 'tsc.cmd' : 'tsc');
const { status } = spawnSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', DIST], {
  cwd: ROOT,
  stdio: 'inherit',
  shell: windows,
});
if (status !== 0) process.exit(status ?? 1);
cpSync(join(ROOT, 'src'), DIST, {
  recursive: true,
  filter: (source) => source.endsWith('.mjs') || statSync(source).isDirectory(),
});

const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
const { code } = await bundleWorkflowCode({
  workflowsPath: join(DIST, 'workflows', 'index.js'),
  logger: new DefaultLogger('WARN'),
});
writeFileSync(join(DIST, 'workflow-bundle.js'), code);
process.stderr.write(`sluice: built ${DIST}\n`);
