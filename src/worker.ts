import { parseArgs } from 'node:util';
import type { Worker } from '@temporalio/worker';
import { isDomainError } from './domain/errors.ts';
import { type Config, readConfigOrExit } from './platform/config.ts';
import { createLogger } from './platform/logging.ts';
import { type CreateWorkers, runWorkers } from './platform/roles/run.ts';
import { installRuntime } from './platform/runtime.ts';
import { shutdownSignal } from './platform/shutdown.ts';

type RoleWorkers = (
  config: Config<'all'>,
  ...context: Parameters<CreateWorkers>
) => ReturnType<CreateWorkers>;

const USAGE = 'usage: worker [--verify [--limit <open runs of each workflow type, default 200>]]';

/** Workers by role. A process imports only its role's modules, so that a signer has no database client or HTTP server. */
const ROLES: Readonly<Record<'chain' | 'signer' | 'x402', RoleWorkers>> = {
  chain: async (config, connection, closers, stop) => {
    const { chainWorkers } = await import('./platform/roles/chain.ts');
    const { webhookWorker } = await import('./platform/roles/webhooks.ts');
    const workers = await chainWorkers(config, connection, closers, stop);
    return [...workers, await webhookWorker(config, connection, closers)];
  },
  signer: async (config, connection) => {
    const { signerWorker } = await import('./platform/roles/signer.ts');
    return [await signerWorker(config, connection)];
  },
  x402: async (config, connection, closers) => {
    const { x402Worker } = await import('./platform/roles/x402.ts');
    return [await x402Worker(config, connection, closers)];
  },
};

const command = argumentsOrExit(process.argv.slice(2));
await (command.verify ? verifyHistories(command.limit) : runWorkersOfRole());

async function runWorkersOfRole(): Promise<void> {
  const { config, createWorkers } = roleOf(process.env);
  const logger = createLogger({ level: config.logLevel, name: 'worker' });
  installRuntime(logger, config.metricsAddress);
  try {
    await runWorkers(config, createWorkers, shutdownSignal());
  } catch (error) {
    // A domain error, such as unreachable nodes, is not a defect: log one line without a stack.
    if (!isDomainError(error)) throw error;
    logger.fatal(`the worker stops: ${error.message}`);
    process.exitCode = 1;
  }
}

/** Replays open runs. Needs only Temporal and the payload keys, and opens no port, so it can run beside a worker. */
async function verifyHistories(maxRuns: number): Promise<void> {
  const config = readConfigOrExit(process.env, 'tool');
  installRuntime(createLogger({ level: 'silent', name: 'verify' }), undefined);
  const { verifyOpenRuns } = await import('./platform/roles/verify.ts');
  const printLine = (line: string) => void process.stdout.write(`${line}\n`);
  try {
    process.exitCode = (await verifyOpenRuns(config, maxRuns, printLine)) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`sluice: cannot verify the open workflow runs: ${String(error)}\n`);
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

/** Validates only the settings of the role. The cast is safe, because an entry of {@link ROLES} reads no others. */
function roleOf(env: NodeJS.ProcessEnv): { readonly config: Config; readonly createWorkers: CreateWorkers } {
  const { workerRole } = readConfigOrExit(env, 'tool');
  const config = readConfigOrExit(env, workerRole) as Config<'all'>;
  const roles = workerRole === 'all' ? (['chain', 'signer', 'x402'] as const) : [workerRole];
  const createWorkers: CreateWorkers = async (...context) => {
    const workers: Worker[] = [];
    for (const role of roles) workers.push(...(await ROLES[role](config, ...context)));
    return workers;
  };
  return { config, createWorkers };
}
