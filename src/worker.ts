import type { NativeConnection, Worker } from '@temporalio/worker';
import { isDomainError } from './domain/errors.ts';
import { type Config, readConfigOrExit } from './platform/config.ts';
import { createLogger } from './platform/logging.ts';
import { installRuntime } from './platform/runtime.ts';
import { type Closers, shutdownSignal } from './platform/shutdown.ts';
import { runWorkers, type Staff } from './workers/run.ts';

const { config, staff } = staffOf(process.env);
const logger = createLogger({ level: config.logLevel, name: 'worker' });
installRuntime(logger, config.metricsAddress);
try {
  await runWorkers(config, staff, shutdownSignal().signal);
} catch (error) {
  // What a service manager may heal by starting again, such as nodes that are down, is one line and no stack.
  if (!isDomainError(error)) throw error;
  logger.fatal(`the worker ends: ${error.message}`);
  process.exitCode = 1;
}

/** The workers of the role, made from the settings that it needs, and no others. */
function staffOf(env: NodeJS.ProcessEnv): { readonly config: Config; readonly staff: Staff } {
  const { workerRole } = readConfigOrExit(env, 'tool');
  if (workerRole === 'signer') {
    const config = readConfigOrExit(env, 'signer');
    return { config, staff: async (connection) => [await signer(config, connection)] };
  }
  if (workerRole === 'x402') {
    const config = readConfigOrExit(env, 'x402');
    return { config, staff: async (connection, closers) => [await x402(config, connection, closers)] };
  }
  if (workerRole === 'chain') {
    const config = readConfigOrExit(env, 'chain');
    return { config, staff: (connection, closers, stop) => chain(config, connection, closers, stop) };
  }
  const config = readConfigOrExit(env, 'all');
  const staff: Staff = async (connection, closers, stop) => [
    ...(await chain(config, connection, closers, stop)),
    await signer(config, connection),
    await x402(config, connection, closers),
  ];
  return { config, staff };
}

// A process loads only the modules of its role: the one with the keys has no database client and no HTTP server in its memory.

async function signer(config: Config<'signer'>, connection: NativeConnection): Promise<Worker> {
  const { signerWorker } = await import('./workers/signer.ts');
  return signerWorker(config, connection);
}

async function x402(config: Config<'x402'>, connection: NativeConnection, closers: Closers): Promise<Worker> {
  const { x402Worker } = await import('./workers/x402.ts');
  return x402Worker(config, connection, closers);
}

async function chain(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
  stop: AbortSignal,
): Promise<readonly Worker[]> {
  const { chainWorkers } = await import('./workers/chain.ts');
  const { webhookWorker } = await import('./workers/webhooks.ts');
  return [
    ...(await chainWorkers(config, connection, closers, stop)),
    await webhookWorker(config, connection, closers),
  ];
}
