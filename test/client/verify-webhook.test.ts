import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verifyWebhook } from '../../src/client/client.ts';
import { signedHeaders } from '../../src/webhooks/signature.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const secret = newSecret();
const body = JSON.stringify({
  type: 'deposit.final',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { a: 'ü' },
});
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

describe('verifyWebhook', () => {
  it('takes what the reference library takes, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.uuid(), async (data, id) => {
        const text = JSON.stringify({ type: 'deposit.final', timestamp: 'now', data });
        const headers = signedHeaders(id, new Date(), text, [newSecret(), secret]);
        expect(new Webhook(secret).verify(text, headers)).toEqual(JSON.parse(text));
        expect(await verifyWebhook({ headers, body: text }, secret)).toEqual({ ...JSON.parse(text), id });
      }),
    );
  });

  it('reads the headers of fetch as well', async () => {
    const headers = new Headers(signedHeaders('evt_1', new Date(), body, [secret]));
    expect(await verifyWebhook({ headers, body }, secret)).toMatchObject({ id: 'evt_1', data: { a: 'ü' } });
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
      'a request to come',
      () => ({ headers: signedHeaders('e', minutesAgo(-6), body, [secret]), body, key: secret }),
    ],
    [
      'a time that is none',
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
      'a signature that is no base64',
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
