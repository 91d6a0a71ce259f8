import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { startLocalnet } from '../../src/localnet/localnet.ts';
import { getBlock } from '../../src/solana/rpc/methods.ts';
import type { SolanaNode } from '../../src/solana/rpc/node.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { showBlock } from '../../src/solana/scan/searched-block.ts';
import { WatchSet } from '../../src/solana/scan/watch-set.ts';

const open: { close(): Promise<unknown> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

const TX =
  '{"transaction":{"signatures":["A"],"accountKeys":[{"pubkey":"11111111111111111111111111111111","signer":true}]},"meta":{"preTokenBalances":[],"postTokenBalances":[]}},';
/** Twice as much a second as an answer must come by. */
const PART = Buffer.from(TX.repeat(Math.ceil((210 * 1_024) / TX.length)));

interface Drip {
  on: boolean;
  /** It lists no block either. */
  readonly mute: boolean;
  drips: number;
}

/** A node that is honest but for whole blocks, which drip. */
async function dripping(target: string, state: Drip): Promise<string> {
  const drip = async (response: ServerResponse): Promise<void> => {
    state.drips += 1;
    response.write('{"jsonrpc":"2.0","result":{"transactions":[');
    while (!response.destroyed && state.on) {
      response.write(PART);
      await sleep(100);
    }
    response.destroy();
  };
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const { method, params } = JSON.parse(body.toString());
    if (state.on && method === 'getBlock') {
      if (params[1]?.transactionDetails === 'accounts') return drip(response);
      if (state.mute) return;
    }
    const answer = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    response.end(await answer.text());
  };
  const server = createServer(
    (request, response) => void forward(request, response).catch(() => response.destroy()),
  );
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  open.push({
    close: () => {
      state.on = false;
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function poolWithDrip(state: Drip): Promise<NodePool> {
  const localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  open.push(localnet);
  localnet.controls.produceSlots(40);
  const [first = '', ...others] = localnet.rpcUrls;
  const pool = await openNodePool([await dripping(first, state), ...others]);
  open.push(pool);
  return pool;
}

const headerOf = (node: SolanaNode, slot: bigint) =>
  getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'signatures' });
type Header = Awaited<ReturnType<typeof headerOf>>;
const isSame = (one: Header, other: Header) => one?.blockhash === other?.blockhash;

it.each([
  ['as two ranges read them', 16, false],
  ['as one scanner reads them, with their headers', 8, true],
])(
  'blocks that are read at once are shown by the other nodes while one drips, %s',
  async (_name, count, mute) => {
    const state = { on: true, mute, drips: 0 };
    const pool = await poolWithDrip(state);
    const slots = Array.from({ length: count }, (_, index) => BigInt(index + 2));
    const headers = mute ? slots.map((slot) => pool.agreed((node) => headerOf(node, slot), isSame)) : [];
    const shown = await Promise.all(
      slots.map((slot) => pool.read((node) => showBlock(node, slot, 'finalized', new WatchSet(0)))),
    );
    expect(shown.map(({ header }) => header.slot)).toEqual(slots);
    expect(state.drips).toBeGreaterThan(0);
    state.on = false;
    await Promise.all(headers);
  },
);
