import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { developmentPool, openDeposits } from '../../devkit/demo/development-pool.ts';
import { mintsOf } from '../../devkit/localstack/chain.ts';
import { devFacts, writeDevFile } from '../../devkit/localstack/dev-file.ts';
import type { Deposit } from '../../src/client/client.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { blocksOf, ROOT } from './readme-blocks.ts';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const TSX = import.meta.resolve('tsx');
const HAS_CURL = spawnSync('curl', ['--version']).status === 0;
const run = promisify(execFile);

const [curl = '', typescript = '', commandLine = ''] = blocksOf('The first withdrawal');
const [depositCurl = '', tokenCurl = '', depositTypescript = '', depositCommandLine = ''] =
  blocksOf('The first deposit');

let live: TestStack;
/** A place outside the repository, with `.sluice/dev.json` of a running stack. */
let directory: string;

beforeAll(async () => {
  live = await testStack();
  directory = mkdtempSync(join(tmpdir(), 'sluice-readme-'));
  const pool = await developmentPool(join(directory, '.sluice/keys'), () => undefined);
  await openDeposits(live.sluice, pool, live.stack.chainInfo, new AbortController().signal);
  const facts = devFacts(live.stack, { deposits: pool, webhooksToPrivate: false });
  writeDevFile(facts, join(directory, '.sluice/dev.json'));
});
// The package is built, and each program is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });
afterAll(async () => {
  await live?.close();
  if (directory !== undefined) rmSync(directory, { recursive: true });
});

test.skipIf(!HAS_CURL)('the curl lines pay the first withdrawal', async () => {
  const { stdout } = await run('sh', ['-c', curl], { cwd: directory });
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(answers).toMatchObject([
    { id: 'first', status: 'requested' },
    { id: 'first', amount: '1500000000' },
  ]);
  expect((await live.sluice.waitForFinal('first')).status).toBe('finalized');
});

/** What a user has, once so much is final. */
async function finalDeposits(userRef: string, count = 1): Promise<readonly Deposit[]> {
  const found: Deposit[] = [];
  for await (const { deposit } of live.sluice.deposits.events({ userRef, state: 'final', pollMs: 100 }))
    if (found.push(deposit) === count) break;
  return found;
}

test.skipIf(!HAS_CURL)('the curl lines bring the first deposit, and the command line shows it', async () => {
  const { stdout } = await run('sh', ['-c', `${depositCurl}\n${tokenCurl}`], { cwd: directory });
  const [given = '', paid = '', listed = '', minted = ''] = stdout.trim().split('\n');
  const { address } = JSON.parse(given) as { address: string };
  const { result } = JSON.parse(paid) as { result: string };
  expect(JSON.parse(listed)).toHaveProperty('deposits');
  const { mint } = mintsOf(live.stack.chainInfo);
  expect(await finalDeposits('user-17', 2)).toMatchObject([
    { wallet: address, signature: result, asset: 'SOL', amount: '5000000', state: 'final' },
    { wallet: address, asset: mint, amount: '2500000', state: 'final' },
  ]);
  expect(JSON.parse(minted)).toHaveProperty('result');

  const env = { ...process.env, SLUICE_API_URL: live.stack.apiUrl, SLUICE_API_KEY: live.stack.apiKey };
  const shown = await run('sh', ['-c', depositCommandLine], { cwd: ROOT, env });
  expect(shown.stdout).toContain((await live.sluice.depositAddresses.ofUser('user-19')).address);
  expect(shown.stdout).toMatch(new RegExp(`final {2}5000000 +SOL +user-17 {2}dep_\\S+ {2}${result}\n`));
});

/** Runs a program of README as a package beside ours would be, by its name and with its types. */
async function runTypescript(name: string, program: string): Promise<readonly string[]> {
  const path = `.sluice/${name}`;
  writeFileSync(join(directory, path), program);
  const options = ['--noEmit', '--strict', '--types', 'node', '--target', 'es2023', '--module', 'nodenext'];
  await run(process.execPath, [TSC, ...options, path], { cwd: directory });
  const { stdout } = await run(process.execPath, ['--import', TSX, path], { cwd: directory });
  return stdout.trim().split('\n');
}

test('the TypeScript programs pay and see a deposit through the built package, by its name and with its types', async () => {
  const installed = join(directory, 'node_modules/sluice');
  await run(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', join(installed, 'dist')], {
    cwd: ROOT,
  });
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  mkdirSync(join(directory, 'node_modules/@types'));
  for (const types of ['@types/node', 'undici-types'])
    cpSync(join(ROOT, 'node_modules', types), join(directory, 'node_modules', types), { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');

  const paid = await runTypescript('second.ts', typescript);
  const { attempts } = await live.sluice.get('second');
  expect(paid.slice(-2)).toEqual(['finalized', attempts[0]?.signature]);

  const deposited = await runTypescript('deposit.ts', depositTypescript);
  const [deposit] = await finalDeposits('user-18');
  expect(deposited.at(-1)).toContain(`final 6000000 SOL ${deposit?.signature}`);
});

test('the command line pays the third and waits for it', async () => {
  const env = { ...process.env, SLUICE_API_URL: live.stack.apiUrl, SLUICE_API_KEY: live.stack.apiKey };
  const { stdout } = await run('sh', ['-c', commandLine], { cwd: ROOT, env });
  expect(stdout).toContain('third  finalized');
});
