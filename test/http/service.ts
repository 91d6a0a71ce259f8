import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { type AppDeps, buildApp } from '../../src/http/app.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { temporalClient } from '../support/temporal.ts';

export const API_KEY = 'key-of-the-http-tests';
export const authorization = `Bearer ${API_KEY}`;
export const EXPLORER = { explorerUrl: 'https://explorer.example', cluster: 'devnet', rpcUrls: [] };

interface ServiceSettings extends Pick<AppDeps, 'allowPrivateWebhooks' | 'checkRoutes'> {
  /** Default: a fresh database on the PostgreSQL that all tests share. */
  readonly database?: Pick<TestDatabase, 'url' | 'drop'>;
}

/** The API over a database and a Temporal namespace of its own. */
export interface Service {
  readonly app: FastifyInstance;
  readonly ledger: Ledger;
  readonly temporal: Client;
  readonly databaseUrl: string;
  readonly address: string;
  readonly namespace: string;
  close(): Promise<void>;
}

export async function openService({ database: own, ...settings }: ServiceSettings = {}): Promise<Service> {
  const database = own ?? (await freshDatabase());
  const { address, namespace } = await freshNamespace('http');
  const ledger = await openLedger(database.url);
  const temporal = temporalClient({ address, namespace });
  await ledger.apiKeys.add('tests', API_KEY);
  const app = await buildApp({ ledger, temporal, explorer: EXPLORER, ...settings });
  return {
    app,
    ledger,
    temporal,
    databaseUrl: database.url,
    address,
    namespace,
    async close() {
      await app.close();
      await ledger.close();
      await database.drop();
    },
  };
}

/** The answer of the same API to a call while Temporal is unreachable. */
export async function withoutTemporal(
  { address, namespace, ledger }: Service,
  url: string,
  payload: object,
): Promise<unknown> {
  const { connection, client: temporal } = await connectTemporal({ address, namespace });
  const app = await buildApp({ ledger, temporal, explorer: EXPLORER });
  await connection.close();
  const answer = await app.inject({ method: 'POST', url, headers: { authorization }, payload });
  await app.close();
  return answer.json();
}
