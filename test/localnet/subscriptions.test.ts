import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Bench, someone } from './support.ts';

let bench: Bench;
const clients: WebSocket[] = [];
beforeAll(async () => {
  bench = await Bench.start();
});
afterEach(() => {
  bench.localnet.controls.clearFaults();
  for (const client of clients.splice(0)) client.terminate();
});
afterAll(() => bench.localnet.close());

/** The notifications that a client receives, in order. */
interface Subscriber {
  readonly socket: WebSocket;
  readonly messages: {
    readonly id?: number;
    readonly method?: string;
    readonly result?: unknown;
    readonly params?: unknown;
  }[];
  ask(method: string, params?: unknown): void;
}

async function listen(url: string): Promise<Subscriber> {
  const socket = new WebSocket(url);
  clients.push(socket);
  const messages: Subscriber['messages'] = [];
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString('utf8'))));
  await once(socket, 'open');
  return {
    socket,
    messages,
    ask: (method, params = []) => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  };
}

const slots = (subscriber: Subscriber) =>
  subscriber.messages.filter((item) => item.method === 'slotNotification').length;

describe('subscriptions', () => {
  it('are served on the port after that of a node, and by upgrade on its own port', async () => {
    const { rpcUrls, wsUrls, controls } = bench.localnet;
    for (const url of [wsUrls[0] ?? '', rpcUrls[0]?.replace('http', 'ws') ?? '']) {
      const subscriber = await listen(url);
      subscriber.ask('slotSubscribe');
      await expect.poll(() => subscriber.messages).toHaveLength(1);
      const slot = controls.produceSlot();
      await expect
        .poll(() => subscriber.messages.at(-1))
        .toMatchObject({ method: 'slotNotification', params: { result: { slot, parent: slot - 1 } } });
    }
  });

  it('of a faulty node are closed or silent, while the other node sends notifications', async () => {
    const { wsUrls, controls } = bench.localnet;
    const [good, bad] = [await listen(wsUrls[0] ?? ''), await listen(wsUrls[1] ?? '')];
    for (const subscriber of [good, bad]) subscriber.ask('slotSubscribe');
    await expect.poll(() => good.messages.length + bad.messages.length).toBe(2);
    controls.setFault(1, 'slotNotification', { kind: 'no-answer' }, 2);
    controls.produceSlots(3);
    await expect.poll(() => slots(good)).toBe(3);
    await expect.poll(() => slots(bad)).toBe(1);
    controls.setFault(1, 'slotNotification', { kind: 'drop' });
    const closed = once(bad.socket, 'close');
    controls.produceSlot();
    await closed;
    await expect.poll(() => slots(good)).toBe(4);
  });

  it('may be refused, or never confirmed', async () => {
    const { controls, wsUrls } = bench.localnet;
    const subscriber = await listen(wsUrls[1] ?? '');
    controls.setFault(1, 'slotSubscribe', { kind: 'no-answer' }, 1);
    controls.setFault(1, 'signatureSubscribe', {
      kind: 'error',
      code: -32603,
      message: 'too many subscriptions',
    });
    subscriber.ask('slotSubscribe');
    subscriber.ask('signatureSubscribe', ['x']);
    await expect.poll(() => subscriber.messages).toMatchObject([{ error: { code: -32603 } }]);
  });

  it('report a landed transaction only when their own node has it', async () => {
    const { controls, wsUrls } = bench.localnet;
    controls.setFault(1, '*', { kind: 'lag', blocks: 3 });
    const [near, far] = [await listen(wsUrls[0] ?? ''), await listen(wsUrls[1] ?? '')];
    const signed = await bench.sign(bench.pay(someone(), 1_000_000));
    for (const subscriber of [near, far])
      subscriber.ask('signatureSubscribe', [signed.signature, { commitment: 'processed' }]);
    await expect.poll(() => near.messages.length + far.messages.length).toBe(2);
    await bench.send(signed);
    controls.produceSlots(3);
    await expect.poll(() => near.messages.at(-1)).toMatchObject({ method: 'signatureNotification' });
    expect(far.messages).toHaveLength(1);
    controls.produceSlot();
    await expect.poll(() => far.messages.at(-1)).toMatchObject({ method: 'signatureNotification' });
  });
});
