import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { startStack } from '../../devkit/localstack/stack.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { testEnvironment } from '../support/stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
/** Inside the repository, where compiled programs find its packages; `src` has what `npm run build` puts into `dist`. */
let built: string;
let stateDir: string;

vi.setConfig({ testTimeout: 240_000 });
beforeAll(async () => {
  mkdirSync(`${ROOT}.sluice`, { recursive: true });
  built = mkdtempSync(`${ROOT}.sluice/built-`);
  stateDir = mkdtempSync(join(tmpdir(), 'sluice-built-'));
  await run(process.execPath, ['scripts/build.mjs', join(built, 'src')], { cwd: ROOT });
});
afterAll(() => {
  for (const directory of [built, stateDir])
    if (directory !== undefined) rmSync(directory, { recursive: true });
});

test('the compiled worker, signer, API and command line pay a withdrawal', async () => {
  const worker = nodeProgram(new URL('../../src/worker.ts', import.meta.url), [], { compiledIn: built });
  expect(worker.args.at(-1)).toBe(join(built, 'src/worker.js'));
  const [database, { env }] = await Promise.all([freshDatabase(), freshNamespace('built')]);
  const settings = { ...testEnvironment(), ...env, DATABASE_URL: database.url };
  const stack = await startStack({ compiledIn: built, stateDir, slotMs: 200, env: settings });
  try {
    const terms = ['--id', 'built', '--asset', 'SOL', '--amount', '0.02', '--to', newAddress()];
    const pay = ['withdrawals', 'create', ...terms, '--accept-empty-wallet', '--wait', '-o', 'json'];
    const { stdout } = await run(process.execPath, [join(built, 'src/cli.js'), ...pay], {
      env: { PATH: process.env.PATH, SLUICE_API_URL: stack.apiUrl, SLUICE_API_KEY: stack.apiKey },
    });
    expect(JSON.parse(stdout)).toMatchObject({ id: 'built', status: 'finalized' });
  } finally {
    await stack.close();
    await database.drop();
  }
});
