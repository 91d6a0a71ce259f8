import { expect, test } from 'vitest';
import { clientOf, type Step, unavailable } from './scripted-server.ts';

test.each(['.', '..'])('the id %s, which no URL can carry, is refused without a call', async (id) => {
  const { server, sluice } = await clientOf([]);
  const { webhooks, deposits, depositAddresses, assets } = sluice;
  const calls = [
    sluice.get(id),
    sluice.confirm(id),
    sluice.cancel(id),
    deposits.reject(id, 'why'),
    depositAddresses.get(id),
    depositAddresses.tokenAccount('wallet', id),
    assets.put(id),
    webhooks.remove(id),
    webhooks.rotate(id),
    webhooks.enable(id),
    webhooks.deliveries(id),
    webhooks.replay(id),
  ];
  const refusal = { code: 'InvalidRequest', status: 400 };
  for (const call of calls) await expect.soft(call).rejects.toMatchObject(refusal);
  expect(server.seen).toEqual([]);
});

test('addresses, assets and the scan: each call on its path', async () => {
  const { server, sluice } = await clientOf(Array<Step>(10).fill({ status: 200, body: { assets: [] } }));
  const manifest = { version: 1, publicKey: 'k', entries: [], signature: 's' } as const;
  await sluice.depositAddresses.assign('user 1');
  await sluice.depositAddresses.ofUser('user&1');
  await sluice.depositAddresses.import(manifest, { since: '7' });
  await sluice.depositAddresses.release('why');
  await sluice.depositAddresses.tokenAccount('wallet', 'mint');
  await sluice.assets.put('mint', { depositsOn: false });
  await sluice.assets.list();
  await sluice.scan.pause('why');
  await sluice.scan.rescan({ from: '1', to: '2' }, 'why');
  await sluice.scan.closeGap({ from: '1', to: '2' }, 'why');
  const range = { from: '1', to: '2', why: 'why' };
  expect(
    server.seen.map(({ method, url, body }) => [
      method,
      url.replace('/v1', ''),
      body === '' ? null : JSON.parse(body),
    ]),
  ).toEqual([
    ['POST', '/deposit-addresses', { userRef: 'user 1' }],
    ['GET', '/deposit-addresses?userRef=user%261', null],
    ['POST', '/deposit-addresses/import', { manifest, since: '7' }],
    ['POST', '/deposit-addresses/release', { why: 'why' }],
    ['GET', '/deposit-addresses/wallet/assets/mint', null],
    ['PUT', '/assets/mint', { depositsOn: false }],
    ['GET', '/assets', null],
    ['POST', '/scan/pause', { why: 'why' }],
    ['POST', '/scan/rescan', range],
    ['POST', '/scan/close-gap', range],
  ]);
});

test('deliveries of a webhook: only the conditions that are set', async () => {
  const { server, sluice } = await clientOf(Array<Step>(2).fill({ status: 200 }));
  await sluice.webhooks.deliveries('wh/1');
  await sluice.webhooks.deliveries('wh/1', { state: 'dead', limit: 5 });
  const root = '/v1/webhooks/wh%2F1/deliveries';
  expect(server.seen.map(({ url }) => url)).toEqual([root, `${root}?state=dead&limit=5`]);
});

test('an audit is waited for through silences of the API, and each is told once', async () => {
  const question = { address: 'wallet', from: '1', to: '2' };
  const silence = Array<Step>(7).fill(unavailable);
  const { server, sluice } = await clientOf([
    { status: 202, body: { state: 'running' } },
    ...silence,
    { status: 200, body: { state: 'running' } },
    { status: 200, body: { state: 'done' } },
  ]);
  const silences: string[] = [];
  const onSilence = ({ code }: { readonly code: string }) => silences.push(code);
  expect(await sluice.audits.run(question, { pollMs: 1, onSilence })).toEqual({ state: 'done' });
  expect(silences).toEqual(['Unavailable']);
  expect(server.seen.map(({ method }) => method)).toEqual(['POST', ...Array<string>(9).fill('GET')]);
});
