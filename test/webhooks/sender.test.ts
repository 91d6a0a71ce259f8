import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../devkit/localstack/ports.ts';
import { OwnFault, type SenderOptions, WebhookSender } from '../../src/webhooks/sender.ts';
import { answering, type Behaviour, type Receiver, startReceiver } from './receiver.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

async function receiver(behaviour?: Behaviour, host?: string): Promise<Receiver> {
  const started = await startReceiver(behaviour, host);
  open.push(started);
  return started;
}

function sender(options: SenderOptions = {}): WebhookSender {
  const made = new WebhookSender({ allowPrivate: true, ...options });
  open.push(made);
  return made;
}

const addresses =
  (...answers: readonly string[]) =>
  (asked: string[]) =>
  async (hostname: string) => {
    const address = answers[asked.length] ?? answers.at(-1) ?? '';
    asked.push(hostname);
    return [{ address, family: 4 }];
  };

describe('the webhook sender', () => {
  it('sends headers and body, and returns the status of the answer', async () => {
    const { port, received } = await receiver(answering(202));
    const answer = await sender().post(
      `http://127.0.0.1:${port}/a?b=c`,
      { 'webhook-id': 'evt_1' },
      '{"x":"ü"}',
    );
    expect(answer).toEqual({ status: 202, retryAfterMs: null, date: expect.any(Date) });
    expect(received).toMatchObject([
      { body: '{"x":"ü"}', headers: { 'webhook-id': 'evt_1', 'content-type': 'application/json' } },
    ]);
  });

  it('does not follow a redirect', async () => {
    const target = await receiver();
    const { port } = await receiver((response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end(),
    );
    expect(await sender().post(`http://127.0.0.1:${port}/`, {}, '{}')).toMatchObject({ status: 307 });
    expect(target.received).toEqual([]);
  });

  it('reads Retry-After', async () => {
    const { port } = await receiver((response) => response.writeHead(429, { 'retry-after': '7' }).end());
    const answer = await sender().post(`http://127.0.0.1:${port}/`, {}, '{}');
    expect(answer).toMatchObject({ status: 429, retryAfterMs: 7_000 });
  });

  it('stops reading an answer of 3 MB and an endless answer', async () => {
    const { port } = await receiver((response, _received, n) => {
      if (n === 1) return response.writeHead(200).end(Buffer.alloc(3 * 1024 * 1024));
      const fill = (): void => {
        while (response.write(Buffer.alloc(64 * 1024)));
      };
      response.writeHead(200).on('drain', fill);
      fill();
    });
    const patient = sender({ timeoutMs: 3_600_000 });
    for (const _kind of ['3 MB', 'endless'])
      expect(await patient.post(`http://127.0.0.1:${port}/`, {}, '{}')).toMatchObject({ status: 200 });
  });

  it('gives a receiver with slow headers, or without an answer, a limited time', async () => {
    const { port } = await receiver((response, _received, n) => {
      if (n > 1) return;
      response.socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
      const drip = setInterval(() => response.socket?.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
    const impatient = sender({ timeoutMs: 200 });
    for (const _kind of ['drips', 'silent'])
      await expect(impatient.post(`http://127.0.0.1:${port}/`, {}, '{}')).rejects.toThrow(
        'no response within 200 ms',
      );
  });

  it('takes a status without the end of its body as an answer', async () => {
    const { port } = await receiver((response) => void response.writeHead(200).write('.'));
    // The sender waits this long for the body; the head must arrive within it.
    const patient = sender({ timeoutMs: 2_000 });
    expect(await patient.post(`http://127.0.0.1:${port}/`, {}, '{}')).toMatchObject({ status: 200 });
  });

  it('names an unreachable receiver', async () => {
    await expect(sender().post(`http://127.0.0.1:${await freePort()}/`, {}, '{}')).rejects.toThrow(
      /^connect ECONNREFUSED$/,
    );
  });
});

describe('a webhook that cannot be sent', () => {
  const failed = (code: string) => Object.assign(new Error(code), { code });

  it.each([
    ['the resolver fails temporarily', failed('EAI_AGAIN'), true],
    ['the name does not exist', failed('ENOTFOUND'), false],
    ['every address is unreachable', new AggregateError([failed('ENETUNREACH'), failed('ENETDOWN')]), true],
    [
      'one address is unreachable, the other refuses connections',
      new AggregateError([failed('ENETUNREACH'), failed('ECONNREFUSED')]),
      false,
    ],
  ])('reports whether the fault is our own: %s', async (_, error, isOurs) => {
    const post = sender({ resolve: () => Promise.reject(error) }).post('http://exchange.example/', {}, '{}');
    const fault: unknown = await post.catch((caught: unknown) => caught);
    expect(fault).toBeInstanceOf(Error);
    expect(fault instanceof OwnFault).toBe(isOurs);
  });

  it('does not wait for a silent resolver, and reports that as our own fault', async () => {
    const silent = sender({ resolve: () => new Promise(() => undefined), timeoutMs: 3_000 });
    await expect(silent.post('http://exchange.example/', {}, '{}')).rejects.toThrow(
      new OwnFault('no DNS resolver returned an address of exchange.example within 2000 ms'),
    );
  });
});

describe('the DNS resolver', () => {
  it('gets one request for a name at a time, so that a silent name leaves threads for others', async () => {
    const { port } = await receiver();
    const asked: string[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const made = sender({
      resolve: async (hostname) => {
        asked.push(hostname);
        if (hostname === 'slow.example') await released;
        return [{ address: '127.0.0.1', family: 4 }];
      },
    });
    const post = (name: string) => made.post(`http://${name}.example:${port}/`, {}, '{}');
    const slow = Promise.all(Array.from({ length: 20 }, () => post('slow')));
    expect(await post('quick')).toMatchObject({ status: 204 });
    expect(asked.filter((name) => name === 'slow.example')).toHaveLength(1);
    release();
    expect((await slow).map(({ status }) => status)).toEqual(Array(20).fill(204));
    expect(asked.toSorted()).toEqual(['quick.example', 'slow.example']);
  });
});

describe('a webhook reaches no private address', () => {
  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '::',
    '::1',
    '169.254.169.254',
    'fe80::1',
    '::ffff:10.0.0.1',
    '100.64.0.1',
  ])('behind a public name: %s', async (address) => {
    const resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address, family: address.includes(':') ? 6 : 4 },
    ];
    const strict = sender({ allowPrivate: false, resolve });
    await expect(strict.post('https://exchange.example/', {}, '{}')).rejects.toThrow(
      'exchange.example has an address that is not public',
    );
  });

  it('in the URL itself', async () => {
    const { port, received } = await receiver();
    const strict = sender({ allowPrivate: false });
    for (const host of [
      '127.0.0.1',
      '0x7f.1',
      '0177.0.0.1',
      '2130706433',
      '0',
      '127.1',
      '127.0.0.1.',
      '[::]',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
    ])
      await expect(strict.post(`https://${host}:${port}/`, {}, '{}')).rejects.toThrow(/not public/);
    await expect(strict.post(`http://exchange.example:${port}/`, {}, '{}')).rejects.toThrow(/https/);
    expect(received).toEqual([]);
  });

  it('that a name changes to: the sender connects to the checked address', async () => {
    const judged = await receiver();
    const rebound = await startReceiver(answering(204), '127.0.0.2');
    open.push(rebound);
    const asked: string[] = [];
    const made = sender({
      resolve: addresses('127.0.0.1', '127.0.0.2')(asked),
      mayReach: (address) => address === '127.0.0.1',
    });
    expect(await made.post(`http://exchange.example:${judged.port}/`, {}, '{}')).toMatchObject({
      status: 204,
    });
    expect(asked).toEqual(['exchange.example']);
    await expect(made.post(`http://exchange.example:${rebound.port}/`, {}, '{}')).rejects.toThrow(
      'exchange.example has an address that is not public',
    );
    expect([judged.received.length, rebound.received.length]).toEqual([1, 0]);
  });

  it('where a name has no address', async () => {
    await expect(
      sender({ resolve: async () => [] }).post('http://exchange.example/', {}, '{}'),
    ).rejects.toThrow('exchange.example has no address');
  });
});
