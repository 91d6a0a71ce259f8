import { type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createQuickActivities } from '../../activities/quick-settlements.ts';
import { createSettlementActivities } from '../../activities/settlements.ts';
import { createSignerActivities } from '../../activities/signing.ts';
import { createX402Activities } from '../../activities/x402.ts';
import { QUICK_TASK_QUEUE } from '../../domain/ids.ts';
import { X402 } from '../../domain/settlement-kinds.ts';
import { openLedger } from '../../ledger/ledger.ts';
import { loadKeypair, type Signer } from '../../signing/signer.ts';
import { Chain } from '../../solana/chain.ts';
import { AdoptedLifetimes } from '../../solana/proof/adopted.ts';
import { LandingWatcher } from '../../solana/proof/landing.ts';
import { SlotNotifications } from '../../solana/rpc/slot-notifications.ts';
import { x402Kind } from '../../x402/kind.ts';
import { createUpstreamCall } from '../../x402/upstream-call.ts';
import type { Config } from '../config.ts';
import { textCipherOf } from '../encryption.ts';
import type { Closers } from '../shutdown.ts';
import type { ChainWorkerDeps, Decorator } from './chain.ts';
import { openNodes } from './nodes.ts';
import { workerOptions } from './run.ts';
import { feePayerKeys, SIGNING_RULES, signingBounds } from './signer.ts';
import { workflowSource } from './workflow-source.ts';

/** Maximum number of activities, which are mostly waits of payments for finality. */
const MAX_LANDINGS = 10_000;
const MAX_CONFIRMATIONS = 200;

/**
 * Worker that settles x402 payments and serves paid requests that are not served yet. If `feePayerKeyFiles` is empty,
 * the signer's workers sign.
 */
export async function x402Worker(
  config: Config<'x402'>,
  connection: NativeConnection,
  closers: Closers,
  decorate: Decorator = (deps) => deps,
): Promise<Worker> {
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
  const chain = new Chain(pool, { accountWindowMs: 0 });
  const slots = new SlotNotifications(config.rpcUrls);
  closers.add('slot notifications of x402', () => slots.close());
  return Worker.create({
    ...workerOptions(config, connection, QUICK_TASK_QUEUE),
    ...workflowSource(),
    activities: x402Activities(config, decorate({ ledger, chain }), slots, signers, addresses),
    maxConcurrentActivityTaskExecutions: MAX_LANDINGS,
    // A payment occupies a workflow task until it is confirmed, for about a second. The SDK's default of 40 would make
    // further payments wait.
    maxConcurrentWorkflowTaskExecutions: MAX_CONFIRMATIONS,
    maxConcurrentLocalActivityExecutions: MAX_CONFIRMATIONS,
  });
}

function x402Activities(
  config: Config<'x402'>,
  { ledger, chain }: ChainWorkerDeps,
  slots: SlotNotifications,
  signers: readonly Signer[],
  feePayers: readonly string[],
) {
  const lifetimes = new AdoptedLifetimes(chain.pool);
  const kinds = { [X402]: x402Kind({ ledger, chain, lifetimes, feePayers }) };
  const deps = { ledger, chain, kinds, watcher: new LandingWatcher(chain, { slots }) };
  const keys = feePayerKeys(signers);
  const signer = createSignerActivities({
    keys,
    bounds: signingBounds(config),
    rules: { [X402]: SIGNING_RULES[X402] },
  });
  const { upstreamVariables: variables, x402UpstreamSecret: secret = null } = config;
  const upstream = createUpstreamCall({ variables, secret });
  return {
    ...createSettlementActivities(deps),
    ...createQuickActivities({ ...deps, ...(signers.length === 0 ? {} : { signer }) }),
    ...createX402Activities({ ...deps, upstream }),
  };
}
