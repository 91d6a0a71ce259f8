import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { apiProcess } from '../../devkit/localstack/services.ts';
import { readConfig } from '../../src/platform/config.ts';
import { chainWorkers, type Decorator } from '../../src/platform/roles/chain.ts';
import { x402Worker } from '../../src/platform/roles/x402.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { getEpochInfo } from '../../src/solana/rpc/methods.ts';
import { authorization, openService, type Service } from '../http/service.ts';
import { resultOf, type ScriptedNode, startScriptedNode } from '../solana/rpc-scripted-node.ts';
import { COMPILED } from '../support/compiled.ts';
import { testEnvironment } from '../support/stack.ts';

/** Requests per second that a node may get. */
const LIMIT = 4;
/** Timers of three intervals, each of which may end a little early. */
const EARLY_MS = 20;

/** Values that are not numbers. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  getGenesisHash: newAddress(),
  getEpochInfo: { epoch: 1, absoluteSlot: 9, blockHeight: 8 },
};

let service: Service;
let node: ScriptedNode;
/** The time at which each request reached the node. */
let arrivals: { readonly method: string; readonly at: number }[] = [];

beforeAll(async () => {
  service = await openService();
  node = await startScriptedNode((asked) => {
    const { method } = asked;
    arrivals.push({ method, at: performance.now() });
    return resultOf(asked, JSON.stringify(ANSWERS[method] ?? 9));
  });
});
beforeEach(() => {
  arrivals = [];
});
afterAll(async () => {
  await node?.close();
  await service?.close();
});

function settings(): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: service.databaseUrl,
    TEMPORAL_ADDRESS: service.address,
    TEMPORAL_NAMESPACE: service.namespace,
    SLUICE_RPC_URLS: node.url,
    SLUICE_RPC_REQUESTS_PER_SECOND: String(LIMIT),
  };
}

type Create = (connection: NativeConnection, closers: Closers, decorate: Decorator) => Promise<unknown>;

const WORKERS: Readonly<Record<'chain' | 'x402', Create>> = {
  chain: (connection, closers, decorate) => {
    const config = readConfig({ ...settings(), SLUICE_HOT_WALLET: newAddress() }, 'chain');
    return chainWorkers(config, connection, closers, new AbortController().signal, decorate);
  },
  x402: (connection, closers, decorate) =>
    x402Worker(readConfig(settings(), 'x402'), connection, closers, (deps) => ({
      ...deps,
      ...decorate(deps),
    })),
};

/** The chain as a worker is wired to it, without the worker. */
function chainOf(create: Create, connection: NativeConnection, closers: Closers): Promise<Chain> {
  return new Promise((resolve, reject) => {
    const decorate: Decorator = ({ chain }) => {
      resolve(chain);
      throw new Error('no worker is made');
    };
    create(connection, closers, decorate).catch(reject);
  });
}

/**
 * Each of these requests, all sent after `began`, waited for its interval. A slow machine delays them, and never sends one too early.
 */
function expectTurns(asked: typeof arrivals, began: number): void {
  expect(asked.length).toBeGreaterThan(2 * LIMIT);
  for (const [index, { at }] of asked.entries())
    expect(at - began, `request ${index}`).toBeGreaterThanOrEqual(
      1_000 * Math.floor(index / LIMIT) - EARLY_MS,
    );
}

/** Runs the callback, then closes what it opened. */
async function withClosers(work: (closers: Closers) => Promise<void>): Promise<void> {
  const closers = new Closers();
  try {
    await work(closers);
  } finally {
    await closers.close();
  }
}

it.each(['chain', 'x402'] as const)(
  'a worker of role %s sends a node no more requests than the configured rate',
  (role) =>
    withClosers(async (closers) => {
      const connection = await NativeConnection.connect({ address: service.address });
      closers.add('Temporal', () => connection.close());
      const { pool } = await chainOf(WORKERS[role], connection, closers);
      const ask = () => pool.read((one) => getEpochInfo(one, 'finalized'));
      const began = performance.now();
      await Promise.all(Array.from({ length: 3 * LIMIT }, ask));
      const asked = arrivals.filter(({ method }) => method === 'getEpochInfo');
      expectTurns(asked, began);
    }),
  120_000,
);

it(
  'the API sends a node no more requests than the configured rate',
  () =>
    withClosers(async (closers) => {
      const logDir = mkdtempSync(join(tmpdir(), 'sluice-rate-'));
      closers.add('logs', async () => rmSync(logDir, { recursive: true, force: true }));
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const env = { ...testEnvironment(), ...settings(), SLUICE_HTTP_PORT: String(port) };
      const api = apiProcess({ env, logDir, ...COMPILED }, url);
      closers.add('API', () => api.stop());
      await api.start();
      const address = newAddress();
      await service.ledger.addresses.import([{ address, path: 'm/rate' }]);
      expect(arrivals, 'before the first question of a client').toEqual([]);
      const began = performance.now();
      const answer = await fetch(`${url}/v1/deposit-addresses/${address}`, { headers: { authorization } });
      expect(answer.status).toBe(200);
      expectTurns(arrivals, began);
    }),
  120_000,
);
