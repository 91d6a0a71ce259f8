import { randomBytes } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Deadline } from '../../src/solana/rpc/deadline.ts';
import { type NodeOptions, SolanaNode } from '../../src/solana/rpc/node.ts';

const HELD_BYTES = 1_000;
const MIB = 1_024 * 1_024;
const ENVELOPE = Buffer.from('{"result":{},"id":1}');
let server: Server | undefined;
let node: SolanaNode | undefined;

/** A node that gives an answer of many parts to the first question, and to every other one. */
async function open(
  answer: (response: ServerResponse) => Promise<void>,
  options: NodeOptions = {},
): Promise<SolanaNode> {
  server = createServer((_request, response) => void answer(response).catch(() => response.destroy()));
  await new Promise<void>((ready) => server?.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  node = new SolanaNode(`http://127.0.0.1:${port}`, { maxBytes: HELD_BYTES, ...options });
  return node;
}
afterEach(async () => {
  await node?.close();
  server?.closeAllConnections();
  server?.close();
});

async function joined(parts: AsyncIterable<Uint8Array>) {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return { envelope: ENVELOPE, text: Buffer.concat(all).toString('latin1') };
}

/** The clock of deadlines, until the end of the test: however long this process pauses, only the test advances it. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

const ask = (asked: SolanaNode, read = joined) => asked.bytes('getBlock', [], read);

describe('an answer too long for memory', () => {
  // What cannot be packed is longer than may be held as it comes, too.
  const [short, long, loose] = [
    'x'.repeat(HELD_BYTES),
    'x'.repeat(HELD_BYTES * 50),
    randomBytes(HELD_BYTES * 50).toString('hex'),
  ];

  it.each([
    ['as it is', (text: string) => [Buffer.from(text)], {}],
    ['packed', (text: string) => [gzipSync(text)], { 'content-encoding': 'gzip' }],
    [
      'packed in members',
      (text: string) => [gzipSync(text.slice(0, 700)), gzipSync(text.slice(700))],
      { 'content-encoding': 'gzip' },
    ],
  ])('is read from its first byte to its last, %s', async (_name, pack, headers) => {
    for (const text of [`${short}y`, long, loose]) {
      const asked = await open(async (response) => {
        response.writeHead(200, headers);
        for (const member of pack(text))
          for (let at = 0; at < member.length; at += 333) response.write(member.subarray(at, at + 333));
        response.end();
      });
      expect(await ask(asked)).toEqual({ envelope: ENVELOPE, text });
      await asked.close();
      server?.close();
    }
  });

  it('is refused when its envelope answers another request or contains an error', async () => {
    const asked = await open(async (response) => void response.end(long));
    const envelope = (text: string) =>
      ask(asked, async (parts) => ({ ...(await joined(parts)), envelope: Buffer.from(text) }));
    await expect(envelope('{"result":{},"id":7}')).rejects.toMatchObject({ code: 'NodeFault' });
    await expect(envelope('{"error":{"code":-32004,"message":"later"},"id":2}')).rejects.toMatchObject({
      code: -32004,
    });
    await expect(envelope('{"result":{')).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('is a fault of the node when it is cut short', async () => {
    const asked = await open(async (response) => {
      response.write(long);
      await sleep(20);
      response.destroy();
    });
    await expect(ask(asked)).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('throws the error of its reader, and reads no more', async () => {
    let isCut = false;
    const asked = await open(async (response) => {
      response.on('close', () => {
        isCut = true;
      });
      while (!isCut) {
        response.write(long);
        await sleep(1);
      }
    });
    const read = async (parts: AsyncIterable<Uint8Array>): Promise<never> => {
      for await (const _ of parts) throw new RangeError('a defect');
      throw new Error('nothing came');
    };
    await expect(ask(asked, read)).rejects.toThrow(new RangeError('a defect'));
    await vi.waitFor(() => expect(isCut).toBe(true), 20_000);
  });

  it.each([
    ['as it is', (text: string) => Buffer.from(text), {}],
    ['packed', (text: string) => gzipSync(text), { 'content-encoding': 'gzip' }],
  ])('is dropped at once when its reader ends while it is stalled, %s', async (_name, pack, headers) => {
    let isCut = false;
    const asked = await open(
      async (response) => {
        response.on('close', () => {
          isCut = true;
        });
        response.writeHead(200, headers);
        response.write(pack(randomBytes(MIB).toString('hex')).subarray(0, -MIB / 4));
      },
      { timeoutMs: 600_000 },
    );
    const read = async (parts: AsyncIterable<Uint8Array>): Promise<never> => {
      void joined(parts).catch(() => undefined);
      await sleep(300);
      throw new RangeError('a defect');
    };
    await expect(ask(asked, read)).rejects.toThrow(new RangeError('a defect'));
    await vi.waitFor(() => expect(isCut).toBe(true), 20_000);
  });

  it('is cut off when it never ends, and its node is paused for minutes', async () => {
    const asked = await open(
      async (response) => {
        while (!response.destroyed) {
          response.write(long);
          await sleep(1);
        }
      },
      { maxPartsBytes: 1_000_000 },
    );
    const error: unknown = await ask(asked).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'NodeFault', message: expect.stringContaining('1000000 bytes') });
    expect(error).toMatchObject({ retryAfterMs: 300_000 });
  });

  it('is read while bytes arrive', async () => {
    stopClock();
    const part = 'x'.repeat(MIB);
    let answer: ServerResponse | undefined;
    const asked = await open(
      async (response) => {
        answer = response;
        answer.write(part);
      },
      { timeoutMs: 1_000 },
    );
    const read = async (parts: AsyncIterable<Uint8Array>) => {
      let text = '';
      for await (const some of parts) {
        text += Buffer.from(some).toString();
        if (text.length % MIB > 0) continue;
        vi.advanceTimersByTime(900);
        if (text.length < 6 * MIB) answer?.write(part);
        else answer?.end();
      }
      return { envelope: ENVELOPE, text };
    };
    expect(await ask(asked, read)).toEqual({ envelope: ENVELOPE, text: part.repeat(6) });
  });

  it('has a longer deadline when its last request saw no first byte in time', async () => {
    stopClock();
    const waits = [1_000, 5_900, 1_000];
    const asked = await open(
      async (response) => {
        vi.advanceTimersByTime(waits.shift() ?? 0);
        response.end(long);
      },
      { timeoutMs: 1_000 },
    );
    const second = async (parts: AsyncIterable<Uint8Array>) => ({
      ...(await joined(parts)),
      envelope: Buffer.from('{"result":{},"id":2}'),
    });
    await expect(ask(asked)).rejects.toThrow('in time');
    expect(await ask(asked, second)).toMatchObject({ text: long });
    await expect(ask(asked)).rejects.toThrow('in time');
  });

  it('may wait until the reader is free', async () => {
    stopClock();
    const text = long.repeat(100);
    const asked = await open(async (response) => void response.end(text), { timeoutMs: 1_000 });
    const late = async (parts: AsyncIterable<Uint8Array>) => {
      vi.advanceTimersByTime(4_000);
      return joined(parts);
    };
    expect(await ask(asked, late)).toEqual({ envelope: ENVELOPE, text });
  });

  it('is dropped when bytes no longer arrive', async () => {
    const asked = await open(async (response) => void response.write(long), { timeoutMs: 20 });
    await expect(ask(asked)).rejects.toMatchObject({ code: 'NodeFault' });
  });
});

describe('a deadline', () => {
  const begin = (msPerByte = 0) => {
    vi.useFakeTimers();
    return new Deadline(1_000, msPerByte);
  };
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends after its time, whatever arrives, when it is not extended', () => {
    const deadline = begin();
    deadline.addReceived(1e9);
    vi.advanceTimersByTime(999);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
  });

  it('allows a steady answer, and ends one that arrives too slowly', () => {
    const deadline = begin(1);
    for (let second = 0; second < 60; second += 1) {
      vi.advanceTimersByTime(500);
      deadline.addReceived(500);
    }
    expect(deadline.signal.aborted).toBe(false);
    for (let second = 0; second < 10; second += 1) {
      vi.advanceTimersByTime(1_000);
      deadline.addReceived(100);
    }
    expect(deadline.signal.aborted).toBe(true);
  });

  it('allows no more time for the next byte than at first, however much has arrived', () => {
    const deadline = begin(1);
    deadline.addReceived(1e9);
    vi.advanceTimersByTime(2_000);
    expect(deadline.signal.aborted).toBe(true);
  });
});
