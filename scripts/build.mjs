// `dist/`: the compiled programs, and the workflows as one bundle that production workers load.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapOrExit } from './bootstrap.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(ROOT, 'dist');

await bootstrapOrExit({ temporal: false });
rmSync(DIST, { recursive: true, force: true });
const windows = process.platform === 'win32';
const tsc = join(ROOT, 'node_modules', '.bin', windows ? 'tsc.cmd' : 'tsc');
const { status } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], {
  cwd: ROOT,
  stdio: 'inherit',
  shell: windows,
});
if (status !== 0) process.exit(status ?? 1);

const { bundleWorkflowCode } = await import('@temporalio/worker');
const { code } = await bundleWorkflowCode({ workflowsPath: join(DIST, 'workflows', 'index.js') });
mkdirSync(DIST, { recursive: true });
writeFileSync(join(DIST, 'workflow-bundle.js'), code);
process.stderr.write(`sluice: built ${DIST}\n`);
