import { base64 } from '@scure/base';
import { Client } from '@temporalio/client';
import { type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createQuickActivities } from '../../activities/quick-settlements.ts';
import { createSettlementActivities } from '../../activities/settlements.ts';
import { createSignerActivities } from '../../activities/signing.ts';
import { createX402Activities } from '../../activities/x402.ts';
import { QUICK_TASK_QUEUE } from '../../domain/ids.ts';
import type { ObserveStage } from '../../domain/payment-stages.ts';
import { X402 } from '../../domain/settlement-kinds.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';
import { type Ledger, openLedger } from '../../ledger/ledger.ts';
import type { AttemptPosition } from '../../settlement/kind.ts';
import type { JudgeDeps } from '../../settlement/record-verdict.ts';
import { type SigningDeps, signTask } from '../../signing/sign-task.ts';
import { loadKeypair, type Signer } from '../../signing/signer.ts';
import { Chain } from '../../solana/chain.ts';
import { AdoptedLifetimes } from '../../solana/proof/adopted.ts';
import { LandingWatcher } from '../../solana/proof/landing.ts';
import { ConfirmedSlots } from '../../solana/rpc/confirmed-slots.ts';
import { LatePayments } from '../../x402/direct/late-payments.ts';
import { serveDirect } from '../../x402/direct/server.ts';
import { DirectSettlements } from '../../x402/direct/settle.ts';
import { type AdoptPaymentDeps, adoptPayment, x402Kind } from '../../x402/kind.ts';
import { timed } from '../../x402/timed.ts';
import { createUpstreamCall } from '../../x402/upstream-call.ts';
import type { Config } from '../config.ts';
import { plainTextWarning, textCipherOf } from '../encryption.ts';
import type { Closers } from '../shutdown.ts';
import { dataConverter } from '../temporal/codec.ts';
import { startQuickSettlement } from '../temporal/starts.ts';
import type { ChainWorkerDeps } from './chain.ts';
import { openNodes } from './nodes.ts';
import { warningLogger, workerOptions } from './run.ts';
import { feePayerKeys, SIGNING_RULES, signingBounds } from './signer.ts';
import { stageHistogram } from './stage-histogram.ts';
import { workflowSource } from './workflow-source.ts';

/** Maximum number of activities, which are mostly waits of payments for finality. */
const MAX_LANDINGS = 10_000;
const MAX_CONFIRMATIONS = 200;
const LATE_INTERVAL_MS = 2_000;
const DELETION_INTERVAL_MS = 3_600_000;
/** An adopted message keeps its own price, so the salt has no effect. */
const FIRST_ATTEMPT: AttemptPosition = { n: 1, salt: 0n, lastPrice: null };

/** Dependencies of the x402 worker. Tests wrap them to stop the process between two steps. */
export interface X402WorkerDeps extends ChainWorkerDeps {
  readonly temporal: Client;
  /** See {@link TIMEOUTS}. */
  readonly latePaymentMs: number;
}

/**
 * Worker that settles x402 payments and serves paid requests that are not served yet. If `feePayerKeyFiles` is empty,
 * the signer's workers sign. With the keys and `x402Socket`, also serves direct settlements.
 */
export async function x402Worker(
  config: Config<'x402'>,
  connection: NativeConnection,
  closers: Closers,
  decorate: (deps: X402WorkerDeps) => X402WorkerDeps = (deps) => deps,
): Promise<Worker> {
  const warning = plainTextWarning(config.payloadKeys);
  if (warning !== null) Runtime.instance().logger.warn(warning);
  const signers = await Promise.all(config.feePayerKeyFiles.map(loadKeypair));
  const ledger = await openLedger(config.databaseUrl, textCipherOf(config.payloadKeys));
  closers.add('ledger of x402', () => ledger.close());
  const pool = await openNodes(config, (genesisHash) => ledger.cluster.bind(genesisHash), {
    onNotice: (notice) => Runtime.instance().logger.warn(notice),
  });
  closers.add('nodes of x402', () => pool.close());
  const addresses =
    signers.length > 0
      ? signers.map(({ address }) => address)
      : [...config.feePayers, ...config.retiredFeePayers];
  // Registered before the first signature, so that no unknown spend by one of these wallets is missed.
  if (addresses.length > 0) await ledger.walletHistory.addFeePayers(addresses);
  const slots = new ConfirmedSlots(config.rpcUrls);
  closers.add('confirmed slots of x402', () => slots.close());
  const { temporalNamespace: namespace } = config;
  const temporal = new Client({ connection, namespace, dataConverter: dataConverter(config.payloadKeys) });
  const observe = stageHistogram(Runtime.instance().metricMeter);
  const onAccepted = (seconds: number) => observe('send', seconds);
  const deps = decorate({
    ledger,
    chain: new Chain(pool, { accountWindowMs: 0, onAccepted }),
    temporal,
    latePaymentMs: TIMEOUTS.latePaymentMs,
  });
  const parts = settlementParts(config, deps, slots, signers, addresses);
  await serveDirectly(config, { ...parts, observe }, closers);
  startLateRuns(deps, closers);
  deleteOldData(config, ledger, closers);
  return Worker.create({
    ...workerOptions(config, connection, QUICK_TASK_QUEUE),
    ...workflowSource(),
    activities: x402Activities(config, { ...parts, observe }),
    maxConcurrentActivityTaskExecutions: MAX_LANDINGS,
    // A payment occupies a workflow task until it is confirmed, for about a second. The SDK's default of 40 would make
    // further payments wait.
    maxConcurrentWorkflowTaskExecutions: MAX_CONFIRMATIONS,
    maxConcurrentLocalActivityExecutions: MAX_CONFIRMATIONS,
  });
}

/** What the activities and the direct settlements share. `signing` is null if the signer's workers have the keys. */
interface SettlementParts {
  readonly judging: JudgeDeps;
  readonly adopting: AdoptPaymentDeps;
  readonly signing: SigningDeps | null;
}

type MeasuredParts = SettlementParts & { readonly observe: ObserveStage };

function settlementParts(
  config: Config<'x402'>,
  { ledger, chain }: ChainWorkerDeps,
  slots: ConfirmedSlots,
  signers: readonly Signer[],
  feePayers: readonly string[],
): SettlementParts {
  const lifetimes = new AdoptedLifetimes(chain.pool);
  const kinds = { [X402]: x402Kind({ ledger, chain, lifetimes, feePayers }) };
  const signing = {
    keys: feePayerKeys(signers),
    bounds: signingBounds(config),
    rules: { [X402]: SIGNING_RULES[X402] },
  };
  return {
    judging: { ledger, chain, kinds, watcher: new LandingWatcher(chain, { slots }) },
    adopting: { pool: chain.pool, lifetimes, feePayers },
    signing: signers.length === 0 ? null : signing,
  };
}

function x402Activities(config: Config<'x402'>, { judging, signing, observe }: MeasuredParts) {
  const { upstreamVariables: variables, x402UpstreamSecret: secret = null } = config;
  const upstream = createUpstreamCall({ variables, secret, observe });
  const signer = signing === null ? {} : { signer: createSignerActivities(signing) };
  return {
    ...createSettlementActivities(judging),
    ...createQuickActivities({ ...judging, ...signer }),
    ...createX402Activities({ ...judging, upstream }),
  };
}

function startLateRuns({ ledger, temporal, latePaymentMs }: X402WorkerDeps, closers: Closers): void {
  const start = (id: string) => startQuickSettlement(temporal, id);
  const late = new LatePayments({ payments: ledger.payments, start, latePaymentMs });
  const warn = warningLogger('the workflows of late x402 payments cannot be started now');
  closers.runPeriodically('runs of late payments', LATE_INTERVAL_MS, () => late.startRuns(), warn);
}

function deleteOldData({ x402RetentionDays }: Config<'x402'>, { payments }: Ledger, closers: Closers): void {
  const deleteAll = async (): Promise<void> => {
    while ((await payments.deleteOldData(x402RetentionDays)) > 0n);
  };
  const warn = warningLogger('the data of old x402 payments cannot be deleted now');
  closers.runPeriodically('data of old payments', DELETION_INTERVAL_MS, deleteAll, warn);
}

/** Listens on the socket, if it is set and the keys are in this process. */
async function serveDirectly(
  { x402Socket }: Config<'x402'>,
  { judging, adopting, signing, observe }: MeasuredParts,
  closers: Closers,
): Promise<void> {
  if (x402Socket === undefined) return;
  const warn = (error: unknown, message: string) => Runtime.instance().logger.warn(message, { error });
  if (signing === null)
    return warn(null, 'SLUICE_X402_SOCKET has no effect: this worker has no SLUICE_FEE_PAYER_KEY_FILES');
  const settlements = new DirectSettlements({
    ...judging,
    adopt: (payment) => adoptPayment(adopting, payment, FIRST_ATTEMPT),
    sign: (task) => timed(observe, 'sign', () => signTask(signing, task)),
    discard: (feePayer, { message }) =>
      signing.bounds.payments?.spend.discard(feePayer, base64.decode(message)),
    warn,
    observe,
  });
  const server = await serveDirect(settlements, x402Socket, warn);
  // The server waits for its requests, which end with the watches.
  closers.add('direct settlements', () => Promise.all([settlements.close(), server.close()]));
}
