import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { startLocalnet } from '../../devkit/localnet/localnet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { workerProcess } from '../../devkit/localstack/services.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import { SEARCH_ATTRIBUTES } from '../../src/workflows/search-attributes.ts';
import { COMPILED } from '../support/compiled.ts';
import { namespaceWithoutAttributes, type TestNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { testEnvironment } from '../support/stack.ts';

const KEYWORD = 2;

async function registered(
  connection: Connection,
  { namespace }: TestNamespace,
): Promise<Readonly<Record<string, number>>> {
  return (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes;
}

async function startWorker(connection: Connection, place: TestNamespace, logDir: string, closers: Closers) {
  const localnet = await startLocalnet({ slotMs: 50, finalityLag: 4 });
  closers.add('chain', () => localnet.close());
  const database = await freshDatabase();
  closers.add('database', () => database.drop());
  const env = {
    ...testEnvironment(),
    ...place.env,
    DATABASE_URL: database.url,
    SLUICE_RPC_URLS: localnet.rpcUrls.join(','),
    SLUICE_HOT_WALLET: newAddress(),
  };
  const worker = workerProcess(
    { connection, namespace: place.namespace, env, logDir, ...COMPILED },
    'worker',
    'chain',
  );
  closers.add('worker', () => worker.stop());
  await worker.start();
}

test('a worker registers the search attributes where the namespace has none', async () => {
  const closers = new Closers();
  const logDir = mkdtempSync(join(tmpdir(), 'sluice-attributes-'));
  closers.add('logs', async () => rmSync(logDir, { recursive: true, force: true }));
  try {
    const place = await namespaceWithoutAttributes();
    const connection = await Connection.connect({ address: place.address });
    closers.add('Temporal connection', () => connection.close());
    const names = SEARCH_ATTRIBUTES.map(({ name }) => name);
    expect(Object.keys(await registered(connection, place))).not.toEqual(expect.arrayContaining(names));
    await startWorker(connection, place, logDir, closers);
    const expected = Object.fromEntries(names.map((name) => [name, KEYWORD]));
    await expect.poll(() => registered(connection, place), { timeout: 120_000 }).toMatchObject(expected);
  } finally {
    await closers.close();
  }
}, 240_000);
