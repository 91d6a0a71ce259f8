import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { PoolOptions } from '../../src/solana/rpc/node-registry.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { fetchBlock } from '../../src/solana/scan/searched-block.ts';
import { sendAnswer, startNodeProxy } from '../support/node-proxy.ts';

const open: { close(): Promise<unknown> | void }[] = [];

/** For `afterEach`. */
export async function closeSlowNodes(): Promise<void> {
  for (const one of open.splice(0).toReversed()) await one.close();
}

const TX =
  '{"transaction":{"signatures":["A"],"accountKeys":[{"pubkey":"11111111111111111111111111111111","signer":true}]},"meta":{"preTokenBalances":[],"postTokenBalances":[]}},';
/** Twice as much a second as an answer must come by. */
const PART = Buffer.from(TX.repeat(Math.ceil((210 * 1_024) / TX.length)));

/** How a node drips: while it is `on`. */
export class SlowNode {
  isSlow = true;
  /** It lists no block either. */
  readonly answersNoBlock: boolean;
  slowAnswers = 0;
  /** The requests that continue. */
  openRequests = 0;

  constructor(mute = false) {
    this.answersNoBlock = mute;
  }
}

/** A node that is honest but for whole blocks, which drip. */
async function startSlowProxy(target: string, state: SlowNode): Promise<string> {
  const sendSlowly = async (response: ServerResponse): Promise<void> => {
    state.slowAnswers += 1;
    state.openRequests += 1;
    response.on('close', () => {
      state.openRequests -= 1;
    });
    response.write('{"jsonrpc":"2.0","result":{"transactions":[');
    while (!response.destroyed && state.isSlow) {
      response.write(PART);
      await sleep(100);
    }
    response.destroy();
  };
  const proxy = await startNodeProxy(target, async ({ method, params, forward, response }) => {
    if (state.isSlow && method === 'getBlock') {
      if (params[1]?.transactionDetails === 'accounts') return sendSlowly(response);
      if (state.answersNoBlock) return;
    }
    sendAnswer(await forward(), response);
  });
  open.push({
    close: () => {
      state.isSlow = false;
      return proxy.close();
    },
  });
  return proxy.url;
}

export async function poolWithSlowNode(state: SlowNode, options: PoolOptions = {}): Promise<NodePool> {
  const localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  open.push(localnet);
  localnet.controls.produceSlots(40);
  const [first = '', ...others] = localnet.rpcUrls;
  const pool = await openNodePool([await startSlowProxy(first, state), ...others], {
    now: () => 0,
    ...options,
  });
  open.push(pool);
  return pool;
}

export const readBlock = (pool: NodePool, slot: bigint, end?: AbortSignal) =>
  pool.read(
    (node, over) =>
      fetchBlock(node, { slot, commitment: 'finalized', watched: new WatchSet(0), signal: over }),
    end,
  );
