import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { authorization, openService, type Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

test.each([
  ['GET', '/v1/deposits?limit=0', 'limit: must be at least 1'],
  ['GET', '/v1/deposits?limit=201', 'limit: must be at most 200'],
  ['GET', '/v1/deposits?limit=many', 'limit: must be a number'],
  ['GET', '/v1/deposits?limit=1.5', 'limit: must be a whole number'],
  ['GET', '/v1/deposits?state=paid', 'state: must be one of pending, final, dropped, not_credited'],
  ['GET', '/v1/deposits?mint=SOL&to=x', 'mint: is not a known field; to: is not a known field'],
  ['POST', '/v1/scan/pause', 'reason: must not be empty', { reason: ' ' }],
  ['POST', '/v1/scan/pause', 'reason: must have at most 500 characters', { reason: 'x'.repeat(501) }],
  // Counted before it is trimmed, as the schema does.
  ['POST', '/v1/scan/pause', 'reason: must have at most 500 characters', { reason: ` ${'x'.repeat(500)}` }],
  ['POST', '/v1/scan/pause', 'reason: is missing', {}],
  ['POST', '/v1/scan/pause', 'reason: must be a string', { reason: 7 }],
  ['POST', '/v1/webhooks', 'url: is missing; events: must not be empty', { events: [] }],
  ['POST', '/v1/webhooks', 'events: must be a list', { url: 'https://a.example/', events: '*' }],
  [
    'POST',
    '/v1/backfills',
    'from: is missing; to: is missing; slots: is not a known field',
    { slots: '1', reason: 'x' },
  ],
] as const)(
  'the API names the field before the fault: %s %s: %s',
  async (method, url, detail, body?: object) => {
    const answer = await service.app.inject({
      method,
      url,
      headers: { authorization },
      ...(body === undefined ? {} : { payload: body }),
    });
    const fields = detail.split('; ').map((sentence) => sentence.split(':')[0]);
    expect(answer.json()).toMatchObject({
      status: 400,
      code: 'InvalidRequest',
      detail,
      field: fields[0],
      fields,
    });
  },
);

test('the API names at most ten faulty fields and cuts each name, so an answer is never as long as the request', async () => {
  const key = (nth: number) => `${nth}${'x'.repeat(300)}`;
  const payload = {
    reason: 'x',
    ...Object.fromEntries(Array.from({ length: 100 }, (_, nth) => [key(nth), 1])),
  };
  const answer = await service.app.inject({
    method: 'POST',
    url: '/v1/scan/pause',
    headers: { authorization },
    payload,
  });
  const { status, field, fields, detail } = answer.json();
  expect([status, fields.length, field]).toEqual([400, 10, fields[0]]);
  expect(detail).toMatch(/; and 90 more$/);
  expect(answer.body.length).toBeLessThan(8_000);
});

test('a pattern has its own message', async () => {
  const answer = await service.app.inject({ url: '/v1/deposits?after=-1', headers: { authorization } });
  expect(answer.json().detail).toBe('after: must be a whole number below 10^18, as a decimal string');
});

test('the API uses the messages of zod for anything but a request', () => {
  const answer = z.object({ slot: z.string() }).safeParse({});
  expect(answer.error?.issues[0]?.message).toMatch(/^Invalid input: expected string/);
});
