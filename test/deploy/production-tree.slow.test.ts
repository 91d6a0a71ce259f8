import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { startStack } from '../../devkit/localstack/stack.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { testEnvironment } from '../support/stack.ts';
import { copyWorkingTree, npmEnvironment } from '../support/working-tree.ts';

const run = promisify(execFile);
/** Outside of the repository, so that no program finds a package of the repository. */
let place: string;
let installed: string;
/** Its `src` is the `dist` of the installation. */
let compiledIn: string;

vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'sluice-production-'));
  installed = join(place, 'sluice');
  compiledIn = join(place, 'compiled');
  await copyWorkingTree(installed);
  await run('npm', ['ci', '--omit=dev'], { cwd: installed, env: npmEnvironment() });
  mkdirSync(compiledIn);
  symlinkSync(join(installed, 'dist'), join(compiledIn, 'src'));
});
afterAll(() => {
  if (place !== undefined) rmSync(place, { recursive: true });
});

test('`npm run worker` of a production installation builds, starts, and names the setting that is missing', async () => {
  const worker = run('npm', ['run', 'worker'], { cwd: installed, env: npmEnvironment() });
  await expect(worker).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^sluice: built .*dist\nsluice: DATABASE_URL must be set/m),
  });
});

test('the worker, signer, API and command line of a production installation pay a withdrawal', async () => {
  const worker = nodeProgram(new URL('../../src/worker.ts', import.meta.url), [], { compiledIn });
  expect(worker.args.at(-1)).toBe(join(compiledIn, 'src/worker.js'));
  const [database, { env }] = await Promise.all([freshDatabase(), freshNamespace('production')]);
  const settings = { ...testEnvironment(), ...env, DATABASE_URL: database.url };
  const stack = await startStack({ compiledIn, stateDir: join(place, 'state'), slotMs: 200, env: settings });
  try {
    const terms = ['--id', 'production', '--asset', 'SOL', '--amount', '0.02', '--to', newAddress()];
    const pay = ['withdrawals', 'create', ...terms, '--accept-empty-wallet', '--wait', '-o', 'json'];
    const { stdout } = await run(process.execPath, [join(installed, 'dist/cli.js'), ...pay], {
      env: { PATH: process.env.PATH, SLUICE_API_URL: stack.apiUrl, SLUICE_API_KEY: stack.apiKey },
    });
    expect(JSON.parse(stdout)).toMatchObject({ id: 'production', status: 'finalized' });
  } finally {
    await stack.close();
    await database.drop();
  }
});
