import type { SolanaNode } from './node.ts';
import type { PooledNode } from './pooled-node.ts';
import type { NodeResult } from './quorum.ts';

export interface HedgedResult<T> extends NodeResult<T> {
  readonly member: PooledNode;
}

/** How many more answers are needed at least, given the results so far; 0 if they suffice. */
export type Wanting<T> = (results: readonly HedgedResult<T>[]) => number;

interface OpenRequest {
  readonly member: PooledNode;
  readonly order: number;
  /** How many requests were late when this one started. */
  readonly round: number;
  timer: NodeJS.Timeout | undefined;
  late: boolean;
}

/** After this time a request is late, and another node may be asked. */
const PATIENCE_MS = 1_000;
const MAX_SPARE = 10;
const SPARE_FOR_EACH = 0.1;

/** Permits for requests because of a late node: one for ten others, so that slow nodes are not all asked twice. */
export class HedgePermits {
  #left = MAX_SPARE;

  earn(): void {
    this.#left = Math.min(MAX_SPARE, this.#left + SPARE_FOR_EACH);
  }

  /** Takes one permit for a hedged request. Returns false if none is left. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * Asks no more nodes than needed, in the order given. The next node is asked if one fails, is not sufficient, or is
 * late while the next one is ready. A late node that another one overtakes is asked last for a while.
 */
export class HedgedRequest<T> {
  readonly #left: PooledNode[];
  readonly #ask: (node: SolanaNode) => Promise<T>;
  readonly #wanting: Wanting<T>;
  readonly #permits: HedgePermits;
  readonly #open = new Set<OpenRequest>();
  readonly #results: (HedgedResult<T> & Pick<OpenRequest, 'order'>)[] = [];
  #asked = 0;
  #round = 0;
  #end: ((results: readonly HedgedResult<T>[]) => void) | null = null;

  constructor(
    members: readonly PooledNode[],
    ask: (node: SolanaNode) => Promise<T>,
    wanting: Wanting<T>,
    permits: HedgePermits,
  ) {
    this.#left = [...members];
    this.#ask = ask;
    this.#wanting = wanting;
    this.#permits = permits;
  }

  /** The results up to the sufficient one, or all, in the order of the requests. Never throws. */
  run(): Promise<readonly HedgedResult<T>[]> {
    return new Promise((resolve) => {
      this.#end = resolve;
      this.#proceed();
    });
  }

  #proceed(): void {
    if (this.#end === null) return;
    const results = this.#results.toSorted((a, b) => a.order - b.order);
    const wanting = this.#wanting(results);
    while (this.#expected() < wanting && this.#left.length > 0) this.#askNext();
    if (wanting > 0 && this.#open.size > 0) return;
    for (const { timer } of this.#open) clearTimeout(timer);
    this.#end(results);
    this.#end = null;
  }

  #expected(): number {
    return [...this.#open].filter(({ late }) => !late).length;
  }

  #askNext(): void {
    const member = this.#left.shift();
    if (member === undefined) return;
    const request: OpenRequest = {
      member,
      order: this.#asked,
      round: this.#round,
      timer: undefined,
      late: false,
    };
    this.#asked += 1;
    this.#open.add(request);
    this.#lookLater(request);
    if (this.#round === 0) this.#permits.earn();
    void Promise.allSettled([member.ask(this.#ask)]).then(([result]) => this.#settle(request, result));
  }

  #lookLater(request: OpenRequest): void {
    // If this process was busy, answers may have arrived already: they are read first.
    request.timer = setTimeout(() => setImmediate(() => this.#markLate(request)), PATIENCE_MS);
  }

  /** Marks a request as late. If its node is demoted already, as a slow one is, the extra request needs no permit. */
  #markLate(request: OpenRequest): void {
    if (this.#end === null || !this.#open.has(request)) return;
    const [next] = this.#left;
    if (next === undefined) return;
    const mayAsk = next.demoted === null && (request.member.demoted !== null || this.#permits.take());
    if (!mayAsk) return this.#lookLater(request);
    request.late = true;
    this.#round += 1;
    this.#proceed();
  }

  #settle(request: OpenRequest, result: PromiseSettledResult<T>): void {
    const { member, order, round, timer } = request;
    clearTimeout(timer);
    this.#open.delete(request);
    this.#results.push({ node: member.node.name, member, result, order });
    if (result.status === 'fulfilled' && this.#end !== null)
      for (const other of this.#open) if (other.late && other.round < round) other.member.health.overtaken();
    this.#proceed();
  }
}
