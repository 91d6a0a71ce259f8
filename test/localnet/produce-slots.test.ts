import { once } from 'node:events';
import { Keypair } from '@solana/web3.js';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Bench, someone } from './support.ts';

/** How a bench produces slots; gives the slot of the last block. */
type Produce = (bench: Bench, count: number) => Promise<unknown>;

const COUNT = 8;
const SKIPPED = 2;
const BLOCKHASH_LIFE = 150;
const benches: Bench[] = [];
const sockets: WebSocket[] = [];
afterAll(async () => {
  for (const socket of sockets) socket.terminate();
  await Promise.all(benches.map((bench) => bench.localnet.close()));
});

async function start(): Promise<Bench> {
  const bench = await Bench.start();
  benches.push(bench);
  return bench;
}

async function call(bench: Bench, method: string, params: unknown[] = []): Promise<unknown> {
  const answer = await bench.ask(1, method, params);
  expect(answer).toHaveProperty('result');
  return Object(answer).result;
}

const atOnce: Produce = (bench, count) => call(bench, 'localnet_produceSlots', [count]);
const singly: Produce = async (bench, count) => {
  let slot: unknown;
  for (let made = 0; made < count; made += 1) slot = await call(bench, 'localnet_produceSlot');
  return slot;
};

/** Collects the notifications of a subscription. */
async function subscribe(bench: Bench, method: string, params: unknown[] = []): Promise<unknown[]> {
  const socket = new WebSocket(bench.localnet.wsUrls[0] ?? '');
  sockets.push(socket);
  const notifications: unknown[] = [];
  await once(socket, 'open');
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  await once(socket, 'message');
  socket.on('message', (data: Buffer) => {
    notifications.push(JSON.parse(data.toString('utf8')).params.result);
  });
  return notifications;
}

/** The confirmed blocks above `base`, without what differs between two chains. */
async function blocksAbove(bench: Bench, base: number): Promise<unknown[]> {
  const tip = bench.localnet.controls.chain.ledger.tip.slot;
  const slots = await bench.connection.getBlocks(base, tip, 'confirmed');
  const config = { commitment: 'confirmed', transactionDetails: 'signatures' };
  const blocks = await Promise.all(slots.map((slot) => call(bench, 'getBlock', [slot, config]).then(Object)));
  return blocks.slice(1).map((block, index) => ({
    slot: slots[index + 1],
    parentSlot: block.parentSlot,
    height: block.blockHeight,
    transactions: block.signatures.length,
    followsItsParent: block.previousBlockhash === blocks[index].blockhash,
  }));
}

/** Everything that a client can observe of COUNT slots after two pending transactions and two skipped slots. */
async function observe(produce: Produce): Promise<unknown> {
  const bench = await start();
  const { controls } = bench.localnet;
  const base = controls.produceSlot();
  const transfers = [
    await bench.sign(bench.pay(someone(), 1_000_000)),
    await bench.sign(bench.pay(someone(), 2)),
  ];
  const slots = await subscribe(bench, 'slotSubscribe');
  const landed = await subscribe(bench, 'signatureSubscribe', [
    transfers[0]?.signature,
    { commitment: 'finalized' },
  ]);
  for (const transfer of transfers) await bench.send(transfer);
  controls.skipSlots(SKIPPED);
  const last = await produce(bench, COUNT);
  await expect.poll(() => [slots.length, landed.length]).toEqual([COUNT, 1]);
  return { last, base, blocks: await blocksAbove(bench, base), slots, landed };
}

/** Whether transfers land that are sent this many slots after their blockhash. */
async function landsAfter(produce: Produce, slots: number): Promise<boolean> {
  const bench = benches[0] ?? (await start());
  const signed = await bench.sign(bench.pay(someone(), 1_000_000));
  await produce(bench, slots);
  await bench.send(signed);
  await produce(bench, 3);
  return (await bench.status(signed.signature)) !== null;
}

describe('localnet_produceSlots', () => {
  it('produces the same blocks and notifications as that many calls of localnet_produceSlot', async () => {
    const [many, single] = [await observe(atOnce), await observe(singly)];
    expect(many).toEqual(single);
    const { base, last, blocks } = Object(many);
    expect(last).toBe(base + SKIPPED + COUNT);
    expect(blocks[0]).toEqual({
      slot: base + SKIPPED + 1,
      parentSlot: base,
      height: expect.any(Number),
      transactions: 2,
      followsItsParent: true,
    });
  });

  it('includes the pending transactions in its first block', async () => {
    const bench = await start();
    const signed = await bench.sign(bench.pay(Keypair.generate().publicKey, 1_000_000));
    await bench.send(signed);
    const before = bench.localnet.controls.chain.ledger.tip.slot;
    await atOnce(bench, COUNT);
    expect(bench.localnet.controls.chain.ledger.record(signed.signature)?.slot).toBe(before + 1);
  });

  it('ages blockhashes as much as that many single slots', async () => {
    for (const produce of [atOnce, singly]) {
      expect(await landsAfter(produce, BLOCKHASH_LIFE)).toBe(true);
      expect(await landsAfter(produce, BLOCKHASH_LIFE + 1)).toBe(false);
    }
  });

  it('refuses a missing, fractional or out-of-range count, and names it', async () => {
    const bench = benches[0] ?? (await start());
    const before = bench.localnet.controls.chain.ledger.tip.slot;
    for (const params of [[], [null], [0], [-1], [1.5], ['3'], [true], [10_001], [1e300]])
      expect(await bench.ask(0, 'localnet_produceSlots', params)).toMatchObject({
        error: { code: -32602, message: expect.stringContaining('count') },
      });
    expect(bench.localnet.controls.chain.ledger.tip.slot).toBe(before);
    expect(await call(bench, 'localnet_produceSlots', [1])).toBe(before + 1);
  });
});
