/** Answer to a request for capacity: granted until `leave`, or when to ask again. */
export type Turn =
  | { readonly kind: 'taken'; readonly leave: () => void }
  | { readonly kind: 'full'; readonly backInMs: number };

/** Tries of one endpoint in flight. */
interface EndpointConnections {
  readonly begun: Set<{ readonly at: number }>;
  /** Moving average of the duration of finished tries, in milliseconds. */
  tookMs: number;
  /** Time at which the last rejected try may return. */
  backAt: number;
}

/** Assumed duration until one try has finished. */
const USUAL_MS = 100;
const WEIGHT_OF_LAST = 1 / 8;
/** Minimum delay, which prevents a busy loop. */
const SOONEST_MS = 500;
/** Maximum delay, so that a recovered endpoint soon gets its waiting events. */
const LATEST_MS = 300_000;

/**
 * True if an endpoint with that many tries in flight may start another. One slow endpoint takes at most a third of the
 * capacity, two take a quarter each, n take 1/(n + 2) each. So an endpoint without tries always finds capacity.
 */
export function mayTake(inFlight: number, free: number): boolean {
  return 2 * (inFlight + 1) <= free;
}

/**
 * Limits concurrent tries of a process, shared by {@link mayTake}. A rejected try gets a delay that follows
 * the endpoint's speed, so that waiting events neither take capacity nor poll. In memory only: a new process
 * starts with full capacity.
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

  take(endpoint: string): Turn {
    const now = this.#now();
    const connections = this.#byEndpoint.get(endpoint) ?? { begun: new Set(), tookMs: USUAL_MS, backAt: now };
    if (!mayTake(connections.begun.size, this.#total - this.#taken))
      return { kind: 'full', backInMs: delayOf(connections, now) };
    const one = { at: now };
    connections.begun.add(one);
    this.#byEndpoint.set(endpoint, connections);
    this.#taken += 1;
    return { kind: 'taken', leave: () => this.#leave(endpoint, connections, one) };
  }

  #leave(endpoint: string, connections: EndpointConnections, one: { readonly at: number }): void {
    if (!connections.begun.delete(one)) return;
    this.#taken -= 1;
    connections.tookMs += (this.#now() - one.at - connections.tookMs) * WEIGHT_OF_LAST;
    if (connections.begun.size === 0) this.#byEndpoint.delete(endpoint);
  }
}

/** Milliseconds until a rejected try may return: after the earlier ones, when capacity should be free. */
function delayOf(connections: EndpointConnections, now: number): number {
  const [oldest = { at: now }] = connections.begun;
  const eachMs = Math.max(connections.tookMs, now - oldest.at) / Math.max(1, connections.begun.size);
  connections.backAt = Math.min(Math.max(connections.backAt, now) + eachMs, now + LATEST_MS);
  const inMs = Math.max(connections.backAt - now, SOONEST_MS);
  // Jitter, so that tries without an estimate do not return at once.
  return inMs < LATEST_MS ? inMs : LATEST_MS * (1 - Math.random() / 2);
}
