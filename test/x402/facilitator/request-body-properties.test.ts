import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { post, useFacilitator } from './support.ts';

const use = useFacilitator();

const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels);

describe('a request to the facilitator', () => {
  it.each([
    ['nothing', '', /body|JSON|empty/i],
    ['no JSON', '{"a":', /JSON/],
    ['a list', '[]', /^body/],
    ['no payload', '{"paymentRequirements":{"scheme":"exact","network":"x"}}', /^paymentPayload: /],
    ['no requirements', '{"paymentPayload":{"x402Version":2}}', /^paymentRequirements: /],
    [
      'a version that is not a number',
      '{"paymentPayload":{"x402Version":"2"}}',
      /^paymentPayload.x402Version: /,
    ],
    ['a prototype key', '{"__proto__":{"isValid":true}}', /__proto__/],
    ['a constructor key', '{"a":{"constructor":{"prototype":{}}}}', /__proto__/],
    ['a key twice', '{"x402Version":1,"x402Version":2}', /must not have the key "x402Version" twice/],
    ['deep lists', nested(30_000), /nested deeper/],
    ['deep objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, /nested deeper/],
  ])('with %s in its body answers 400 with the field', async (_what, text, error) => {
    for (const step of ['verify', 'settle'] as const)
      expect(await post(use.app, step, text)).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(error) },
      });
  });

  it('with another type in one field answers 400 with the field', async () => {
    const body = use.selling.version2('AA==');
    for (const [field, value] of Object.entries({
      amount: 7,
      payTo: null,
      maxTimeoutSeconds: '60',
      extra: [],
    })) {
      const changed = { ...body, paymentRequirements: { ...body.paymentRequirements, [field]: value } };
      const { status, body: answer } = await post(use.app, 'verify', changed);
      expect(status).toBe(400);
      expect(answer['error']).toMatch(new RegExp(`^paymentRequirements.${field}: `));
    }
  });

  it('with too long a body, or another content type than JSON, has a status below 500', async () => {
    const long = JSON.stringify({ a: 'x'.repeat(1_024 * 1_024) });
    expect((await post(use.app, 'settle', long)).status).toBe(413);
    expect((await post(use.app, 'settle', 'a=1', { 'content-type': 'text/plain' })).status).toBe(415);
    const key = { 'idempotency-key': 'k'.repeat(300) };
    expect((await post(use.app, 'settle', use.selling.version2('AA=='), key)).status).toBe(400);
  });

  it('is accepted with braces in a text, which are not nesting', async () => {
    const body = use.selling.version2('AA==', { description: `"\\${nested(100)}` });
    expect((await post(use.app, 'verify', body)).status).toBe(200);
  });
});

/** Values that replace parts of a valid request; one of them often at a place that the code reads. */
const odd = fc.oneof(
  fc.constantFrom(null, '', 0, -1, true, [], {}, '\0', '\ud800', 'constructor', '__proto__', 1e308, 2 ** 64),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.jsonValue({ maxDepth: 4 }),
  fc.base64String({ maxLength: 1_800 }),
);
const place = fc.constantFrom(
  'paymentPayload',
  'paymentPayload.x402Version',
  'paymentPayload.accepted',
  'paymentPayload.accepted.asset',
  'paymentPayload.network',
  'paymentPayload.payload',
  'paymentPayload.payload.transaction',
  'paymentRequirements',
  'paymentRequirements.scheme',
  'paymentRequirements.network',
  'paymentRequirements.asset',
  'paymentRequirements.payTo',
  'paymentRequirements.amount',
  'paymentRequirements.maxAmountRequired',
  'paymentRequirements.maxTimeoutSeconds',
  'paymentRequirements.extra',
  'paymentRequirements.extra.feePayer',
  'paymentRequirements.extra.memo',
);

function put(body: object, path: string, value: unknown): object {
  const [head = '', ...rest] = path.split('.');
  const inner = Object.getOwnPropertyDescriptor(body, head)?.value as unknown;
  const deeper = typeof inner === 'object' && inner !== null ? inner : {};
  return { ...body, [head]: rest.length === 0 ? value : put(deeper, rest.join('.'), value) };
}

describe('a random request to the facilitator', () => {
  const run = async (payload: string | object): Promise<void> => {
    for (const step of ['verify', 'settle'] as const) {
      const { status, body } = await post(use.app, step, payload);
      expect(status).toBeLessThan(500);
      if (status === 200) expect(body).toHaveProperty(step === 'verify' ? 'isValid' : 'success', false);
      else expect(body).toHaveProperty('error');
    }
  };

  it('with replaced parts of a valid request is never a server error, nor a success', async () => {
    const changes = fc.array(fc.tuple(place, odd), { minLength: 1, maxLength: 3 });
    const transaction = await use.selling.transaction();
    await fc.assert(
      fc.asyncProperty(fc.boolean(), changes, async (isFirst, changed) => {
        const sound = isFirst
          ? use.selling.version1('AA==')
          : use.selling.version2(transaction, { amount: '1' });
        await run(changed.reduce((body, [at, value]) => put(body, at, value), sound as object));
      }),
      { numRuns: 200 },
    );
  });

  it('as text is never a server error', async () => {
    const text = fc.oneof(
      fc.json({ maxDepth: 6 }),
      fc.string({ unit: 'binary', maxLength: 500 }),
      fc.nat({ max: 2_000 }).map((levels) => nested(levels, '{"__proto__":', '}')),
    );
    await fc.assert(fc.asyncProperty(text, run), { numRuns: 200 });
  });
});
