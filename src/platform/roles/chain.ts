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
import { X402 } from '../../domain/payment.ts';
import { WITHDRAWAL } from '../../domain/settlement.ts';
import type { SettlementKind } from '../../domain/settlement-kinds.ts';
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
import { ENSURED_EVERY_MS, ensureEndlessRuns } from '../temporal/schedules.ts';
import { NodeMetrics } from './node-metrics.ts';
import { NODES_REPORTED_EVERY_MS, openNodes, watchNodes } from './nodes.ts';
import { warnsOf, workerOptions } from './run.ts';
import { signingBounds } from './signer.ts';
import { workflowSource } from './workflow-source.ts';

const PREPARED_AT_ONCE = 1_000;
/** Exceeds the workflows of all schedules plus the parallel reads of the scan's catch-up. */
const WATCHES_AT_ONCE = 100;
/** Exceeds the number of automatic audits, so that an operator's audit never waits for them. */
const AUDITS_AT_ONCE = 12;

/** Dependencies of a chain worker. Tests wrap them to stop the process between two steps. */
export interface ChainRooms {
  readonly ledger: Ledger;
  readonly chain: Chain;
}

export type Decorate = (rooms: ChainRooms) => ChainRooms;

/**
 * Workers for workflows and all activities except signing, one for each task queue, so that long waits take no
 * slots from short activities. Endless activities end when `stop` is aborted. `decorate` wraps the dependencies.
 */
export async function chainWorkers(
  config: Config<'chain'>,
  connection: NativeConnection,
  closers: Closers,
  stop: AbortSignal,
  decorate: Decorate = (rooms) => rooms,
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
  closers.keepDoing(
    'node alerts',
    NODES_REPORTED_EVERY_MS,
    () => watchNodes(ledger, pool),
    warnsOf('this worker cannot report problems of nodes now'),
  );
  const client = new Client({ connection, namespace, dataConverter: dataConverter(payloadKeys) });
  await ledger.watched.addHot([config.hotWallet]);
  const ensure = () => ensureEndlessRuns(client, config.scan ? config.cluster : null);
  closers.keepDoing('schedules', ENSURED_EVERY_MS, ensure, warnsOf('the schedules cannot be ensured now'));
  // Every queue serves every activity, so that tasks of an older version in another queue run too.
  const activities = chainActivities(config, decorate({ ledger, chain: new Chain(pool) }), client, stop);
  const staff = (taskQueue: string, atOnce: number): WorkerOptions => ({
    ...workerOptions(config, connection, taskQueue),
    activities,
    maxConcurrentActivityTaskExecutions: atOnce,
  });
  return Promise.all([
    Worker.create({ ...staff(WORKFLOW_TASK_QUEUE, PREPARED_AT_ONCE), ...workflowSource() }),
    Worker.create(staff(LANDING_TASK_QUEUE, config.landingsAtOnce)),
    Worker.create(staff(WATCH_TASK_QUEUE, WATCHES_AT_ONCE)),
    Worker.create(staff(AUDIT_TASK_QUEUE, AUDITS_AT_ONCE)),
  ]);
}

function chainActivities(
  config: Config<'chain'>,
  { ledger, chain }: ChainRooms,
  client: Client,
  stop: AbortSignal,
) {
  const walletWatch = new WalletWatch({ ledger, chain, hotWallet: config.hotWallet });
  const kinds = kindsOf(config, { ledger, chain }, walletWatch);
  const watcher = new LandingWatcher(chain);
  return {
    ...createWithdrawalActivities({ ledger, watcher, chain, kinds }),
    ...createSettlementActivities({ ledger, kinds }),
    ...createDeliverySteps(ledger),
    ...createWatchActivities({ ledger, chain, walletWatch, runs: temporalRuns(client), kinds }),
    ...depositActivities(config, { ledger, chain }, stop),
  };
}

/** Every kind of settlement. */
function kindsOf(
  config: Config<'chain'>,
  { ledger, chain }: ChainRooms,
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
    // Restarts, explanations and proofs of death need no key.
    [X402]: x402Kind({ ledger, chain, lives: new AdoptedLifetimes(chain.pool), feePayers: [] }),
  };
}

function depositActivities(config: Config<'chain'>, { ledger, chain }: ChainRooms, stop: AbortSignal) {
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
    shutdownSignal: stop,
  });
}
