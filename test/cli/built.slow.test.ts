import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SluiceClient } from '../../src/client/client.ts';
import type { DevFacts } from '../../src/localstack/dev-file.ts';
import { freePort } from '../../src/localstack/ports.ts';
import { newWallet, testEnvironment } from '../support/stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Inside the repository, where compiled programs find its packages. */
let dist: string;

vi.setConfig({ testTimeout: 240_000 });
beforeAll(async () => {
  mkdirSync(`${ROOT}.sluice`, { recursive: true });
  dist = mkdtempSync(`${ROOT}.sluice/built-`);
  await promisify(execFile)(process.execPath, ['scripts/build.mjs', dist], { cwd: ROOT });
});
afterAll(() => {
  if (dist !== undefined) rmSync(dist, { recursive: true });
});

test('the compiled command runs the whole stack: it pays, gives out addresses and takes a local webhook', async () => {
  const dev = spawn(process.execPath, [`${dist}/cli.js`, 'dev', '--json'], {
    cwd: dist,
    env: { ...testEnvironment(), SLUICE_HTTP_PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  dev.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise((resolve) => dev.once('close', resolve));
  try {
    const { value } = await createInterface({ input: dev.stdout })[Symbol.asyncIterator]().next();
    const {
      apiUrl: baseUrl,
      apiKey,
      mints,
      deposits,
      webhooksToPrivate,
    } = JSON.parse(value ?? '') as DevFacts;
    const sluice = new SluiceClient({ baseUrl, apiKey });
    const terms = { id: 'built', asset: 'SOL', amount: '20000000', destination: newWallet() };
    await sluice.withdraw({ ...terms, acceptEmptyWallet: true });
    const { address } = await sluice.depositAddresses.assign('somebody');
    expect(readFileSync(deposits?.manifestFile ?? '', 'utf8')).toContain(address);
    expect(statSync(deposits?.mnemonicFile ?? '').mode & 0o777).toBe(0o600);
    const listed = (await sluice.assets.list()).map(({ asset }) => asset);
    expect(listed).toEqual(expect.arrayContaining(['SOL', ...Object.values(mints)]));
    expect(webhooksToPrivate).toBe(true);
    const { url } = await sluice.webhooks.put('http://127.0.0.1:9/hooks', ['deposit.*']);
    expect(url).toContain('127.0.0.1');
    expect((await sluice.waitForFinal('built')).status).toBe('finalized');
  } finally {
    dev.kill('SIGTERM');
  }
  expect(await ended, said).toBe(0);
  expect(said).toMatch(/\nstopping\nstopped\n$/);
  expect(readdirSync(`${dist}/.sluice/keys`)).toContain('api-key');
});
