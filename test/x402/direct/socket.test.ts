import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewPayment } from '../../../src/ledger/x402/payments.ts';
import { DirectClient } from '../../../src/x402/direct/client.ts';
import { readOutcome, readSettleRequest, writeSettleRequest } from '../../../src/x402/direct/protocol.ts';
import { serveDirect } from '../../../src/x402/direct/server.ts';
import type { DirectSettlements } from '../../../src/x402/direct/settle.ts';
import { newPayment } from '../../ledger/new-payment.ts';

type Settle = DirectSettlements['settle'];

const SETTLED = { kind: 'settled', status: 'confirmed', signature: 'a signature' } as const;
let dir: string;
let path: string;
let closers: (() => Promise<unknown>)[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'socket-'));
  path = join(dir, 'x402.sock');
  closers = [];
});
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
  rmSync(dir, { recursive: true });
});

async function serve(settle: Settle = async () => SETTLED) {
  const server = await serveDirect({ settle }, path, () => undefined);
  closers.push(() => server.close());
  return server;
}

function client(warnings: string[] = []) {
  const created = new DirectClient(path, (_error, message) => warnings.push(message));
  closers.push(() => created.close());
  return created;
}

const text = fc.string();
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
/** The server refuses a body with the key `__proto__`: the gateway then settles by the workflow. */
const headerName = text.filter((name) => name !== '__proto__');
const headers = fc.dictionary(headerName, text, { noNullPrototype: true });

const payments: fc.Arbitrary<NewPayment> = fc
  .record({
    seller: fc.constantFrom('gateway', 'facilitator'),
    dialect: fc.constantFrom('v1', 'v2'),
    payer: text,
    feeLamports: u64,
    computeUnitLimit: fc.nat(),
    computeUnitPriceMicroLamports: u64,
    acceptedSlot: u64,
    caller: fc.record({
      identifier: orNull(text),
      authorization: orNull(text),
      cookie: orNull(text),
      address: orNull(text),
    }),
    request: orNull(
      fc.record({
        method: text,
        url: text,
        headers,
        routeHeaders: fc.dictionary(
          headerName,
          fc.oneof(text, fc.record({ env: text }, { noNullPrototype: true })),
          {
            noNullPrototype: true,
          },
        ),
        body: text,
        isRepeatable: fc.boolean(),
        timeoutMs: fc.nat(),
      }),
    ),
    answer: orNull(
      fc.record({
        status: fc.nat(),
        headers: fc.dictionary(headerName, fc.oneof(text, fc.array(text)), { noNullPrototype: true }),
        body: text,
      }),
    ),
    isAsked: fc.constant(false),
    facilitatorKey: text,
    claim: orNull(text),
    lease: fc.record({ holder: text, ms: fc.nat() }),
  })
  .map((change) => newPayment(change));

describe('a payment that is sent over the socket', () => {
  it('arrives unchanged', () => {
    fc.assert(
      fc.property(payments, (payment) => {
        const sent = { payment, withinMs: 5_000, storeBefore: 9 };
        expect(readSettleRequest(JSON.parse(writeSettleRequest(sent)))).toEqual(sent);
      }),
    );
  });

  it.each([
    ['an unknown field', { extra: true }],
    ['a signature of its fee payer', { signature: 'a signature' }],
    ['an upstream that is called first', { isAsked: true }],
    ['the dialect of a buyer who signs everything', { dialect: 'example' }],
  ])('is refused with %s', (_, change) => {
    const sent: unknown = JSON.parse(
      writeSettleRequest({ payment: newPayment(), withinMs: 1, storeBefore: 9 }),
    );
    const changed = { ...(sent as object), payment: { ...(sent as { payment: object }).payment, ...change } };
    expect(() => readSettleRequest(changed)).toThrow();
  });
});

describe('the socket of the x402 worker', () => {
  it('answers with the outcome, and is for its user only', async () => {
    const seen: NewPayment[] = [];
    await serve(async ({ payment }) => {
      seen.push(payment);
      return SETTLED;
    });
    const payment = newPayment();
    expect(await client().settle(payment)).toEqual(SETTLED);
    expect(seen).toEqual([payment]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['x402.sock']);
  });

  it('declines where no worker listens, and where a settlement fails, and logs each outage once', async () => {
    const warnings: string[] = [];
    const caller = client(warnings);
    for (const _ of [1, 2]) expect((await caller.settle(newPayment())).kind).toBe('declined');
    expect(warnings).toHaveLength(1);
    let fails = false;
    const server = await serve(async () => {
      if (fails) throw new Error('no database');
      return SETTLED;
    });
    expect((await caller.settle(newPayment())).kind).toBe('settled');
    fails = true;
    const failed = [newPayment(), newPayment()];
    for (const payment of failed) expect((await caller.settle(payment)).kind).toBe('declined');
    expect(warnings.slice(1)).toEqual(
      failed.map(({ id }) => `the x402 worker did not settle payment ${id} (500): its workflow settles it`),
    );
    await server.close();
    for (const _ of [1, 2]) expect((await caller.settle(newPayment())).kind).toBe('declined');
    expect(warnings.slice(3)).toEqual([expect.stringContaining('cannot settle directly')]);
  });

  it('passes from a worker to the next one, whose file the end of the first leaves alone', async () => {
    const first = await serve(async () => ({ kind: 'declined', reason: 'the first' }));
    const earlier = client();
    expect(await earlier.settle(newPayment())).toEqual({ kind: 'declined', reason: 'the first' });
    await serve();
    expect(await client().settle(newPayment())).toEqual(SETTLED);
    await first.close();
    expect(await client().settle(newPayment())).toEqual(SETTLED);
    expect(await earlier.settle(newPayment())).toEqual(SETTLED);
  });

  it('names its setting if the directory does not exist', async () => {
    path = join(dir, 'missing', 'x402.sock');
    await expect(serve()).rejects.toThrow('the directory of SLUICE_X402_SOCKET');
  });

  it('does not replace a file that is no socket', async () => {
    writeFileSync(path, 'a file');
    await expect(serve()).rejects.toThrow('is not a socket');
    expect(readdirSync(dir)).toEqual(['x402.sock']);
  });

  it('refuses a body that it cannot read', async () => {
    await serve();
    expect(await post('{"payment":{}}')).toBe(400);
  });

  it('settles no request that its schema refuses, whatever the body is', async () => {
    const settled: NewPayment[] = [];
    await serve(async ({ payment }) => {
      settled.push(payment);
      return SETTLED;
    });
    const sound = JSON.parse(
      writeSettleRequest({ payment: newPayment(), withinMs: 1, storeBefore: 9 }),
    ) as object;
    const places = placesIn(sound);
    const changed = fc
      .array(fc.tuple(fc.constantFrom(...places), odd), { minLength: 1, maxLength: 3 })
      .map((changes) => changes.reduce((body, [place, value]) => put(body, place, value), sound))
      .map((body) => JSON.stringify(body));
    const bodies = fc.oneof(changed, fc.json(), fc.string({ unit: 'binary', maxLength: 500 }));
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        settled.length = 0;
        const status = await post(body);
        expect(settled).toEqual(status === 200 ? [readSettleRequest(JSON.parse(body)).payment] : []);
      }),
      { numRuns: 300 },
    );
    expect(await post(JSON.stringify(sound))).toBe(200);
  });
});

describe('the gateway', () => {
  it('declines an answer of the socket that it cannot read, and never throws', async () => {
    let answer: SocketAnswer = { status: 200, body: '', isCut: false };
    const server = createServer((_request, response) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      if (answer.isCut) response.write(answer.body, () => response.destroy());
      else response.end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const caller = client();
    const outcome = fc.record({
      kind: fc.constantFrom('settled', 'stopped', 'declined'),
      status: odd,
      signature: odd,
    });
    const answers = fc.record({
      status: fc.constantFrom(200, 200, 400, 500),
      body: fc.oneof(
        outcome.map((one) => JSON.stringify(one)),
        fc.json(),
        fc.string(),
      ),
      isCut: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(answers, async (next) => {
        answer = next;
        const { kind } = await caller.settle(newPayment());
        expect(kind).toBe(isOutcome(next) ? JSON.parse(next.body).kind : 'declined');
      }),
      { numRuns: 200 },
    );
  });
});

interface SocketAnswer {
  readonly status: number;
  readonly body: string;
  /** The connection ends before the answer does. */
  readonly isCut: boolean;
}

/** True for an outcome that the schema of the protocol accepts. */
function isOutcome({ status, body, isCut }: SocketAnswer): boolean {
  if (status !== 200 || isCut) return false;
  try {
    readOutcome(JSON.parse(body));
    return true;
  } catch {
    return false;
  }
}

function post(body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: path, path: '/settle', method: 'POST' }, (response) =>
      resolve(response.resume().statusCode ?? 0),
    );
    call.once('error', reject);
    call.setHeader('content-type', 'application/json').end(body);
  });
}

const odd = fc.oneof(
  fc.constantFrom(
    null,
    '',
    0,
    -1,
    2 ** 64,
    true,
    [],
    {},
    '18446744073709551616',
    '-1',
    '\ud800',
    'confirmed',
  ),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** The paths of all fields of a JSON object. */
function placesIn(body: object, before: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(body).flatMap(([key, value]) => {
    const place = [...before, key];
    return [place, ...(typeof value === 'object' && value !== null ? placesIn(value, place) : [])];
  });
}

function put(body: object, [head = '', ...rest]: readonly string[], value: unknown): object {
  const inner = Object.getOwnPropertyDescriptor(body, head)?.value as unknown;
  const deeper = typeof inner === 'object' && inner !== null ? inner : {};
  return { ...body, [head]: rest.length === 0 ? value : put(deeper, rest, value) };
}
