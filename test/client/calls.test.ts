import { describe, expect, it, test } from 'vitest';
import type { PageOptions } from '../../src/client/calls.ts';
import { Calls, ListCalls } from '../../src/client/calls.ts';
import type { CallOptions, SluiceClient } from '../../src/client/client.ts';
import { SluiceError } from '../../src/client/client.ts';
import { clientOf, type ServerStep, unavailable } from './scripted-server.ts';

test.each(['.', '..'])(
  'the client refuses the id %s, which no URL can contain, without a call',
  async (id) => {
    const { server, sluice } = await clientOf([]);
    const { webhooks, deposits, depositAddresses, assets } = sluice;
    const calls = [
      sluice.get(id),
      sluice.confirm(id),
      sluice.cancel(id),
      deposits.reject(id, 'a test'),
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
  },
);

test('the client calls the right paths for addresses, assets and the scan', async () => {
  const { server, sluice } = await clientOf(
    Array<ServerStep>(10).fill({ status: 200, body: { assets: [] } }),
  );
  const manifest = { version: 1, publicKey: 'k', entries: [], signature: 's' } as const;
  await sluice.depositAddresses.assign('user 1');
  await sluice.depositAddresses.ofUser('user&1');
  await sluice.depositAddresses.import(manifest, { since: '7' });
  await sluice.depositAddresses.tokenAccount('wallet', 'mint');
  await sluice.assets.put('mint', { depositsOn: false });
  await sluice.assets.list();
  await sluice.scan.pause('a test');
  await sluice.backfills.start({ from: '1', to: '2', reason: 'a test' });
  await sluice.scan.closeGap({ from: '1', to: '2' }, 'a test');
  const range = { from: '1', to: '2', reason: 'a test' };
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
    ['GET', '/deposit-addresses/wallet/assets/mint', null],
    ['PUT', '/assets/mint', { depositsOn: false }],
    ['GET', '/assets', null],
    ['POST', '/scan/pause', { reason: 'a test' }],
    ['POST', '/backfills', range],
    ['POST', '/scan/close-gap', range],
  ]);
});

test('the client sends settlement ids with slashes in the query', async () => {
  const page = { settlements: [], nextCursor: null };
  const { server, sluice } = await clientOf(Array<ServerStep>(2).fill({ status: 200, body: page }));
  await sluice.settlements.explain('nonce-advance/a/b+c');
  await sluice.settlements.page({ kind: 'nonce-create', status: 'held' }, { limit: 5, cursor: '7' });
  expect(server.seen.map(({ url }) => url)).toEqual([
    '/v1/settlements/explain?id=nonce-advance%2Fa%2Fb%2Bc',
    '/v1/settlements?limit=5&kind=nonce-create&status=held&cursor=7',
  ]);
});

test('the client calls the right paths for alerts and pauses', async () => {
  const body = { alerts: [], pauses: [], closed: true, nextCursor: null };
  const { server, sluice } = await clientOf(Array<ServerStep>(7).fill({ status: 200, body }));
  await sluice.alerts.page({ open: false }, { limit: 5, cursor: '7' });
  for await (const _ of sluice.alerts.list()) throw new Error('there is none');
  await sluice.alerts.acknowledge(['17', '18'], 'a test');
  await sluice.alerts.close('maybe_paid', 'order-1', 'a test');
  await sluice.pauses.open();
  await sluice.pauses.begin('a test');
  await sluice.pauses.end('a test', { scope: 'kind/sweep', seen: ['17'] });
  const seen = server.seen.map(({ method, url, body: sent }) => `${method} ${url} ${sent}`.trim());
  expect(seen).toEqual([
    'GET /v1/alerts?limit=5&open=false&cursor=7',
    'GET /v1/alerts?limit=100',
    'POST /v1/alerts/seen {"seen":["17","18"],"reason":"a test"}',
    'POST /v1/alerts/close {"kind":"maybe_paid","subject":"order-1","reason":"a test"}',
    'GET /v1/pause',
    'POST /v1/pause {"reason":"a test"}',
    'POST /v1/resume {"reason":"a test","scope":"kind/sweep","seen":["17"]}',
  ]);
});

test('a list ends, even if its options carry the cursor of a page', async () => {
  const page = (alerts: readonly object[], nextCursor: string | null) => ({
    status: 200,
    body: { alerts, nextCursor },
  });
  const { server, sluice } = await clientOf([page([{}], '5'), page([], null), page([{}], '5')]);
  const options: PageOptions = { cursor: '9' };
  for await (const alert of sluice.alerts.list({}, options)) expect(alert).toEqual({});
  expect(server.seen.map(({ url }) => url)).toEqual([
    '/v1/alerts?limit=100',
    '/v1/alerts?limit=100&cursor=5',
  ]);
});

test('the client sends only the filters that are set when it lists deliveries of a webhook', async () => {
  const { server, sluice } = await clientOf(Array<ServerStep>(2).fill({ status: 200 }));
  await sluice.webhooks.deliveries('wh/1');
  await sluice.webhooks.deliveries('wh/1', { state: 'dead', limit: 5 });
  const root = '/v1/webhooks/wh%2F1/deliveries';
  expect(server.seen.map(({ url }) => url)).toEqual([root, `${root}?state=dead&limit=5`]);
});

test('the client waits for an audit while the API is silent, and reports each silence once', async () => {
  const question = { address: 'wallet', from: '1', to: '2', reason: 'a test' };
  const silence = Array<ServerStep>(7).fill(unavailable);
  const { server, sluice } = await clientOf([
    { status: 200, body: { id: '7', endedAt: null } },
    ...silence,
    { status: 200, body: { id: '7', endedAt: null } },
    { status: 200, body: { id: '7', endedAt: 'now' } },
  ]);
  const silences: string[] = [];
  const onSilence = ({ code }: { readonly code: string }) => silences.push(code);
  expect(await sluice.backfills.run(question, { pollMs: 1, onSilence })).toEqual({ id: '7', endedAt: 'now' });
  expect(silences).toEqual(['Unavailable']);
  expect(server.seen.map(({ method }) => method)).toEqual(['POST', ...Array<string>(9).fill('GET')]);
});

type Part = Readonly<Record<string, (sluice: SluiceClient, how: CallOptions) => Promise<unknown>>>;

const range = { from: '1', to: '2' };
const manifest = { version: 1, publicKey: 'k', entries: [], signature: 's' } as const;
/** Each call of the client by its name, with a signal that can end it. */
const CALLS: Readonly<Record<string, Part>> = {
  sluice: {
    withdraw: (sluice, how) =>
      sluice.withdraw({ id: 'a', asset: 'SOL', amount: '1', destination: 'wallet' }, how),
    get: (sluice, how) => sluice.get('a', how),
    explain: (sluice, how) => sluice.explain('a', how),
    hotWallets: (sluice, how) => sluice.hotWallets(how),
    reconciliation: (sluice, how) => sluice.reconciliation(how),
    list: (sluice, how) => sluice.list({}, how).next(),
    page: (sluice, how) => sluice.page({}, how),
    confirm: (sluice, how) => sluice.confirm('a', how),
    cancel: (sluice, how) => sluice.cancel('a', how),
    endAsPaid: (sluice, how) => sluice.endAsPaid('a', 'a test', how),
    waitForFinal: (sluice, how) => sluice.waitForFinal('a', how),
  },
  settlements: {
    list: ({ settlements }, how) => settlements.list({}, how).next(),
    page: ({ settlements }, how) => settlements.page({}, how),
    explain: ({ settlements }, how) => settlements.explain('nonce-create/a', how),
    endAsPaid: ({ settlements }, how) => settlements.endAsPaid('nonce-create/a', 'a test', how),
  },
  payments: {
    get: ({ payments }, how) => payments.get('x402/solana:a/b', how),
    revenue: ({ payments }, how) => payments.revenue({}, how),
    revokePass: ({ payments }, how) => payments.revokePass('x402/solana:a/b', 'a test', how),
    list: ({ payments }, how) => payments.list({}, how).next(),
    page: ({ payments }, how) => payments.page({}, how),
  },
  routes: {
    get: ({ routes }, how) => routes.get('1', how),
    put: ({ routes }, how) => routes.put({ routes: [] }, '0', 'a test', how),
    list: ({ routes }, how) => routes.list({}, how).next(),
    page: ({ routes }, how) => routes.page({}, how),
  },
  depositAddresses: {
    assign: ({ depositAddresses }, how) => depositAddresses.assign('user', how),
    get: ({ depositAddresses }, how) => depositAddresses.get('wallet', how),
    ofUser: ({ depositAddresses }, how) => depositAddresses.ofUser('user', how),
    import: ({ depositAddresses }, how) => depositAddresses.import(manifest, how),
    tokenAccount: ({ depositAddresses }, how) => depositAddresses.tokenAccount('wallet', 'mint', how),
  },
  deposits: {
    events: ({ deposits }, how) => deposits.events(how).next(),
    list: ({ deposits }, how) => deposits.list({}, how).next(),
    page: ({ deposits }, how) => deposits.page({}, how),
    get: ({ deposits }, how) => deposits.get('dep', how),
    reject: ({ deposits }, how) => deposits.reject('dep', 'a test', how),
  },
  assets: {
    list: ({ assets }, how) => assets.list(how),
    get: ({ assets }, how) => assets.get('SOL', how),
    put: ({ assets }, how) => assets.put('SOL', {}, how),
  },
  scan: {
    status: ({ scan }, how) => scan.status(how),
    pause: ({ scan }, how) => scan.pause('a test', how),
    resume: ({ scan }, how) => scan.resume('a test', how),
    closeGap: ({ scan }, how) => scan.closeGap(range, 'a test', how),
  },
  backfills: {
    start: ({ backfills }, how) => backfills.start({ ...range, reason: 'a test' }, how),
    get: ({ backfills }, how) => backfills.get('7', how),
    run: ({ backfills }, how) => backfills.run({ address: 'wallet', ...range, reason: 'a test' }, how),
    list: ({ backfills }, how) => backfills.list({}, how).next(),
    page: ({ backfills }, how) => backfills.page({}, how),
  },
  webhooks: {
    put: ({ webhooks }, how) => webhooks.put('https://exchange.example', ['*'], how),
    list: ({ webhooks }, how) => webhooks.list(how),
    remove: ({ webhooks }, how) => webhooks.remove('wh', how),
    rotate: ({ webhooks }, how) => webhooks.rotate('wh', 24, how),
    enable: ({ webhooks }, how) => webhooks.enable('wh', how),
    deliveries: ({ webhooks }, how) => webhooks.deliveries('wh', {}, how),
    replay: ({ webhooks }, how) => webhooks.replay('wh', 'event', how),
  },
  alerts: {
    list: ({ alerts }, how) => alerts.list({}, how).next(),
    page: ({ alerts }, how) => alerts.page({}, how),
    acknowledge: ({ alerts }, how) => alerts.acknowledge(['17'], 'a test', how),
    close: ({ alerts }, how) => alerts.close('maybe_paid', 'a', 'a test', how),
  },
  pauses: {
    open: ({ pauses }, how) => pauses.open(how),
    begin: ({ pauses }, how) => pauses.begin('a test', how),
    end: ({ pauses }, how) => pauses.end('a test', how),
  },
};
const everyCall = Object.entries(CALLS).flatMap(([group, calls]) =>
  Object.entries(calls).map(([name, call]) => [`${group}.${name}`, call] as const),
);

/** The public methods of a part of the client; none for any other value. */
function methodsOf(part: unknown): readonly string[] {
  if (!(part instanceof Calls)) return [];
  const list = part instanceof ListCalls ? ListCalls.prototype : {};
  return [Object.getPrototypeOf(part), list]
    .flatMap((prototype) => Object.getOwnPropertyNames(prototype))
    .filter((name) => name !== 'constructor');
}

describe('the abort signal of a call', () => {
  it('is tested for every call of the client', async () => {
    const { sluice } = await clientOf([]);
    const parts = [['sluice', sluice] as const, ...Object.entries(sluice)];
    const there = parts.flatMap(([group, part]) => methodsOf(part).map((name) => `${group}.${name}`));
    expect(everyCall.map(([name]) => name).toSorted()).toEqual(there.toSorted());
  });

  it.each(everyCall)('ends %s before any request', async (_name, call) => {
    const { server, sluice } = await clientOf([]);
    await expect(call(sluice, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(server.seen).toEqual([]);
  });

  it('is not sent in the body', async () => {
    const { server, sluice } = await clientOf([{ status: 200 }]);
    await sluice.depositAddresses.import(manifest, { since: '7', signal: new AbortController().signal });
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ manifest, since: '7' });
  });
});

test('the client types the code of a failure as one of the known codes', () => {
  const { code } = new SluiceError('NotFound', 404, 'there is none');
  // @ts-expect-error no such code exists
  expect(code === 'NotFond').toBe(false);
});
