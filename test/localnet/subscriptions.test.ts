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
interface Ear {
  readonly socket: WebSocket;
  readonly heard: {
    readonly id?: number;
    readonly method?: string;
    readonly result?: unknown;
    readonly params?: unknown;
  }[];
  ask(method: string, params?: unknown): void;
}

async function listen(url: string): Promise<Ear> {
  const socket = new WebSocket(url);
  clients.push(socket);
  const heard: Ear['heard'] = [];
  socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString('utf8'))));
  await once(socket, 'open');
  return {
    socket,
    heard,
    ask: (method, params = []) => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  };
}

const slots = (ear: Ear) => ear.heard.filter((item) => item.method === 'slotNotification').length;

describe('subscriptions', () => {
  it('are served on the port after that of a node, and by upgrade on its own port', async () => {
    const { rpcUrls, wsUrls, controls } = bench.localnet;
    for (const url of [wsUrls[0] ?? '', rpcUrls[0]?.replace('http', 'ws') ?? '']) {
      const ear = await listen(url);
      ear.ask('slotSubscribe');
      await expect.poll(() => ear.heard).toHaveLength(1);
      const slot = controls.produceSlot();
      await expect
        .poll(() => ear.heard.at(-1))
        .toMatchObject({ method: 'slotNotification', params: { result: { slot, parent: slot - 1 } } });
    }
  });

  it('of a faulty node are closed or silent, while the other node sends notifications', async () => {
    const { wsUrls, controls } = bench.localnet;
    const [good, bad] = [await listen(wsUrls[0] ?? ''), await listen(wsUrls[1] ?? '')];
    for (const ear of [good, bad]) ear.ask('slotSubscribe');
    await expect.poll(() => good.heard.length + bad.heard.length).toBe(2);
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
    const ear = await listen(wsUrls[1] ?? '');
    controls.setFault(1, 'slotSubscribe', { kind: 'no-answer' }, 1);
    controls.setFault(1, 'signatureSubscribe', {
      kind: 'error',
      code: -32603,
      message: 'too many subscriptions',
    });
    ear.ask('slotSubscribe');
    ear.ask('signatureSubscribe', ['x']);
    await expect.poll(() => ear.heard).toMatchObject([{ error: { code: -32603 } }]);
  });

  it('report a landed transaction only when their own node has it', async () => {
    const { controls, wsUrls } = bench.localnet;
    controls.setFault(1, '*', { kind: 'lag', blocks: 3 });
    const [near, far] = [await listen(wsUrls[0] ?? ''), await listen(wsUrls[1] ?? '')];
    const signed = await bench.sign(bench.pay(someone(), 1_000_000));
    for (const ear of [near, far])
      ear.ask('signatureSubscribe', [signed.signature, { commitment: 'processed' }]);
    await expect.poll(() => near.heard.length + far.heard.length).toBe(2);
    await bench.send(signed);
    controls.produceSlots(3);
    await expect.poll(() => near.heard.at(-1)).toMatchObject({ method: 'signatureNotification' });
    expect(far.heard).toHaveLength(1);
    controls.produceSlot();
    await expect.poll(() => far.heard.at(-1)).toMatchObject({ method: 'signatureNotification' });
  });
});
