/** What a try is told that asks for a place: it has one until it leaves, or it comes back later. */
export type Turn =
  | { readonly kind: 'taken'; readonly leave: () => void }
  | { readonly kind: 'full'; readonly backInMs: number };

/** The tries of one endpoint that are on their way. */
interface Crowd {
  /** When each began, the first first. */
  readonly begun: Set<{ readonly at: number }>;
  /** How long those took that have ended, the last ones above all. */
  tookMs: number;
  /** When the last one is to be back of those that found no place. */
  backAt: number;
}

/** What a try takes as long as none has ended. */
const USUAL_MS = 100;
const WEIGHT_OF_LAST = 1 / 8;
/** Nobody comes back sooner: that would be a question without end. */
const SOONEST_MS = 500;
/** Nor later: an endpoint that answers again hears soon what waits for it. */
const LATEST_MS = 300_000;

/**
 * Whether an endpoint that holds so many places may take one more of those that are free. One that lets everybody wait
 * takes a third of all, two take a quarter each, and n of them one place in n + 2 each: whoever holds none has one to take.
 */
export function mayTake(held: number, free: number): boolean {
  return 2 * (held + 1) <= free;
}

/**
 * The places of a process for tries that are on their way, shared out by {@link mayTake}. A try that finds none is told when to come
 * back, by how fast the endpoint lets the others go: so those that wait take no place, and do not ask all the time either. Nothing of it
 * is on record: a process that starts anew has all places free.
 */
export class Places {
  readonly #total: number;
  readonly #now: () => number;
  readonly #crowds = new Map<string, Crowd>();
  #taken = 0;

  /** @param now milliseconds of a clock that never goes back */
  constructor(total: number, now: () => number = () => performance.now()) {
    this.#total = total;
    this.#now = now;
  }

  take(endpoint: string): Turn {
    const now = this.#now();
    const crowd = this.#crowds.get(endpoint) ?? { begun: new Set(), tookMs: USUAL_MS, backAt: now };
    if (!mayTake(crowd.begun.size, this.#total - this.#taken))
      return { kind: 'full', backInMs: sendAway(crowd, now) };
    const one = { at: now };
    crowd.begun.add(one);
    this.#crowds.set(endpoint, crowd);
    this.#taken += 1;
    return { kind: 'taken', leave: () => this.#leave(endpoint, crowd, one) };
  }

  #leave(endpoint: string, crowd: Crowd, one: { readonly at: number }): void {
    if (!crowd.begun.delete(one)) return;
    this.#taken -= 1;
    crowd.tookMs += (this.#now() - one.at - crowd.tookMs) * WEIGHT_OF_LAST;
    if (crowd.begun.size === 0) this.#crowds.delete(endpoint);
  }
}

/** In how many milliseconds one may come back that found no place: each behind the one before, when a place should be free for it. */
function sendAway(crowd: Crowd, now: number): number {
  const [oldest = { at: now }] = crowd.begun;
  const eachMs = Math.max(crowd.tookMs, now - oldest.at) / Math.max(1, crowd.begun.size);
  crowd.backAt = Math.min(Math.max(crowd.backAt, now) + eachMs, now + LATEST_MS);
  const inMs = Math.max(crowd.backAt - now, SOONEST_MS);
  // Those that nothing can be foretold for must not all come at once.
  return inMs < LATEST_MS ? inMs : LATEST_MS * (1 - Math.random() / 2);
}
