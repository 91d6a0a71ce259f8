import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { PoolOptions } from '../../src/solana/rpc/node-registry.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { fetchBlock } from '../../src/solana/scan/searched-block.ts';
import { handOn, startNodeProxy } from '../support/node-proxy.ts';

const open: { close(): Promise<unknown> | void }[] = [];

/** For `afterEach`. */
export async function closeDrips(): Promise<void> {
  for (const one of open.splice(0).toReversed()) await one.close();
}

const TX =
  '{"transaction":{"signatures":["A"],"accountKeys":[{"pubkey":"11111111111111111111111111111111","signer":true}]},"meta":{"preTokenBalances":[],"postTokenBalances":[]}},';
/** Twice as much a second as an answer must come by. */
const PART = Buffer.from(TX.repeat(Math.ceil((210 * 1_024) / TX.length)));

/** How a node drips: while it is `on`. */
export class Drip {
  on = true;
  /** It lists no block either. */
  readonly mute: boolean;
  drips = 0;
  /** The requests that continue. */
  open = 0;

  constructor(mute = false) {
    this.mute = mute;
  }
}

/** A node that is honest but for whole blocks, which drip. */
async function dripping(target: string, state: Drip): Promise<string> {
  const drip = async (response: ServerResponse): Promise<void> => {
    state.drips += 1;
    state.open += 1;
    response.on('close', () => {
      state.open -= 1;
    });
    response.write('{"jsonrpc":"2.0","result":{"transactions":[');
    while (!response.destroyed && state.on) {
      response.write(PART);
      await sleep(100);
    }
    response.destroy();
  };
  const proxy = await startNodeProxy(target, async ({ method, params, forward, response }) => {
    if (state.on && method === 'getBlock') {
      if (params[1]?.transactionDetails === 'accounts') return drip(response);
      if (state.mute) return;
    }
    handOn(await forward(), response);
  });
  open.push({
    close: () => {
      state.on = false;
      return proxy.close();
    },
  });
  return proxy.url;
}

export async function poolWithDrip(state: Drip, options: PoolOptions = {}): Promise<NodePool> {
  const localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  open.push(localnet);
  localnet.controls.produceSlots(40);
  const [first = '', ...others] = localnet.rpcUrls;
  const pool = await openNodePool([await dripping(first, state), ...others], { now: () => 0, ...options });
  open.push(pool);
  return pool;
}

export const readBlock = (pool: NodePool, slot: bigint, end?: AbortSignal) =>
  pool.read((node, over) => fetchBlock(node, slot, 'finalized', new WatchSet(0), undefined, over), end);
