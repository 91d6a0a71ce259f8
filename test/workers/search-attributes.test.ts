import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { freePort } from '../../src/localstack/ports.ts';
import { ManagedProcess } from '../../src/localstack/process.ts';
import { workerProcess } from '../../src/localstack/services.ts';
import { ensureTemporalCli } from '../../src/localstack/temporal-cli.mjs';
import { Closers } from '../../src/platform/shutdown.ts';
import { SEARCH_ATTRIBUTES } from '../../src/workflows/search-attributes.ts';
import { COMPILED } from '../support/compiled.ts';
import { freshDatabase } from '../support/postgres.ts';
import { newWallet, testEnvironment } from '../support/stack.ts';

const KEYWORD = 2;

/** A Temporal server that knows no search attribute of ours. */
async function bareTemporal(logDir: string, closers: Closers): Promise<Connection> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const args = ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)];
  const server = new ManagedProcess({
    name: 'temporal',
    command: await ensureTemporalCli(),
    args: [...args, '--log-level', 'warn'],
    logFile: join(logDir, 'temporal.log'),
    ready: () => answers(address),
  });
  closers.add('Temporal', () => server.stop());
  await server.start();
  const connection = await Connection.connect({ address });
  closers.add('Temporal connection', () => connection.close());
  return connection;
}

async function answers(address: string): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: '2s' }).catch(() => null);
  const namespace = connection?.workflowService.describeNamespace({ namespace: 'default' });
  const known = await namespace?.then(() => true).catch(() => false);
  await connection?.close();
  return known ?? false;
}

async function registered(connection: Connection): Promise<Readonly<Record<string, number>>> {
  const request = { namespace: 'default' };
  return (await connection.operatorService.listSearchAttributes(request)).customAttributes;
}

async function startWorker(connection: Connection, localnet: Localnet, logDir: string, closers: Closers) {
  const database = await freshDatabase();
  closers.add('database', () => database.drop());
  const env = {
    ...testEnvironment(),
    TEMPORAL_ADDRESS: connection.options.address,
    DATABASE_URL: database.url,
    SLUICE_RPC_URLS: localnet.rpcUrls.join(','),
    SLUICE_HOT_WALLET: newWallet(),
  };
  const worker = workerProcess(
    { connection, namespace: 'default', env, logDir, ...COMPILED },
    'worker',
    'chain',
  );
  closers.add('worker', () => worker.stop());
  await worker.start();
}

test('a worker registers the search attributes where the server has none', async () => {
  const closers = new Closers();
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-attributes-'));
  closers.add('logs', async () => rmSync(logDir, { recursive: true, force: true }));
  try {
    const connection = await bareTemporal(logDir, closers);
    const names = SEARCH_ATTRIBUTES.map(({ name }) => name);
    expect(Object.keys(await registered(connection))).not.toEqual(expect.arrayContaining(names));
    const localnet = await startLocalnet({ slotMs: 50, finalityLag: 4 });
    closers.add('chain', () => localnet.close());
    await startWorker(connection, localnet, logDir, closers);
    const expected = Object.fromEntries(names.map((name) => [name, KEYWORD]));
    await expect.poll(() => registered(connection), { timeout: 20_000 }).toMatchObject(expected);
  } finally {
    await closers.close();
  }
}, 240_000);
