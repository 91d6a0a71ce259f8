import type { NodeTestimony } from '../../domain/attempt.ts';
import type { NodePool } from '../rpc/pool.ts';

/** Whether the finalized chain grows, as a quorum of the nodes tells it from one question to the next. */
export class Finality {
  readonly #pool: Pick<NodePool, 'quorum' | 'nodes'>;
  readonly #stallMs: number;
  #height: bigint | null = null;
  #grewAt: number | null = null;

  constructor(pool: Pick<NodePool, 'quorum' | 'nodes'>, stallMs: number) {
    this.#pool = pool;
    this.#stallMs = stallMs;
  }

  /** Begins anew with the next answers: nobody asked for a while. */
  forget(): void {
    this.#grewAt = null;
  }

  /** Takes the newest finalized heights. Why nothing can become final where none rose for `stallMs`; null else. */
  hear(heights: readonly NodeTestimony<bigint>[]): string | null {
    const { quorum, nodes } = this.#pool;
    const now = performance.now();
    const reached = heights.map(({ answer }) => answer).toSorted((a, b) => Number(b - a))[quorum - 1] ?? null;
    const grew = reached !== null && (this.#height === null || reached > this.#height);
    if (grew) this.#height = reached;
    if (grew || this.#grewAt === null) this.#grewAt = now;
    if (now - this.#grewAt < this.#stallMs) return null;
    const heard = new Set(heights.map(({ node }) => node));
    const silent = nodes.flatMap(({ name }) => (heard.has(name) ? [] : [name]));
    return reached === null
      ? `too few nodes report a finalized height: none from ${silent.join(', ')}`
      : `finality stands still at block height ${this.#height}`;
  }
}
