import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { startPostgres } from '../../devkit/localstack/postgres.ts';
import { depositsInUi, startTemporal, withdrawalsInUi } from '../../devkit/localstack/temporal.ts';
import { registerSearchAttributes } from '../../src/platform/temporal/client.ts';
import { freshDatabase } from '../support/postgres.ts';
import { sharedService } from '../support/services.ts';
import { urlOf } from '../support/template.ts';
import { testTemporal } from '../support/temporal.ts';

const logDir = mkdtempSync(join(tmpdir(), 'sluice-logs-'));

async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows[0];
  } finally {
    await client.end();
  }
}

describe('the PostgreSQL of the stack', () => {
  test('starts an empty PostgreSQL 18 and leaves nothing behind', async () => {
    const postgres = await startPostgres({ logDir, env: {} });
    const { server_version: version } = (await ask(postgres.url, 'SHOW server_version')) as {
      server_version: string;
    };
    expect(version).toMatch(/^18\./);
    await postgres.stop();
    await expect(ask(postgres.url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
  });

  test('uses the server of DATABASE_URL and does not stop it', async () => {
    const database = await freshDatabase();
    const given = await startPostgres({ env: { DATABASE_URL: database.url } });
    expect(given.url).toBe(database.url);
    await given.stop();
    expect(await ask(database.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await database.drop();
  });

  test('gives two fresh databases two names', async () => {
    const [a, b] = await Promise.all([freshDatabase(), freshDatabase()]);
    await ask(a.url, 'CREATE TABLE only_here (x int)');
    expect(await ask(b.url, `SELECT to_regclass('only_here') AS seen`)).toEqual({ seen: null });
    await Promise.all([a.drop(), b.drop()]);
  });

  test('serves many test files that copy the template at once, and no session blocks the copies', async () => {
    const [{ name }, { url }] = await Promise.all([
      sharedService<{ name: string }>('template'),
      sharedService<{ url: string }>('postgres'),
    ]);
    await expect(ask(urlOf(url, name), 'SELECT 1')).rejects.toThrow(/not currently accepting connections/);
    const databases = await Promise.all(Array.from({ length: 8 }, freshDatabase));
    for (const database of databases) {
      expect(await ask(database.url, 'SELECT last_sequence FROM deposit_feed')).toEqual({
        last_sequence: '0',
      });
      await database.drop();
    }
  });
});

describe('the Temporal of the stack', () => {
  test('starts with its Web UI and its search attributes', async () => {
    const temporal = await startTemporal({ logDir });
    const connection = await Connection.connect({ address: temporal.address });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace: 'default',
    });
    expect(customAttributes).toMatchObject({ sluiceStatus: 2, sluiceSignature: 2 });
    if (temporal.uiUrl !== null) expect((await fetch(temporal.uiUrl)).status).toBe(200);
    await connection.close();
    await temporal.stop();
  });

  test('is the running server of TEMPORAL_ADDRESS, and a second registration changes nothing', async () => {
    const shared = await testTemporal();
    const given = await startTemporal({ env: { TEMPORAL_ADDRESS: shared.address } });
    expect(given).toMatchObject({
      address: shared.address,
      uiUrl: 'http://127.0.0.1:8233',
      uiNote: expect.stringMatching(/^a guess/),
    });
    const connection = await Connection.connect({ address: given.address });
    await registerSearchAttributes(connection, given.namespace);
    await given.stop();
    expect(await connection.workflowService.getSystemInfo({})).toBeDefined();
    await connection.close();
  });
});

test('the Web UI link opens the list of withdrawals', () => {
  expect(withdrawalsInUi({ uiUrl: 'http://127.0.0.1:8233', namespace: 'default' })).toBe(
    'http://127.0.0.1:8233/namespaces/default/workflows?query=WorkflowType%3D%22withdrawal%22',
  );
  expect(withdrawalsInUi({ uiUrl: null, namespace: 'default' })).toBeNull();
  const deposits = depositsInUi({ uiUrl: 'http://127.0.0.1:8233', namespace: 'default' });
  expect(new URL(deposits ?? '').searchParams.get('query')).toBe(
    'WorkflowType IN ("depositScan","backfill","reconciliation","webhookDelivery")',
  );
});
