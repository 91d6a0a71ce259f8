import { expect, onTestFinished, test } from 'vitest';
import {
  SluiceClient,
  SluiceError,
  type Withdrawal,
  type WithdrawalStatus,
} from '../../src/client/client.ts';
import { clientOf, playServer, type Step, unavailable } from './scripted-server.ts';

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

test('sends terms and key, and gives back the withdrawal', async () => {
  const { server, sluice } = await clientOf([{ status: 202, body: withdrawal('requested') }]);
  await expect(sluice.withdraw(terms)).resolves.toEqual(withdrawal('requested'));
  expect(server.seen).toEqual([
    { method: 'POST', url: '/v1/withdrawals', authorization: 'Bearer key-1', body: JSON.stringify(terms) },
  ]);
});

test('asks again after a broken connection and after 503, with the same terms', async () => {
  const { server, sluice } = await clientOf([
    'break',
    unavailable,
    { status: 200, body: withdrawal('sending') },
  ]);
  await expect(sluice.withdraw(terms)).resolves.toMatchObject({ status: 'sending' });
  expect(server.seen.map((request) => request.body)).toEqual(Array(3).fill(JSON.stringify(terms)));
});

test('gives up after the set number of retries, with the last failure', async () => {
  const server = await playServer([unavailable, unavailable, unavailable]);
  onTestFinished(() => server.close());
  const told: string[] = [];
  const onRetry = ({ code }: SluiceError) => told.push(code);
  const sluice = new SluiceClient({ baseUrl: server.url, apiKey: 'key-1', retries: 1, onRetry });
  await expect(sluice.get('order-1')).rejects.toMatchObject({
    code: 'Unavailable',
    status: 503,
    retryable: true,
  });
  expect(server.seen).toHaveLength(2);
  expect(told).toEqual(['Unavailable']);
});

test('begins no try later than it may', async () => {
  const { status, body } = unavailable;
  const server = await playServer([{ status, body, headers: { 'retry-after': '5' } }]);
  onTestFinished(() => server.close());
  const sluice = new SluiceClient({ baseUrl: server.url, apiKey: 'key-1', retryWithinMs: 4_000 });
  await expect(sluice.get('order-1')).rejects.toMatchObject({ code: 'Unavailable' });
  expect(server.seen).toHaveLength(1);
});

test('does not ask again when the API refuses, and says why', async () => {
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

test('an answer that is no problem document is BadAnswer with its status', async () => {
  const { sluice } = await clientOf([{ status: 500, body: '<html>' }]);
  await expect(sluice.get('order-1')).rejects.toMatchObject({
    code: 'BadAnswer',
    status: 500,
    retryable: false,
  });
});

test('nobody listening is Unreachable', async () => {
  const sluice = new SluiceClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key-1', retries: 0 });
  await expect(sluice.get('order-1')).rejects.toMatchObject({ code: 'Unreachable', status: 0 });
});

test('lists across pages and passes filter and cursor', async () => {
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

test('explains: one question on the path of the withdrawal', async () => {
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

test('an id is one part of the path, whatever its characters', async () => {
  const { server, sluice } = await clientOf([{ status: 200, body: withdrawal('cancelled') }]);
  await sluice.cancel('a:b/c');
  expect(server.seen[0]?.url).toBe('/v1/withdrawals/a%3Ab%2Fc/cancel');
});

test('waits through a stopped API for the final state and reports each change once', async () => {
  const broken: Step[] = Array(5).fill(unavailable);
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

test('a wait ends early with the reason of its signal', async () => {
  const { sluice } = await clientOf([{ status: 200, body: withdrawal('awaiting_funds') }]);
  const stop = new AbortController();
  const waiting = sluice.waitForFinal('order-1', {
    signal: stop.signal,
    pollMs: 60_000,
    onChange: () => stop.abort(new Error('enough')),
  });
  await expect(waiting).rejects.toThrow('enough');
});

test('a wait for an unknown withdrawal fails at once', async () => {
  const { sluice } = await clientOf([{ status: 404, body: { code: 'NotFound', detail: 'there is none' } }]);
  await expect(sluice.waitForFinal('order-1')).rejects.toMatchObject({ code: 'NotFound', status: 404 });
});

test('tells once of each silence of the API', async () => {
  const { sluice } = await clientOf([
    { status: 200, body: withdrawal('sending') },
    ...Array<Step>(10).fill(unavailable),
    { status: 200, body: withdrawal('sending') },
    ...Array<Step>(5).fill(unavailable),
    { status: 200, body: withdrawal('finalized') },
  ]);
  const silences: string[] = [];
  await sluice.waitForFinal('order-1', { pollMs: 5, onSilence: ({ code }) => silences.push(code) });
  expect(silences).toEqual(['Unavailable', 'Unavailable']);
});

test('a feed goes on after each page, asks on through a silence, and tells of it once', async () => {
  const page = (...sequences: readonly string[]): Step => ({
    status: 200,
    body: { events: sequences.map((sequence) => ({ sequence })), next: sequences.at(-1) },
  });
  const { server, sluice } = await clientOf([
    page('4', '5'),
    ...Array<Step>(10).fill(unavailable),
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

test('a feed goes on where the API looked at many events, and found none', async () => {
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

test('a feed that is not followed fails when the API is away', async () => {
  const { sluice } = await clientOf(Array<Step>(5).fill(unavailable));
  const feed = sluice.deposits.events({ follow: false });
  await expect(feed.next()).rejects.toMatchObject({ code: 'Unavailable' });
});
