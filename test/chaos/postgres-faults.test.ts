import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { type Field, strike } from '../../chaos/strikes.ts';
import { Supervisor } from '../../chaos/supervisor.ts';
import { retryWhileUnavailable } from '../../chaos/unavailable.ts';
import { type LocalPostgres, startPostgres } from '../../devkit/localstack/postgres.ts';
import type { ManagedProcess } from '../../devkit/localstack/process.ts';

const INJECTION = { kind: 'database_cut', atMs: 0, untilMs: 0, node: 0, draw: 0 } as const;

async function ownPostgres(): Promise<LocalPostgres & { readonly process: ManagedProcess }> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-strikes-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const postgres = await startPostgres({ logDir: dir, env: {} });
  onTestFinished(() => postgres.stop());
  if (postgres.process === null) throw new Error('PostgreSQL is not of this test');
  return { ...postgres, process: postgres.process };
}

/** The services that a session cut affects. */
function fieldOf({ process, url }: { readonly process: ManagedProcess; readonly url: string }): Field {
  return {
    supervisor: new Supervisor([process], () => undefined),
    workers: [],
    signer: process,
    api: process,
    x402: null,
    temporal: process,
    postgres: process,
    databaseUrl: url,
    rpcUrls: [],
    clockFile: '',
    hotWallet: '',
    market: { mint: '', feeMint: '', pausableMint: '', wallets: [] },
    orders: [],
    exchange: null,
  };
}

/** Resolves when the session was ended inside a transaction. */
async function sessionToCut(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  const ended = new Promise<void>((resolve) => client.on('end', resolve).on('error', () => undefined));
  await client.connect();
  await client.query('begin').catch(() => undefined);
  await ended;
}

it('a session cut waits for PostgreSQL to start, continues after its restart, and leaves the driver connected', async () => {
  const postgres = await ownPostgres();
  const field = fieldOf(postgres);
  await postgres.process.kill();
  const striking = retryWhileUnavailable(() => strike(field, INJECTION));
  await sleep(200);
  await postgres.process.start();
  const heal = await striking;
  await sessionToCut(postgres.url);
  await postgres.process.kill();
  await postgres.process.start();
  await sessionToCut(postgres.url);
  expect(await retryWhileUnavailable(heal)).toBe(2);
});
