import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { Bench } from '../localnet/support.ts';
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts';

let bench: Bench;
let proxy: CountingProxy;
beforeAll(async () => {
  bench = await Bench.start({ nodes: 1 });
  proxy = await startCountingProxy(bench.localnet.rpcUrls[0] ?? '');
});
afterAll(async () => {
  await proxy?.close();
  await bench?.localnet.close();
});
afterEach(() => proxy.reset());

it('counts calls over HTTP by method', async () => {
  expect(await rpc(proxy.url, 'getBlockHeight', [])).toBe(await rpc(proxy.url, 'getBlockHeight', []));
  expect(Object.fromEntries(proxy.calls)).toEqual({ getBlockHeight: 2 });
});

it.each([
  ['the port of subscriptions', () => proxy.wsUrl],
  ['the port of calls', () => proxy.url.replace('http', 'ws')],
])('relays subscriptions on %s, and counts notifications apart from calls', async (_port, url) => {
  const client = new WebSocket(url());
  const messages: unknown[] = [];
  client.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString('utf8'))));
  await once(client, 'open');
  client.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'slotSubscribe', params: [] }));
  await vi.waitFor(() => expect(messages).toHaveLength(1));
  await rpc(bench.localnet.rpcUrls[0] ?? '', 'localnet_produceSlots', [2]);
  await vi.waitFor(() => expect(messages).toHaveLength(3));
  expect(messages).toMatchObject([{ id: 7 }, { method: 'slotNotification' }, { method: 'slotNotification' }]);
  expect(Object.fromEntries(proxy.calls)).toEqual({ slotSubscribe: 1 });
  expect(Object.fromEntries(proxy.notifications)).toEqual({ slotNotification: 2 });
  client.terminate();
});

it('ends the connection of a client when the node ends its own', async () => {
  const client = new WebSocket(proxy.wsUrl);
  await once(client, 'open');
  await bench.localnet.close();
  await once(client, 'close');
});
