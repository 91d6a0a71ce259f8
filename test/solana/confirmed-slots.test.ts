import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import { ConfirmedSlots } from '../../src/solana/rpc/confirmed-slots.ts';
import { until } from '../support/until.ts';
import { recordProgress, useLandingFixture } from './landing-fixture.ts';

const HOUR_MS = 3_600_000;
const fixture = useLandingFixture();
const closers: (() => void)[] = [];

afterEach(() => {
  vi.restoreAllMocks();
  for (const close of closers.splice(0)) close();
});

/** Notifications from these nodes, and their number so far. */
function listenTo(rpcUrls: readonly string[]) {
  const slots = new ConfirmedSlots(rpcUrls);
  const received = { count: 0, slot: 0 };
  const stop = slots.listen((slot) => {
    received.count += 1;
    received.slot = slot;
  });
  closers.push(() => slots.close());
  return { slots, received, stop };
}

/** The URL of a node that accepts each WebSocket connection, and then sends only what `begin` writes. */
async function rawNode(begin: (socket: Duplex) => void): Promise<string> {
  const server = createServer();
  server.on('upgrade', ({ headers }, socket) => {
    closers.push(() => socket.destroy());
    socket.on('error', () => undefined);
    const accepted = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const key = createHash('sha1').update(accepted).digest('base64');
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade';
    socket.write(`${upgrade}\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
    begin(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  // The port after the one in the URL is asked first.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port - 1}`;
}

const OPCODES = { text: 1, binary: 2 } as const;

function confirmedFrame(kind: keyof typeof OPCODES, slot: number): Buffer {
  const data = Buffer.from(JSON.stringify({ result: { slot, type: 'optimisticConfirmation' } }));
  return Buffer.concat([Buffer.of(0x80 | OPCODES[kind], data.length), data]);
}

/** Makes blocks until there is a notification, because the subscription begins at some later time. */
async function untilNotified({ count }: { readonly count: number }, received: { readonly count: number }) {
  await until(() => {
    fixture.localnet.controls.produceSlot();
    return received.count > count;
  });
}

describe('notifications of confirmed slots', () => {
  it('arrive for each slot, and again after the connection is lost', async () => {
    const { slots, received } = listenTo(fixture.localnet.rpcUrls.slice(0, 1));
    expect(slots.isLive).toBe(false);
    await untilNotified({ ...received }, received);
    expect(slots.isLive).toBe(true);
    expect(slots.openSlot).toBeGreaterThan(received.slot);
    fixture.localnet.controls.setFault(0, 'slotsUpdatesNotification', { kind: 'drop' }, 1);
    fixture.localnet.controls.produceSlot();
    await untilNotified({ ...received }, received);
  });

  it('come from another node if one has no WebSocket, or refuses the subscription', async () => {
    const [first = '', second = ''] = fixture.localnet.rpcUrls;
    fixture.localnet.controls.setFault(0, 'slotsUpdatesSubscribe', { kind: 'drop' }, 2);
    const { received } = listenTo(['http://127.0.0.1:9', first, second]);
    await untilNotified({ ...received }, received);
  });

  it('come from another node if one becomes silent, whose connection ends', async () => {
    let isClosed = false;
    const silent = await rawNode((socket) => {
      socket.resume().on('end', () => {
        isClosed = true;
      });
      socket.write(confirmedFrame('text', 1));
    });
    const other = await rawNode((socket) => socket.write(confirmedFrame('text', 2)));
    const { received } = listenTo([silent, other]);
    await until(() => received.slot === 1);
    await until(() => received.slot === 2 && isClosed, 30_000);
  });

  it('arrive after a binary message, which is ignored', async () => {
    const node = await rawNode((socket) => {
      socket.write(confirmedFrame('binary', 1));
      socket.write(confirmedFrame('text', 2));
    });
    const { received } = listenTo([node]);
    await until(() => received.count > 0);
    expect(received).toEqual({ count: 1, slot: 2 });
  });
});

describe('a caller that waits for confirmed, with notifications of confirmed slots', () => {
  it('shares one poll for each slot with all others, and none for earlier slots or at the fixed interval', async () => {
    const listeners = new Set<(slot: number) => void>();
    const listen = (listener: (slot: number) => void) => {
      listeners.add(listener);
      return () => undefined;
    };
    const watcher = new LandingWatcher(fixture.chain, {
      pollMs: HOUR_MS,
      awaitedPollMs: 10,
      resendMs: HOUR_MS,
      slots: { listen, isLive: true, openSlot: 7 },
    });
    const sizes: number[] = [];
    const statuses = fixture.chain.recentStatuses.bind(fixture.chain);
    vi.spyOn(fixture.chain, 'recentStatuses').mockImplementation((signatures) => {
      sizes.push(signatures.length);
      return statuses(signatures);
    });
    const waits = await Promise.all(
      Array.from({ length: 8 }, async () => ({
        ...recordProgress(),
        attempt: await fixture.attempt(newAddress(), 5_000_000n),
      })),
    );
    const landings = waits.map(({ attempt, hooks }) =>
      watcher.watch(attempt, { ...hooks, answersAt: 'confirmed' }),
    );
    for (const listener of listeners) listener(6);
    await sleep(100);
    expect(sizes).toEqual([]);
    fixture.localnet.controls.produceSlots(2);
    for (const listener of listeners) listener(7);
    await until(() => waits.every(({ progress }) => progress.includes('confirmed')));
    expect(new Set(sizes)).toEqual(new Set([8]));
    for (const { abort } of waits) abort.abort();
    await Promise.allSettled(landings);
  });
});
