import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApp } from '../../../src/http/app.ts';
import { writeEvent } from '../../../src/ledger/webhooks/outbox.ts';
import { authorization, EXPLORER, openService, type Service } from '../service.ts';

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(async () => service?.close());

function call(method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) {
  return service.app.inject({
    method,
    url,
    headers: { authorization },
    ...(payload === undefined ? {} : { payload }),
  });
}

async function added(url: string, events: readonly string[] = ['*']) {
  const answer = await call('POST', '/v1/webhooks', { url, events });
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

/** Two dead letters of the endpoint, the newest first. */
async function deadLetters(id: string): Promise<readonly string[]> {
  const { db, deliveries } = service.ledger;
  for (const entity of ['deposit/1', 'deposit/2']) {
    await db.transaction().execute((trx) => writeEvent(trx, { type: 'deposit.final', entity, data: {} }));
    const key = await deliveries.nextInLine({ endpoint: id, entity });
    if (key !== null) await deliveries.giveUp(key, 'the receiver answered 500');
  }
  const { rows } = await deliveries.list({ endpoint: id, state: 'dead', limit: 9 });
  return rows.map((row) => row.id);
}

describe('the routes of webhooks', () => {
  it('add an endpoint with a secret that is shown once, list it and delete it', async () => {
    const made = await added('https://exchange.example', ['withdrawal.finalized', 'deposit.*']);
    expect(made).toMatchObject({
      url: 'https://exchange.example/',
      events: ['withdrawal.finalized', 'deposit.*'],
      secret: expect.stringMatching(/^whsec_/),
      disabledBecause: null,
    });
    const { secret: _secret, ...shown } = made;
    expect((await call('GET', '/v1/webhooks')).json()).toEqual({
      webhooks: [{ ...shown, waiting: 0, dead: 0, lastError: null }],
    });
    expect(await added('https://EXCHANGE.example/', ['*'])).toEqual({
      ...shown,
      events: ['*'],
      secret: null,
    });
    expect((await call('DELETE', `/v1/webhooks/${made.id}`)).statusCode).toBe(200);
    expect((await call('DELETE', `/v1/webhooks/${made.id}`)).statusCode).toBe(404);
    expect((await call('GET', '/v1/webhooks')).json()).toEqual({ webhooks: [] });
  });

  it.each([
    ['url', { url: 'http://exchange.example/', events: ['*'] }],
    ['url', { url: 'https://127.0.0.1/', events: ['*'] }],
    ['url', { url: 'https://[::ffff:10.0.0.1]/', events: ['*'] }],
    ['url', { url: 'https://me:secret@exchange.example/', events: ['*'] }],
    ['events', { url: 'https://exchange.example/', events: [] }],
    ['events', { url: 'https://exchange.example/', events: ['*', '*'] }],
    ['events.0', { url: 'https://exchange.example/', events: ['withdrawal.requested'] }],
    ['secret', { url: 'https://exchange.example/', events: ['*'], secret: 'mine' }],
  ])('refuse a wrong %s', async (field, body) => {
    const answer = await call('POST', '/v1/webhooks', body);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'InvalidRequest', field });
    expect(await service.ledger.webhooks.list()).toEqual([]);
  });

  it('accept a private address where that is allowed', async () => {
    const { ledger, temporal } = service;
    const app = await buildApp({ ledger, temporal, explorer: EXPLORER, allowPrivateWebhooks: true });
    const payload = { url: 'http://127.0.0.1:9/', events: ['*'] };
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/webhooks',
      headers: { authorization },
      payload,
    });
    await app.close();
    expect(answer.statusCode).toBe(200);
    await ledger.webhooks.remove(answer.json().id);
  });

  it('rotate the secret, and enable a disabled endpoint', async () => {
    const { id, secret } = await added('https://exchange.example/');
    const rotated = (await call('POST', `/v1/webhooks/${id}/rotate`, {})).json();
    expect(rotated).toMatchObject({ id, secret: expect.stringMatching(/^whsec_/) });
    expect(await service.ledger.webhooks.secretsOf(id)).toEqual([rotated.secret, secret]);
    const leaked = await call('POST', `/v1/webhooks/${id}/rotate`, { keepPreviousHours: 0 });
    expect(leaked.json()).toMatchObject({ previousSecretUntil: null });
    expect((await call('POST', `/v1/webhooks/${id}/rotate`, { keepPreviousHours: 169 })).statusCode).toBe(
      400,
    );
    await service.ledger.webhooks.disable(id, 'of a test');
    expect((await call('GET', '/v1/webhooks')).json().webhooks).toMatchObject([
      { disabledBecause: 'of a test' },
    ]);
    expect((await call('POST', `/v1/webhooks/${id}/enable`)).json()).toMatchObject({ disabledBecause: null });
    await service.ledger.webhooks.remove(id);
  });

  it('list dead letters by pages, and replay one or all', async () => {
    const { id } = await added('https://exchange.example/', ['deposit.*']);
    const [newest, oldest] = await deadLetters(id);
    const first = (await call('GET', `/v1/webhooks/${id}/deliveries?state=dead&limit=1`)).json();
    expect(first.deliveries).toMatchObject([
      { event: newest, type: 'deposit.final', entity: 'deposit/2', lastError: 'the receiver answered 500' },
    ]);
    const next = `/v1/webhooks/${id}/deliveries?state=dead&limit=1&cursor=${first.nextCursor}`;
    expect((await call('GET', next)).json()).toMatchObject({
      deliveries: [{ event: oldest }],
      nextCursor: null,
    });
    const listed = async () => (await call('GET', '/v1/webhooks')).json().webhooks;
    expect(await listed()).toMatchObject([
      { id, waiting: 0, dead: 2, lastError: 'the receiver answered 500' },
    ]);
    const replay = (payload: object) => call('POST', `/v1/webhooks/${id}/replay`, payload);
    expect((await replay({ event: oldest })).json()).toEqual({ replayed: 1 });
    expect((await replay({})).json()).toEqual({ replayed: 1 });
    expect((await replay({})).json()).toEqual({ replayed: 0 });
    expect((await call('GET', `/v1/webhooks/${id}/deliveries`)).json().deliveries).toMatchObject([
      { state: 'waiting', settledAt: null },
      { state: 'waiting' },
    ]);
    const entity = 'deposit/2';
    const key = await service.ledger.deliveries.nextInLine({ endpoint: id, entity });
    if (key !== null) await service.ledger.deliveries.recordFailure(key, 'the receiver answered 503');
    expect(await listed()).toMatchObject([
      { id, waiting: 2, dead: 0, lastError: 'the receiver answered 503' },
    ]);
    await service.ledger.webhooks.remove(id);
  });

  it('name the field of an invalid id', async () => {
    const calls = [
      call('DELETE', '/v1/webhooks/%00'),
      call('GET', '/v1/webhooks/%00/deliveries'),
      ...['rotate', 'enable', 'replay'].map((name) => call('POST', `/v1/webhooks/%00/${name}`, {})),
    ];
    for (const answer of await Promise.all(calls)) {
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ code: 'InvalidRequest', field: 'id' });
    }
    const replay = await call('POST', '/v1/webhooks/wh_none/replay', { event: '\0' });
    expect([replay.statusCode, replay.json().field]).toEqual([400, 'event']);
  });

  it('answer 404 for a missing endpoint, and require a key', async () => {
    for (const url of ['rotate', 'replay'].map((name) => `/v1/webhooks/wh_none/${name}`))
      expect((await call('POST', url, {})).statusCode).toBe(404);
    expect((await call('GET', '/v1/webhooks/wh_none/deliveries')).statusCode).toBe(404);
    expect((await service.app.inject({ method: 'GET', url: '/v1/webhooks' })).statusCode).toBe(401);
  });
});
