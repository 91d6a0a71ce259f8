import type { SolanaNode } from './node.ts';
import type { PooledNode } from './pooled-node.ts';
import type { NodeResult } from './quorum.ts';

export interface HedgedResult<T> extends NodeResult<T> {
  readonly member: PooledNode;
}

/** Returns how many more answers are needed after these results; 0 if no more. */
export type MissingAnswerCount<T> = (results: readonly HedgedResult<T>[]) => number;

interface OpenRequest {
  readonly member: PooledNode;
  readonly order: number;
  /** Number of late requests when this one started. */
  readonly round: number;
  timer: NodeJS.Timeout | undefined;
  isLate: boolean;
}

/** After this time a request is late, so that another node can be asked. */
const LATE_AFTER_MS = 1_000;
const MAX_PERMITS = 10;
const PERMITS_PER_REQUEST = 0.1;

/** Limits the requests that replace late ones to one in ten, so that a slow network does not double all requests. */
export class HedgePermits {
  #available = MAX_PERMITS;

  earn(): void {
    this.#available = Math.min(MAX_PERMITS, this.#available + PERMITS_PER_REQUEST);
  }

  /** Takes one permit for a hedged request. Returns false if none is left. */
  take(): boolean {
    if (this.#available < 1) return false;
    this.#available -= 1;
    return true;
  }
}

/**
 * Asks only as many nodes as needed, in the given order. The next node is asked if a request fails, an answer is not
 * sufficient, or a request is late. A node whose request is late while a later request succeeds counts as slow.
 */
export class HedgedRequest<T> {
  readonly #remaining: PooledNode[];
  readonly #ask: (node: SolanaNode) => Promise<T>;
  readonly #missingCount: MissingAnswerCount<T>;
  readonly #permits: HedgePermits;
  readonly #open = new Set<OpenRequest>();
  readonly #results: (HedgedResult<T> & Pick<OpenRequest, 'order'>)[] = [];
  #requestCount = 0;
  #round = 0;
  #resolve: ((results: readonly HedgedResult<T>[]) => void) | null = null;

  constructor(
    members: readonly PooledNode[],
    ask: (node: SolanaNode) => Promise<T>,
    missingCount: MissingAnswerCount<T>,
    permits: HedgePermits,
  ) {
    this.#remaining = [...members];
    this.#ask = ask;
    this.#missingCount = missingCount;
    this.#permits = permits;
  }

  /** The results in the order of the requests, as soon as they are sufficient or no node is left. Never throws. */
  run(): Promise<readonly HedgedResult<T>[]> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#proceed();
    });
  }

  #proceed(): void {
    if (this.#resolve === null) return;
    const results = this.#results.toSorted((a, b) => a.order - b.order);
    const missing = this.#missingCount(results);
    while (this.#punctualCount() < missing && this.#remaining.length > 0) this.#askNext();
    if (missing > 0 && this.#open.size > 0) return;
    for (const { timer } of this.#open) clearTimeout(timer);
    this.#resolve(results);
    this.#resolve = null;
  }

  #punctualCount(): number {
    return [...this.#open].filter(({ isLate }) => !isLate).length;
  }

  #askNext(): void {
    const member = this.#remaining.shift();
    if (member === undefined) return;
    const request: OpenRequest = {
      member,
      order: this.#requestCount,
      round: this.#round,
      timer: undefined,
      isLate: false,
    };
    this.#requestCount += 1;
    this.#open.add(request);
    this.#startTimer(request);
    if (this.#round === 0) this.#permits.earn();
    void Promise.allSettled([member.ask(this.#ask)]).then(([result]) => this.#settle(request, result));
  }

  #startTimer(request: OpenRequest): void {
    // If the event loop was blocked, answers may wait in the socket: setImmediate lets them be read first.
    request.timer = setTimeout(() => setImmediate(() => this.#markLate(request)), LATE_AFTER_MS);
  }

  /** Asks the next node for a late request. No permit is needed if the late node is already demoted. */
  #markLate(request: OpenRequest): void {
    if (this.#resolve === null || !this.#open.has(request)) return;
    const [next] = this.#remaining;
    if (next === undefined) return;
    const canAskNext = next.demotion === null && (request.member.demotion !== null || this.#permits.take());
    if (!canAskNext) return this.#startTimer(request);
    request.isLate = true;
    this.#round += 1;
    this.#proceed();
  }

  #settle(request: OpenRequest, result: PromiseSettledResult<T>): void {
    const { member, order, round, timer } = request;
    clearTimeout(timer);
    this.#open.delete(request);
    this.#results.push({ node: member.node.name, member, result, order });
    if (result.status === 'fulfilled' && this.#resolve !== null)
      for (const other of this.#open)
        if (other.isLate && other.round < round) other.member.health.recordOvertaken();
    this.#proceed();
  }
}
