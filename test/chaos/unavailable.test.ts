import { once } from 'node:events';
import { createServer } from 'node:http';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isUnavailable, retryWhileUnavailable } from '../../chaos/unavailable.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { SluiceClient, SluiceError } from '../../src/client/client.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { freshDatabase } from '../support/postgres.ts';

async function failureOf(ask: () => Promise<unknown>): Promise<unknown> {
  return ask().then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
}

const PASSING: Readonly<Record<string, (port: number) => Promise<unknown>>> = {
  'PostgreSQL that refuses connections': (port) =>
    new pg.Client({ connectionString: `postgres://a:b@127.0.0.1:${port}/c` }).connect(),
  'PostgreSQL behind a ledger': (port) => openLedger(`postgres://a:b@127.0.0.1:${port}/c`),
  'an API that refuses connections': (port) =>
    new SluiceClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'key', retries: 0 }).scan.status(),
  'a node that refuses connections': (port) => rpc(`http://127.0.0.1:${port}`, 'getSlot', []),
  'Temporal that refuses connections': (port) =>
    Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 200 }),
};

describe('the driver retries', () => {
  it.each(Object.entries(PASSING))('%s', async (_, ask) => {
    const port = await freePort();
    expect(isUnavailable(await failureOf(() => ask(port)))).toBe(true);
  });

  it('a node that ends the connection without an answer', async () => {
    const server = createServer((request) => request.socket.destroy()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    expect(isUnavailable(await failureOf(() => rpc(`http://127.0.0.1:${port}`, 'getSlot', [])))).toBe(true);
  });

  it('PostgreSQL that ends a session', async () => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    const failure = await failureOf(() => client.query('select pg_terminate_backend(pg_backend_pid())'));
    expect(isUnavailable(failure)).toBe(true);
    expect(isUnavailable(await failureOf(() => client.query('select 1')))).toBe(true);
  });

  it('until the service answers', async () => {
    const failures = [new Error('Connection terminated unexpectedly'), refused()];
    const answer = await retryWhileUnavailable(() => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
      return 'answer';
    });
    expect(answer).toBe('answer');
    expect(failures).toEqual([]);
  });
});

describe('the driver does not retry', () => {
  it.each([
    ['a refusal of the API', new SluiceError('InvalidRequest', 400, 'no such field')],
    ['an unexpected failure of the API', new SluiceError('Internal', 500, 'the log has more')],
    ['an error of SQL', Object.assign(new Error('relation "x" does not exist'), { code: '42P01' })],
    ['a chain without a block', new Error('a finalized block before 7 is missing')],
  ])('after %s', async (_, failure) => {
    let asked = 0;
    const answer = retryWhileUnavailable(() => {
      asked += 1;
      throw failure;
    });
    await expect(answer).rejects.toBe(failure);
    expect(asked).toBe(1);
  });

  it('after its deadline, and throws the last failure', async () => {
    const failure = refused();
    const answer = retryWhileUnavailable(() => {
      throw failure;
    }, AbortSignal.timeout(50));
    await expect(answer).rejects.toBe(failure);
  });
});

function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
}
