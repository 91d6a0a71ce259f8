import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { verifyWebhook } from '../../src/client/client.ts';
import { signedHeaders } from '../../src/webhooks/signature.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const secret = newSecret();
const body = JSON.stringify({
  type: 'deposit.final',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { a: 'ü' },
});
const DOCUMENTATION = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

describe('verifyWebhook', () => {
  it('accepts every event that the reference library accepts, whatever its content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.uuid(), async (data, id) => {
        const text = JSON.stringify({ type: 'deposit.final', timestamp: 'now', data });
        const headers = signedHeaders(id, new Date(), text, [newSecret(), secret]);
        expect(new Webhook(secret).verify(text, headers)).toEqual(JSON.parse(text));
        expect(await verifyWebhook({ headers, body: text }, secret)).toEqual({ ...JSON.parse(text), id });
      }),
    );
  });

  it('also reads the headers of fetch', async () => {
    const headers = new Headers(signedHeaders('evt_1', new Date(), body, [secret]));
    expect(await verifyWebhook({ headers, body }, secret)).toMatchObject({ id: 'evt_1', data: { a: 'ü' } });
  });

  it('also reads the body as bytes', async () => {
    const headers = signedHeaders('evt_1', new Date(), body, [secret]);
    const bytes = new TextEncoder().encode(body);
    expect(await verifyWebhook({ headers, body: bytes }, secret)).toMatchObject({ data: { a: 'ü' } });
  });

  it('takes the event id from the signed header, whatever the body contains', async () => {
    const text = JSON.stringify({ id: 'evt_of_the_body', type: 'deposit.final' });
    const headers = signedHeaders('evt_1', new Date(), text, [secret]);
    expect(await verifyWebhook({ headers, body: text }, secret)).toMatchObject({ id: 'evt_1' });
  });

  it.each(['', 'whsec_', 'not base64!'])('reports an invalid secret as invalid: "%s"', async (none) => {
    await expect(verifyWebhook({ headers: good(), body }, none)).rejects.toThrow(TypeError);
  });

  it('accepts the example of the documentation with the signature of the reference library', async () => {
    const example = (name: string) => new RegExp(`^${name} +(.+)$`, 'm').exec(DOCUMENTATION)?.[1] ?? '';
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    const headers = Object.fromEntries(names.map((name) => [name, example(name)]));
    const [text, key] = [example('body'), example('secret')];
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    expect(new Webhook(key).sign(example('webhook-id'), at, text)).toBe(headers['webhook-signature']);
    vi.useFakeTimers({ toFake: ['Date'], now: at });
    onTestFinished(() => void vi.useRealTimers());
    expect(await verifyWebhook({ headers, body: text }, key)).toMatchObject({ data: { userRef: 'Zoë' } });
  });

  const good = () => signedHeaders('evt_1', new Date(), body, [secret]);
  it.each([
    ['another secret', () => ({ headers: good(), body, key: newSecret() })],
    ['another body', () => ({ headers: good(), body: `${body} `, key: secret })],
    ['another id', () => ({ headers: { ...good(), 'webhook-id': 'evt_2' }, body, key: secret })],
    [
      'an old request',
      () => ({ headers: signedHeaders('e', minutesAgo(6), body, [secret]), body, key: secret }),
    ],
    [
      'a request from the future',
      () => ({ headers: signedHeaders('e', minutesAgo(-6), body, [secret]), body, key: secret }),
    ],
    [
      'an invalid timestamp',
      () => ({ headers: { ...good(), 'webhook-timestamp': 'now' }, body, key: secret }),
    ],
    ['no signature', () => ({ headers: { ...good(), 'webhook-signature': undefined }, body, key: secret })],
    [
      'a signature of another version',
      () => ({
        headers: { ...good(), 'webhook-signature': `v2,${good()['webhook-signature']?.slice(3)}` },
        body,
        key: secret,
      }),
    ],
    [
      'a signature that is not base64',
      () => ({ headers: { ...good(), 'webhook-signature': 'v1,%%%' }, body, key: secret }),
    ],
  ])('refuses %s', async (_what, make) => {
    const { headers, body: text, key } = make();
    await expect(verifyWebhook({ headers, body: text }, key)).rejects.toMatchObject({
      code: 'WebhookRefused',
      retryable: false,
    });
  });
});
