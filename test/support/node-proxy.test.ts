import { expect, onTestFinished, test } from 'vitest';
import { startLocalnet } from '../../devkit/localnet/localnet.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { LyingProxy } from '../deposits/lying-proxy.ts';

async function nodeBehindProxy() {
  const localnet = await startLocalnet({ slotMs: 0, finalityLag: 2 });
  onTestFinished(() => localnet.close());
  const [target = ''] = localnet.rpcUrls;
  return { controls: localnet.controls, ...(await proxyTo(target)) };
}

async function proxyTo(target: string) {
  const proxy = new LyingProxy(target);
  const url = await proxy.start();
  onTestFinished(() => proxy.close());
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'getHealth' });
  const ask = (signal: AbortSignal | null = null) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
  return { proxy, ask };
}

test('the node proxy passes on an answer that is not JSON, with its status and its headers', async () => {
  const { controls, ask } = await nodeBehindProxy();
  controls.setFault(0, '*', { kind: 'http', status: 429, retryAfterSeconds: 9 });
  const limited = await ask();
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '9']);
  expect(await limited.text()).toBe('Too many requests');
  controls.clearFaults();
  controls.setFault(0, '*', { kind: 'http', status: 503 });
  const away = await ask();
  expect([away.status, await away.text()]).toEqual([503, 'Service unavailable']);
});

test('the node proxy edits an answer that is JSON', async () => {
  const { proxy, ask } = await nodeBehindProxy();
  expect(await (await ask()).json()).toMatchObject({ id: 7, result: 'ok' });
  proxy.edit = (method, _params, answer) => ({ ...answer, result: method });
  expect(await (await ask()).json()).toMatchObject({ id: 7, result: 'getHealth' });
});

test('the node proxy closes the connection where its node closes it, and where no node listens', async () => {
  const { controls, ask } = await nodeBehindProxy();
  controls.setFault(0, '*', { kind: 'drop' });
  await expect(ask()).rejects.toThrow('fetch failed');
  const { ask: askClosedPort } = await proxyTo(`http://127.0.0.1:${await freePort()}`);
  await expect(askClosedPort()).rejects.toThrow('fetch failed');
});

test('the node proxy sends no answer while its node sends none, and still closes', async () => {
  const { controls, ask } = await nodeBehindProxy();
  controls.setFault(0, '*', { kind: 'no-answer' });
  await expect(ask(AbortSignal.timeout(100))).rejects.toThrow('aborted due to timeout');
});
