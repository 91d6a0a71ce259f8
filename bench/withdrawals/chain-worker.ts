import { subscribe } from 'node:diagnostics_channel';
import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { chainWorkers } from '../../src/platform/roles/chain.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { installRuntime } from '../../src/platform/runtime.ts';
import { type Closers, shutdownSignal } from '../../src/platform/shutdown.ts';
import { TALLY_PORT } from '../settings.ts';
import { serveTally } from '../tally.ts';

/**
 * The real chain worker, which also counts by method every JSON-RPC request that its HTTP client makes.
 * Counts in the HTTP client and not in Sluice, so that no request is missed.
 */
const calls = new Map<string, number>();

subscribe('undici:request:create', (message) => {
  const { request } = message as { readonly request: { readonly body?: unknown } };
  const body = request.body instanceof Uint8Array ? Buffer.from(request.body).toString() : '';
  const method = /"method":"(\w+)"/.exec(body)?.[1] ?? 'unknown';
  calls.set(method, (calls.get(method) ?? 0) + 1);
});

const config = readConfigOrExit(process.env, 'chain');
installRuntime(createLogger({ level: config.logLevel, name: 'worker' }), config.metricsAddress);
const staff = async (connection: NativeConnection, closers: Closers, stop: AbortSignal) => {
  const workers = await chainWorkers(config, connection, closers, stop);
  const tally = await serveTally(Number(process.env[TALLY_PORT]), () => Object.fromEntries(calls));
  closers.add('tally', async () => tally.close());
  return workers;
};
await runWorkers(config, staff, shutdownSignal());
