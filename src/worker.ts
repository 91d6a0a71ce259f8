import { parseArgs } from 'node:util';
import type { NativeConnection, Worker } from '@temporalio/worker';
import { isDomainError } from './domain/errors.ts';
import { type Config, readConfigOrExit } from './platform/config.ts';
import { createLogger } from './platform/logging.ts';
import { runWorkers, type Staff } from './platform/roles/run.ts';
import { installRuntime } from './platform/runtime.ts';
import { type Closers, shutdownSignal } from './platform/shutdown.ts';

const USAGE = 'usage: worker [--verify [--limit <open runs of each workflow type, default 200>]]';

const { verify, limit } = argumentsOrExit(process.argv.slice(2));
await (verify ? verifyHistories(limit) : work());

async function work(): Promise<void> {
  const { config, staff } = staffOf(process.env);
  const logger = createLogger({ level: config.logLevel, name: 'worker' });
  installRuntime(logger, config.metricsAddress);
  try {
    await runWorkers(config, staff, shutdownSignal().signal);
  } catch (error) {
    // Domain errors, such as unreachable nodes, may be resolved by a restart: log one line without a stack.
    if (!isDomainError(error)) throw error;
    logger.fatal(`the worker ends: ${error.message}`);
    process.exitCode = 1;
  }
}

/** Needs only Temporal and the payload key, and no port, so it can run beside a worker. */
async function verifyHistories(limit: number): Promise<void> {
  const config = readConfigOrExit(process.env, 'tool');
  installRuntime(createLogger({ level: 'silent', name: 'verify' }), undefined);
  const { verifyOpenRuns } = await import('./platform/roles/verify.ts');
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  try {
    process.exitCode = (await verifyOpenRuns(config, limit, say)) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`sluice: the open runs cannot be verified: ${String(error)}\n`);
    process.exitCode = 1;
  }
}

function argumentsOrExit(args: string[]): { readonly verify: boolean; readonly limit: number } {
  const options = { verify: { type: 'boolean' }, limit: { type: 'string' } } as const;
  try {
    const { verify = false, limit = '200' } = parseArgs({ args, options }).values;
    if (/^[1-9]\d{0,5}$/.test(limit)) return { verify, limit: Number(limit) };
  } catch {
    // An unknown option.
  }
  process.stderr.write(`sluice: ${USAGE}\n`);
  process.exit(2);
}

/** The workers of the role. Reads only the settings that the role needs. */
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

// A process imports only the modules of its role: the signer has neither a database client nor an HTTP server in
// memory.

async function signer(config: Config<'signer'>, connection: NativeConnection): Promise<Worker> {
  const { signerWorker } = await import('./platform/roles/signer.ts');
  return signerWorker(config, connection);
}

async function x402(config: Config<'x402'>, connection: NativeConnection, closers: Closers): Promise<Worker> {
  const { x402Worker } = await import('./platform/roles/x402.ts');
  return x402Worker(config, connection, closers);
}

async function chain(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
  stop: AbortSignal,
): Promise<readonly Worker[]> {
  const { chainWorkers } = await import('./platform/roles/chain.ts');
  const { webhookWorker } = await import('./platform/roles/webhooks.ts');
  return [
    ...(await chainWorkers(config, connection, closers, stop)),
    await webhookWorker(config, connection, closers),
  ];
}
