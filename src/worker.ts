import { isDomainError } from './domain/errors.ts';
import { type Config, readConfigOrExit } from './platform/config.ts';
import { createLogger } from './platform/logging.ts';
import { installRuntime } from './platform/runtime.ts';
import { shutdownSignal } from './platform/shutdown.ts';
import { chainWorkers } from './workers/chain.ts';
import { runWorkers, type Staff } from './workers/run.ts';
import { signerWorker } from './workers/signer.ts';
import { webhookWorker } from './workers/webhooks.ts';
import { x402Worker } from './workers/x402.ts';

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
    return { config, staff: async (connection) => [await signerWorker(config, connection)] };
  }
  if (workerRole === 'x402') {
    const config = readConfigOrExit(env, 'x402');
    return {
      config,
      staff: async (connection, closers) => [await x402Worker(config, connection, closers)],
    };
  }
  if (workerRole === 'chain') {
    const config = readConfigOrExit(env, 'chain');
    return {
      config,
      staff: async (connection, closers, stop) => [
        ...(await chainWorkers(config, connection, closers, stop)),
        await webhookWorker(config, connection, closers),
      ],
    };
  }
  const config = readConfigOrExit(env, 'all');
  const staff: Staff = async (connection, closers, stop) => [
    ...(await chainWorkers(config, connection, closers, stop)),
    await webhookWorker(config, connection, closers),
    await signerWorker(config, connection),
    await x402Worker(config, connection, closers),
  ];
  return { config, staff };
}
