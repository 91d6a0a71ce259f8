import { expect, onTestFinished, test } from 'vitest';
import {
  SluiceClient,
  SluiceError,
  type Withdrawal,
  type WithdrawalStatus,
} from '../../src/client/client.ts';
import { clientOf, type ServerStep, startScriptedServer, unavailable } from './scripted-server.ts';

const terms = { id: 'order-1', asset: 'SOL', amount: '18446744073709551615', destination: 'wallet' };

function withdrawal(status: WithdrawalStatus, id = 'order-1'): Withdrawal {
  const self = `/v1/withdrawals/${id}`;
  return {
    ...terms,
    id,
    status,
    reason: null,
    amountReceived: null,
    acceptEmptyWallet: false,
    memo: null,
    confirmedByCustomer: false,
    workflowId: `withdrawal/${id}`,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    links: { self, confirm: `${self}/confirm`, cancel: `${self}/cancel` },
    attempts: [],
  };
}

test('the client sends the terms and the key, and returns the withdrawal', async () => {
  const { server, sluice } = await clientOf([{ status: 202, body: withdrawal('requested') }]);
  await expect(sluice.withdraw(terms)).resolves.toEqual(withdrawal('requested'));
  expect(server.seen).toEqual([
    { method: 'POST', url: '/v1/withdrawals', authorization: 'Bearer key-1', body: JSON.stringify(terms) },
  ]);
});

test('the client retries after a broken connection and after 503, with the same terms', async () => {
  const { server, sluice } = await clientOf([
    'break',
    unavailable,
    { status: 200, body: withdrawal('sending') },
  ]);
  await expect(sluice.withdraw(terms)).resolves.toMatchObject({ status: 'sending' });
  expect(server.seen.map((request) => request.body)).toEqual(Array(3).fill(JSON.stringify(terms)));
});

test('the client stops after the configured number of retries, with the last failure', async () => {
  const server = await startScriptedServer([unavailable, unavailable, unavailable]);
  onTestFinished(() => server.close());
  const retriedCodes: string[] = [];
  const onRetry = ({ code }: SluiceError) => retriedCodes.push(code);
  const sluice = new SluiceClient({ baseUrl: server.url, apiKey: 'key-1', retries: 1, onRetry });
  await expect(sluice.get('order-1')).rejects.toMatchObject({
    code: 'Unavailable',
    status: 503,
    retryable: true,
  });
  expect(server.seen).toHaveLength(2);
  expect(retriedCodes).toEqual(['Unavailable']);
});

test('the client starts no retry after its deadline', async () => {
  const { status, body } = unavailable;
  const server = await startScriptedServer([{ status, body, headers: { 'retry-after': '5' } }]);
  onTestFinished(() => server.close());
  const sluice = new SluiceClient({ baseUrl: server.url, apiKey: 'key-1', retryWithinMs: 4_000 });
  await expect(sluice.get('order-1')).rejects.toMatchObject({ code: 'Unavailable' });
  expect(server.seen).toHaveLength(1);
});

test('the client does not retry when the API refuses, and reports the reason', async () => {
  const problem = { code: 'TermsConflict', detail: 'order-1 has other terms', status: 409 };
  const { server, sluice } = await clientOf([{ status: 409, body: problem }]);
  const error = await sluice.withdraw(terms).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SluiceError);
  expect(error).toMatchObject({
    code: 'TermsConflict',
    status: 409,
    message: 'order-1 has other terms',
    problem,
  });
  expect(server.seen).toHaveLength(1);
});

test('the client reports an answer that is not a problem document as BadAnswer with its status', async () => {
  const { sluice } = await clientOf([{ status: 500, body: '<html>' }]);
  await expect(sluice.get('order-1')).rejects.toMatchObject({
    code: 'BadAnswer',
    status: 500,
    retryable: false,
  });
});

test('the client reports a closed port as Unreachable', async () => {
  const sluice = new SluiceClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key-1', retries: 0 });
  await expect(sluice.get('order-1')).rejects.toMatchObject({ code: 'Unreachable', status: 0 });
});

test('the client lists across pages and passes filter and cursor', async () => {
  const { server, sluice } = await clientOf([
    { status: 200, body: { withdrawals: [withdrawal('held', 'b')], nextCursor: 'next/1' } },
    { status: 200, body: { withdrawals: [withdrawal('held', 'a')], nextCursor: null } },
  ]);
  const ids: string[] = [];
  for await (const { id } of sluice.list({ status: 'held' })) ids.push(id);
  expect(ids).toEqual(['b', 'a']);
  expect(server.seen.map((request) => request.url)).toEqual([
    '/v1/withdrawals?limit=100&status=held',
    '/v1/withdrawals?limit=100&status=held&cursor=next%2F1',
  ]);
});

test('the client explains a withdrawal with one request on its path', async () => {
  const explanation = {
    id: 'a/b',
    status: 'held',
    waitsFor: 'x',
    nextStep: 'y',
    reason: null,
    attempt: null,
  };
  const { server, sluice } = await clientOf([{ status: 200, body: explanation }]);
  await expect(sluice.explain('a/b')).resolves.toEqual(explanation);
  expect(server.seen).toMatchObject([{ method: 'GET', url: '/v1/withdrawals/a%2Fb/explain' }]);
});

test('the client encodes an id as one segment of the path, whatever its characters', async () => {
  const { server, sluice } = await clientOf([{ status: 200, body: withdrawal('cancelled') }]);
  await sluice.cancel('a:b/c');
  expect(server.seen[0]?.url).toBe('/v1/withdrawals/a%3Ab%2Fc/cancel');
});

test('the client waits through a stopped API for the final state and reports each change once', async () => {
  const broken: ServerStep[] = Array(5).fill(unavailable);
  const { sluice } = await clientOf([
    { status: 200, body: withdrawal('sending') },
    { status: 200, body: withdrawal('sending') },
    ...broken,
    { status: 200, body: withdrawal('confirmed') },
    { status: 200, body: withdrawal('finalized') },
  ]);
  const seen: string[] = [];
  const final = await sluice.waitForFinal('order-1', {
    pollMs: 5,
    onChange: ({ status }) => seen.push(status),
  });
  expect(final.status).toBe('finalized');
  expect(seen).toEqual(['sending', 'confirmed', 'finalized']);
});

test('the client ends a wait early with the reason of its signal', async () => {
  const { sluice } = await clientOf([{ status: 200, body: withdrawal('awaiting_funds') }]);
  const stop = new AbortController();
  const waiting = sluice.waitForFinal('order-1', {
    signal: stop.signal,
    pollMs: 60_000,
    onChange: () => stop.abort(new Error('enough')),
  });
  await expect(waiting).rejects.toThrow('enough');
});

test('the client fails at once when it waits for an unknown withdrawal', async () => {
  const { sluice } = await clientOf([{ status: 404, body: { code: 'NotFound', detail: 'there is none' } }]);
  await expect(sluice.waitForFinal('order-1')).rejects.toMatchObject({ code: 'NotFound', status: 404 });
});

test('the client reports each silence of the API once', async () => {
  const { sluice } = await clientOf([
    { status: 200, body: withdrawal('sending') },
    ...Array<ServerStep>(10).fill(unavailable),
    { status: 200, body: withdrawal('sending') },
    ...Array<ServerStep>(5).fill(unavailable),
    { status: 200, body: withdrawal('finalized') },
  ]);
  const silences: string[] = [];
  await sluice.waitForFinal('order-1', { pollMs: 5, onSilence: ({ code }) => silences.push(code) });
  expect(silences).toEqual(['Unavailable', 'Unavailable']);
});

test('the client continues a feed after each page and through a silence, and reports the silence once', async () => {
  const page = (...sequences: readonly string[]): ServerStep => ({
    status: 200,
    body: { events: sequences.map((sequence) => ({ sequence })), next: sequences.at(-1) },
  });
  const { server, sluice } = await clientOf([
    page('4', '5'),
    ...Array<ServerStep>(10).fill(unavailable),
    page('6'),
  ]);
  const [seen, silences]: [string[], string[]] = [[], []];
  const onSilence = ({ code }: SluiceError) => silences.push(code);
  for await (const { sequence } of sluice.deposits.events({
    after: '3',
    userRef: 'u',
    pollMs: 1,
    onSilence,
  })) {
    seen.push(sequence);
    if (sequence === '6') break;
  }
  expect([seen, silences]).toEqual([['4', '5', '6'], ['Unavailable']]);
  expect(server.seen[0]?.url).toBe('/v1/deposits?limit=200&userRef=u&after=3');
  expect(server.seen.at(-1)?.url).toBe('/v1/deposits?limit=200&userRef=u&after=5');
});

test('the client continues a feed where the API searched many events and found none', async () => {
  const looks = [
    { events: [], next: '100' },
    { events: [{ sequence: '150' }], next: '200' },
    { events: [], next: '200' },
  ];
  const { server, sluice } = await clientOf(looks.map((body) => ({ status: 200, body })));
  const seen: string[] = [];
  for await (const { sequence } of sluice.deposits.events({ follow: false })) seen.push(sequence);
  expect(seen).toEqual(['150']);
  expect(server.seen.map(({ url }) => url)).toEqual(
    ['0', '100', '200'].map((after) => `/v1/deposits?limit=200&after=${after}`),
  );
});

test('the client fails a feed that it does not follow when the API is unreachable', async () => {
  const { sluice } = await clientOf(Array<ServerStep>(5).fill(unavailable));
  const feed = sluice.deposits.events({ follow: false });
  await expect(feed.next()).rejects.toMatchObject({ code: 'Unavailable' });
});
