import { Client } from '@temporalio/client';
import { type NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createDepositActivities } from '../../activities/deposits.ts';
import { createSettlementActivities } from '../../activities/settlements.ts';
import { createWatchActivities } from '../../activities/watches.ts';
import { createDeliverySteps } from '../../activities/webhooks.ts';
import { createWithdrawalActivities } from '../../activities/withdrawals.ts';
import { DepositMatcher } from '../../deposits/scan/matcher.ts';
import {
  AUDIT_TASK_QUEUE,
  LANDING_TASK_QUEUE,
  WATCH_TASK_QUEUE,
  WORKFLOW_TASK_QUEUE,
} from '../../domain/ids.ts';
import { type SettlementKind, WITHDRAWAL, X402 } from '../../domain/settlement-kinds.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import { type Ledger, openLedger } from '../../ledger/ledger.ts';
import type { Kind } from '../../settlement/kind.ts';
import { blockhashLifetimes, NonceLifetimes } from '../../settlement/lifetimes.ts';
import { Chain } from '../../solana/chain.ts';
import { LedgerCompleteness } from '../../solana/history/ledger-completeness.ts';
import { WalletLists } from '../../solana/history/wallet-signatures.ts';
import { AdoptedLifetimes } from '../../solana/proof/adopted.ts';
import { LandingWatcher } from '../../solana/proof/landing.ts';
import { FeePlanner } from '../../solana/tx/fees.ts';
import { WalletWatch } from '../../treasury/hot-wallet-watch.ts';
import { nonceKinds } from '../../treasury/nonce-accounts.ts';
import { Composer } from '../../withdrawals/compose.ts';
import { withdrawalKind } from '../../withdrawals/kind.ts';
import { x402Kind } from '../../x402/kind.ts';
import type { Config } from '../config.ts';
import type { Closers } from '../shutdown.ts';
import { registerSearchAttributes } from '../temporal/client.ts';
import { dataConverter } from '../temporal/codec.ts';
import { temporalRuns } from '../temporal/runs.ts';
import { ENSURE_INTERVAL_MS, ensureEndlessRuns } from '../temporal/schedules.ts';
import { NodeMetrics } from './node-metrics.ts';
import { openNodes, reportNodeAlerts } from './nodes.ts';
import { warningLogger, workerOptions } from './run.ts';
import { signingBounds } from './signer.ts';
import { workflowSource } from './workflow-source.ts';

const MAX_PREPARATIONS = 1_000;
/** Exceeds the activities of all scheduled workflows plus the parallel reads of the scan's catch-up. */
const MAX_WATCHES = 100;
/** Exceeds the number of concurrent automatic audits, so that an operator's audit never waits for them. */
const MAX_AUDITS = 12;

/** Dependencies of a chain worker. Tests wrap them to stop the process between two steps. */
export interface ChainWorkerDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
}

/** Wraps the dependencies of a worker, for tests. */
export type Decorator = (deps: ChainWorkerDeps) => ChainWorkerDeps;

/**
 * Workers for workflows and for all activities except signing. Each task queue has its own worker, so that long waits
 * do not use the slots of short activities. Endless activities end when `signal` is aborted.
 */
export async function chainWorkers(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
  signal: AbortSignal,
  decorate: Decorator = (deps) => deps,
): Promise<readonly Worker[]> {
  const { temporalNamespace: namespace, payloadKeys } = config;
  await registerSearchAttributes(connection, namespace);
  const ledger = await openLedger(config.databaseUrl);
  closers.add('ledger', () => ledger.close());
  const { logger, metricMeter } = Runtime.instance();
  const metrics = new NodeMetrics(metricMeter);
  const pool = await openNodes(config, (genesisHash) => ledger.cluster.bind(genesisHash), {
    onNotice: (notice) => logger.warn(notice),
    onProbe: (report) => metrics.record(report),
  });
  closers.add('nodes', () => pool.close());
  closers.runPeriodically(
    'node alerts',
    TIMEOUTS.nodeReportMs,
    () => reportNodeAlerts(ledger, pool),
    warningLogger('problems of Solana nodes cannot be reported now'),
  );
  const client = new Client({ connection, namespace, dataConverter: dataConverter(payloadKeys) });
  await ledger.watched.addHot([config.hotWallet]);
  closers.runPeriodically(
    'schedules',
    ENSURE_INTERVAL_MS,
    () => ensureEndlessRuns(client, config.scan ? config.cluster : null),
    warningLogger('missing Temporal schedules cannot be created now'),
  );
  // Every worker has every activity, so that tasks which an older version has put into another queue run too.
  const activities = chainActivities(config, decorate({ ledger, chain: new Chain(pool) }), client, signal);
  const optionsOf = (taskQueue: string, maxActivities: number): WorkerOptions => ({
    ...workerOptions(config, connection, taskQueue),
    activities,
    maxConcurrentActivityTaskExecutions: maxActivities,
  });
  return Promise.all([
    Worker.create({ ...optionsOf(WORKFLOW_TASK_QUEUE, MAX_PREPARATIONS), ...workflowSource() }),
    Worker.create(optionsOf(LANDING_TASK_QUEUE, config.landingsAtOnce)),
    Worker.create(optionsOf(WATCH_TASK_QUEUE, MAX_WATCHES)),
    Worker.create(optionsOf(AUDIT_TASK_QUEUE, MAX_AUDITS)),
  ]);
}

function chainActivities(
  config: Config<'chain'>,
  { ledger, chain }: ChainWorkerDeps,
  client: Client,
  signal: AbortSignal,
) {
  const walletWatch = new WalletWatch({ ledger, chain, hotWallet: config.hotWallet });
  const kinds = kindsOf(config, { ledger, chain }, walletWatch);
  const watcher = new LandingWatcher(chain);
  return {
    ...createWithdrawalActivities({ ledger, watcher, chain, kinds }),
    ...createSettlementActivities({ ledger, kinds }),
    ...createDeliverySteps(ledger),
    ...createWatchActivities({ ledger, chain, walletWatch, runs: temporalRuns(client), kinds }),
    ...depositActivities(config, { ledger, chain }, signal),
  };
}

function kindsOf(
  config: Config<'chain'>,
  { ledger, chain }: ChainWorkerDeps,
  walletWatch: WalletWatch,
): Readonly<Record<SettlementKind, Kind>> {
  const { hotWallet, confirmUsedWallet, allowVaults, tokenPolicy } = config;
  const fees = new FeePlanner(chain, {
    floorMicroLamports: config.priorityFloorMicroLamports,
    capMicroLamports: config.priorityCapMicroLamports,
    maxFeeLamports: config.maxFeeLamports,
  });
  const composer = new Composer({
    chain,
    fees,
    lifetimes:
      config.lifetime === 'nonce'
        ? new NonceLifetimes({ ledger, chain, hotWallet })
        : blockhashLifetimes(chain),
    rules: {
      hotWallet,
      confirmUsedWallet,
      allowVaults,
      tokenPolicy,
      kindOf: (address) => ledger.walletHistory.kindOf(address),
      listed: (mint) => ledger.assets.get(mint),
    },
    bounds: signingBounds(config),
  });
  return {
    [WITHDRAWAL]: withdrawalKind({ ledger, composer, walletWatch, chain }),
    ...nonceKinds({ ledger, chain, fees, hotWallet }),
    // This worker only restarts, explains and judges payments, which needs no fee payer key.
    [X402]: x402Kind({ ledger, chain, lifetimes: new AdoptedLifetimes(chain.pool), feePayers: [] }),
  };
}

function depositActivities(config: Config<'chain'>, { ledger, chain }: ChainWorkerDeps, signal: AbortSignal) {
  const { maxTransactionVersion, creditOwnerChange: ownerChangeAllowed } = config;
  const minimumLamports = () => chain.rentMinimum(0);
  return createDepositActivities({
    ledger,
    pool: chain.pool,
    lists: new WalletLists(),
    completeness: new LedgerCompleteness(),
    isScanning: config.scan,
    matcher: new DepositMatcher(ledger, { ownerChangeAllowed, maxTransactionVersion, minimumLamports }),
    startSlot: config.scanStartSlot,
    announces: config.announceConfirmed,
    shutdownSignal: signal,
  });
}
