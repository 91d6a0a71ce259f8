import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, buildConnector, WebSocket } from '../../shims/undici.ts';

/** Time without a notification after which the connection counts as broken: five slots. */
const SILENCE_MS = 2_000;
/** Time that a connection stays open without listeners, so that a busy shop keeps one connection. */
const IDLE_MS = 30_000;
const MAX_RECONNECT_MS = 30_000;
const SLOT = /"slot":(\d+)/;
const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'slotsUpdatesSubscribe' });

/**
 * Notifications that a slot is confirmed, from `slotsUpdatesSubscribe` of one node at a time. Connects while there are
 * listeners. A notification only causes a poll, so that it needs no second node: a false one costs a request, and
 * without them polls return to their fixed interval.
 */
export class ConfirmedSlots {
  readonly #urls: readonly string[];
  readonly #listeners = new Set<(slot: number) => void>();
  #notifiedAt = Number.NEGATIVE_INFINITY;
  #openSlot = 0;
  /** Time at which the newest listener to end has ended. */
  #neededAt = 0;
  #isRunning = false;
  #socket: WebSocket | null = null;
  #isClosed = false;

  /** `rpcUrls`: HTTP URLs of the nodes. */
  constructor(rpcUrls: readonly string[]) {
    this.#urls = rpcUrls.flatMap(webSocketUrls);
  }

  /** True while notifications arrive. */
  get isLive(): boolean {
    return performance.now() - this.#notifiedAt < SILENCE_MS;
  }

  /** The slot of the newest bank, in which transactions may still land; 0 if it is unknown. */
  get openSlot(): number {
    return this.#openSlot;
  }

  /** Calls `listener` for each slot that is confirmed until the returned function is called. */
  listen(listener: (slot: number) => void): () => void {
    this.#listeners.add(listener);
    void this.#run();
    return () => {
      this.#neededAt = performance.now();
      this.#listeners.delete(listener);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.close();
  }

  get #isNeeded(): boolean {
    return !this.#isClosed && (this.#listeners.size > 0 || performance.now() - this.#neededAt < IDLE_MS);
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Each connection goes to the next URL: a node can send a notification, and then none.
    for (let turn = 0, failures = 0; this.#isNeeded; turn += 1) {
      const url = this.#urls[turn % this.#urls.length];
      if (url === undefined) break;
      const wasLive = await this.#connection(url);
      failures = wasLive ? 0 : failures + 1;
      // Each URL is tried once before the first wait.
      const rounds = Math.floor(failures / this.#urls.length);
      if (rounds > 0) await sleep(Math.min(MAX_RECONNECT_MS, 1_000 * 2 ** rounds), undefined, { ref: false });
    }
    this.#isRunning = false;
  }

  /** One connection until it breaks, or is not needed. Returns whether a notification arrived. */
  async #connection(url: string): Promise<boolean> {
    const { dispatcher, destroy } = destroyable();
    const socket = new WebSocket(url, { dispatcher });
    this.#socket = socket;
    const openedAt = performance.now();
    let wasLive = false;
    socket.addEventListener('open', () => socket.send(SUBSCRIBE));
    socket.addEventListener('message', ({ data }) => {
      if (typeof data !== 'string') return;
      const slot = Number(SLOT.exec(data)?.[1] ?? 0);
      if (data.includes('"createdBank"')) this.#openSlot = slot;
      if (!data.includes('"optimisticConfirmation"')) return;
      wasLive = true;
      this.#notifiedAt = performance.now();
      for (const listener of this.#listeners) listener(slot);
    });
    let watchdog: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      socket.addEventListener('close', () => resolve());
      socket.addEventListener('error', () => resolve());
      // A silent node does not answer a close frame either, and undici waits for the answer without a limit.
      watchdog = setInterval(() => {
        const lastAt = Math.max(openedAt, this.#notifiedAt);
        if (this.#isNeeded && performance.now() - lastAt <= SILENCE_MS) return;
        socket.close();
        resolve();
      }, SILENCE_MS / 2).unref();
    });
    clearInterval(watchdog);
    destroy();
    this.#socket = null;
    return wasLive;
  }
}

/** `dispatcher` makes one connection; `destroy` ends it without a message to the node. */
function destroyable() {
  const connect = buildConnector({});
  let connected: Socket | null = null;
  const dispatcher = new Agent({
    connect: (options, callback) =>
      connect(options, (...result) => {
        [, connected] = result;
        callback(...result);
      }),
  });
  return { dispatcher, destroy: () => connected?.destroy() };
}

/**
 * The WebSocket URLs to try for a node. `solana-test-validator` and Agave listen on the port after the RPC port;
 * providers, on the same URL.
 */
function webSocketUrls(rpcUrl: string): readonly string[] {
  const url = new URL(rpcUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (url.port === '') return [url.href];
  const next = new URL(url);
  next.port = String(Number(url.port) + 1);
  return [next.href, url.href];
}
