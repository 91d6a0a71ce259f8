/** `taken`: the caller has a connection until it calls `release`. `full`: the delay after which to call again. */
export type ConnectionGrant =
  | { readonly kind: 'taken'; readonly release: () => void }
  | { readonly kind: 'full'; readonly retryInMs: number };

/** Connections to one endpoint. */
interface EndpointConnections {
  readonly tries: Set<{ readonly startedAt: number }>;
  /** Moving average of the duration of finished tries. */
  averageMs: number;
  /** Time at which the last rejected try can be repeated. */
  lastRetryAt: number;
}

/** Assumed duration of a try until one has finished. */
const INITIAL_AVERAGE_MS = 100;
const LAST_TRY_WEIGHT = 1 / 8;
/** Minimum delay, which prevents a busy loop. */
const MIN_DELAY_MS = 500;
/** Maximum delay, so that a recovered endpoint soon gets its waiting events. */
const MAX_DELAY_MS = 300_000;

/**
 * True if an endpoint with `inFlight` tries can start another one while `free` connections are unused. One slow
 * endpoint takes at most a third of all connections, and n slow ones take 1/(n + 2) each, so that some stay free.
 */
export function mayTake(inFlight: number, free: number): boolean {
  return 2 * (inFlight + 1) <= free;
}

/**
 * Limits the concurrent tries of a process and divides them among endpoints by {@link mayTake}. A rejected try gets a
 * delay that follows the speed of the endpoint, so that waiting events neither take connections nor poll. The state is
 * in memory only: a new process starts with all connections free.
 */
export class ConnectionLimiter {
  readonly #total: number;
  readonly #now: () => number;
  readonly #byEndpoint = new Map<string, EndpointConnections>();
  #taken = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(total: number, now: () => number = () => performance.now()) {
    this.#total = total;
    this.#now = now;
  }

  take(endpoint: string): ConnectionGrant {
    const now = this.#now();
    const connections = this.#byEndpoint.get(endpoint) ?? {
      tries: new Set(),
      averageMs: INITIAL_AVERAGE_MS,
      lastRetryAt: now,
    };
    if (!mayTake(connections.tries.size, this.#total - this.#taken))
      return { kind: 'full', retryInMs: delayOf(connections, now) };
    const connection = { startedAt: now };
    connections.tries.add(connection);
    this.#byEndpoint.set(endpoint, connections);
    this.#taken += 1;
    return { kind: 'taken', release: () => this.#release(endpoint, connections, connection) };
  }

  #release(
    endpoint: string,
    connections: EndpointConnections,
    connection: { readonly startedAt: number },
  ): void {
    if (!connections.tries.delete(connection)) return;
    this.#taken -= 1;
    connections.averageMs += (this.#now() - connection.startedAt - connections.averageMs) * LAST_TRY_WEIGHT;
    if (connections.tries.size === 0) this.#byEndpoint.delete(endpoint);
  }
}

/** Milliseconds until a rejected try can be repeated. Rejected tries are spread at the speed of the endpoint. */
function delayOf(connections: EndpointConnections, now: number): number {
  const [oldest = { startedAt: now }] = connections.tries;
  const intervalMs =
    Math.max(connections.averageMs, now - oldest.startedAt) / Math.max(1, connections.tries.size);
  connections.lastRetryAt = Math.min(Math.max(connections.lastRetryAt, now) + intervalMs, now + MAX_DELAY_MS);
  const delayMs = Math.max(connections.lastRetryAt - now, MIN_DELAY_MS);
  // Jitter, so that tries at the maximum delay are not all repeated at the same time.
  return delayMs < MAX_DELAY_MS ? delayMs : MAX_DELAY_MS * (1 - Math.random() / 2);
}
