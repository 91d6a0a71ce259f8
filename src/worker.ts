import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { Composer } from './activities/composition.ts';
import { failureInterceptor } from './activities/failures.ts';
import { blockhashLifetimes, NonceLifetimes } from './activities/lifetimes.ts';
import { createNonceUpkeep } from './activities/nonce-upkeep.ts';
import { createSignerActivities } from './activities/signing.ts';
import { WalletWatch } from './activities/wallet-watch.ts';
import { createWatchActivities } from './activities/watches.ts';
import { createWithdrawalActivities } from './activities/withdrawals.ts';
import { isDomainError } from './domain/errors.ts';
import { SIGNER_TASK_QUEUE, WORKFLOW_TASK_QUEUE } from './domain/ids.ts';
import { allowsHooks } from './domain/token-rules.ts';
import { openLedger } from './ledger/ledger.ts';
import { dataConverter } from './platform/codec.ts';
import { type Config, readConfigOrExit } from './platform/config.ts';
import { createLogger } from './platform/logging.ts';
import { meterGauges, NodeMetrics } from './platform/metrics.ts';
import { installRuntime } from './platform/runtime.ts';
import { keepSchedules } from './platform/schedules.ts';
import { aborted, Closers, shutdownSignal } from './platform/shutdown.ts';
import { registerSearchAttributes } from './platform/temporal.ts';
import { WithdrawalRuns } from './platform/withdrawal-runs.ts';
import type { SigningBounds } from './signing/policy.ts';
import { loadKeypair } from './signing/signer.ts';
import { Chain } from './solana/chain.ts';
import { FeePlanner } from './solana/fees.ts';
import { LandingWatcher } from './solana/landing.ts';
import { openNodePool } from './solana/rpc/pool.ts';
import type { PoolOptions } from './solana/rpc/roster.ts';

/** The rooms a chain worker is built from; tests wrap them to end the process between two steps. */
export interface ChainRooms {
  readonly ledger: Awaited<ReturnType<typeof openLedger>>;
  readonly chain: Chain;
}

export type Decorate = (rooms: ChainRooms) => ChainRooms;

/** Makes the workers of a role: one for `chain` or `signer`, both for `all`. */
export type Staff = (connection: NativeConnection, closers: Closers) => Promise<readonly Worker[]>;

/** Runs workers until `stop` is aborted, then lets them finish and closes what they opened. */
export async function runWorkers(config: Config, staff: Staff, stop: AbortSignal): Promise<void> {
  const closers = new Closers();
  try {
    const connection = await NativeConnection.connect({ address: config.temporalAddress });
    closers.add('temporal', () => connection.close());
    const workers = await staff(connection, closers);
    await Promise.all(workers.map((worker) => worker.runUntil(aborted(stop))));
  } finally {
    await closers.close();
  }
}

/** Workflows and every step but signing. `decorate` wraps the rooms. */
export async function chainWorker(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
  decorate: Decorate = (rooms) => rooms,
): Promise<Worker> {
  await registerSearchAttributes(connection, config.temporalNamespace);
  const ledger = await openLedger(config.databaseUrl);
  closers.add('ledger', () => ledger.close());
  const pool = await openNodePool(config.rpcUrls, nodeOptions(config));
  closers.add('nodes', () => pool.close());
  const client = new Client({ connection, namespace: config.temporalNamespace, ...converterOf(config) });
  closers.add('schedules', keepSchedules(client));
  return Worker.create({
    ...workerOptions(config, connection, WORKFLOW_TASK_QUEUE),
    ...workflowSource(),
    activities: chainActivities(config, decorate({ ledger, chain: new Chain(pool) }), client),
    maxConcurrentActivityTaskExecutions: 1_000,
  });
}

function chainActivities(config: Config<'chain'>, { ledger, chain }: ChainRooms, client: Client) {
  const { hotWallet, confirmUsedWallet, tokenPolicy } = config;
  const fees = new FeePlanner(chain, {
    floorMicroLamports: config.priorityFloorMicroLamports,
    capMicroLamports: config.priorityCapMicroLamports,
  });
  const composer = new Composer({
    chain,
    fees,
    lifetimes:
      config.lifetime === 'nonce'
        ? new NonceLifetimes({ ledger, chain, hotWallet })
        : blockhashLifetimes(chain),
    rules: { hotWallet, confirmUsedWallet, tokenPolicy },
    bounds: signingBounds(config),
  });
  const watcher = new LandingWatcher(chain);
  const walletWatch = new WalletWatch({ ledger, chain, hotWallet });
  return {
    ...createWithdrawalActivities({ ledger, composer, watcher, walletWatch }),
    ...createNonceUpkeep({ ledger, chain, fees, watcher, hotWallet }),
    ...createWatchActivities({ ledger, pool: chain.pool, walletWatch, runs: new WithdrawalRuns(client) }),
  };
}

/** What the pool tells goes to the log and the metrics of this process. */
function nodeOptions({ rpcRequestsPerSecond, maxTransactionVersion }: Config<'chain'>): PoolOptions {
  const { logger, metricMeter } = Runtime.instance();
  const nodes = new NodeMetrics(meterGauges(metricMeter));
  return {
    onNotice: (notice) => logger.warn(notice),
    onProbe: (report) => nodes.record(report),
    maxTransactionVersion,
    ...(rpcRequestsPerSecond === undefined ? {} : { requestsPerSecond: rpcRequestsPerSecond }),
  };
}

/** What the signer grants by the settings of this process; a chain worker composes nothing that its own would refuse. */
function signingBounds({ priorityCapMicroLamports, tokenPolicy }: Config): SigningBounds {
  return {
    priceCapMicroLamports: priorityCapMicroLamports,
    allowHookAccounts: allowsHooks(tokenPolicy),
  };
}

/** The only worker with keys; it needs no chain and no database. */
export async function signerWorker(config: Config<'signer'>, connection: NativeConnection): Promise<Worker> {
  const signer = await loadKeypair(config.signerKey ?? config.signerKeyFile ?? '');
  return Worker.create({
    ...workerOptions(config, connection, SIGNER_TASK_QUEUE),
    activities: createSignerActivities({ signer, bounds: signingBounds(config) }),
  });
}

function workerOptions(config: Config, connection: NativeConnection, taskQueue: string): WorkerOptions {
  return {
    connection,
    namespace: config.temporalNamespace,
    taskQueue,
    interceptors: { activity: [() => ({ inbound: failureInterceptor })] },
    shutdownGraceTime: '10 seconds',
    shutdownForceTime: '20 seconds',
    ...converterOf(config),
  };
}

function converterOf({ payloadKeys }: Config): Pick<WorkerOptions, 'dataConverter'> {
  const converter = dataConverter(payloadKeys);
  return converter === undefined ? {} : { dataConverter: converter };
}

// `npm run build` bundles the workflows once; from source they are bundled at the start.
function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  return import.meta.url.endsWith('.ts')
    ? { workflowsPath: path('./workflows/index.ts') }
    : { workflowBundle: { codePath: path('./workflow-bundle.js') } };
}

/** Reads the settings that the role needs, and no others. */
function readStaff(env: NodeJS.ProcessEnv): { readonly config: Config; readonly staff: Staff } {
  const { workerRole } = readConfigOrExit(env, 'tool');
  if (workerRole === 'signer') {
    const config = readConfigOrExit(env, 'signer');
    return { config, staff: async (connection) => [await signerWorker(config, connection)] };
  }
  const config = readConfigOrExit(env, workerRole);
  const chain: Staff = async (connection, closers) => [await chainWorker(config, connection, closers)];
  const both: Staff = async (connection, closers) => [
    ...(await chain(connection, closers)),
    await signerWorker(config, connection),
  ];
  return { config, staff: workerRole === 'chain' ? chain : both };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { config, staff } = readStaff(process.env);
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
}
