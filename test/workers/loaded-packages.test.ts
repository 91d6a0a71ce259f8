import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keypairFile } from '../../devkit/localstack/keypair.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { apiProcess, workerProcess } from '../../devkit/localstack/services.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { testEnvironment } from '../support/stack.ts';
import { temporalAt } from '../support/temporal.ts';

const PRELOADED = `--import=${new URL('../support/loaded-packages.mjs', import.meta.url).href}`;

vi.setConfig({ testTimeout: 180_000 });

/** The environment of one process that runs from its source, and the packages that it loaded until its end. */
function traced(settings: NodeJS.ProcessEnv) {
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-loaded-'));
  onTestFinished(() => rmSync(logDir, { recursive: true }));
  const LOADED_PACKAGES = join(logDir, 'packages.json');
  const env = { ...testEnvironment(), ...settings, NODE_OPTIONS: PRELOADED, LOADED_PACKAGES };
  return { logDir, env, packages: () => JSON.parse(readFileSync(LOADED_PACKAGES, 'utf8')) as string[] };
}

test('the signer process loads no database client and no HTTP server', async () => {
  const { address, namespace, env: temporal } = await freshNamespace('signer');
  const { packages, logDir, env } = traced(temporal);
  const keys = { SLUICE_SIGNER_KEY_FILE: keypairFile(join(logDir, 'hot.json')).path };
  const context = { connection: temporalAt(address), namespace, logDir, env: { ...env, ...keys } };
  const signer = workerProcess(context, 'signer', 'signer');
  await signer.start();
  await signer.stop();
  expect(packages()).toContain('@temporalio/worker');
  for (const name of ['pg', 'fastify', 'litesvm']) expect(packages()).not.toContain(name);
});

test('the same trace of the API contains both', async () => {
  const [database, { env: temporal }] = await Promise.all([freshDatabase(), freshNamespace('api')]);
  onTestFinished(() => database.drop());
  const port = String(await freePort());
  const traces = traced({ ...temporal, DATABASE_URL: database.url, SLUICE_HTTP_PORT: port });
  const api = apiProcess(traces, `http://127.0.0.1:${port}`);
  await api.start();
  await api.stop();
  expect(traces.packages()).toEqual(expect.arrayContaining(['pg', 'fastify']));
});
