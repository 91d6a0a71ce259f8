import type { NodeAnswer } from '../../domain/attempt.ts';
import type { BlockHeight } from '../../domain/units.ts';
import { type Commitment, getBlockHeight } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, reached } from '../rpc/quorum.ts';

/** Block heights of all nodes that answer, in configured order. */
export async function askHeights(
  pool: NodePool,
  commitment: Commitment,
): Promise<readonly NodeAnswer<BlockHeight>[]> {
  const answers = answersIn(await pool.all((node) => getBlockHeight(node, commitment)));
  return answers.map((answer, index) => ({ ...answer, sequence: 1 + index }));
}

/** Detects that finality has stalled, which means that the finalized height of a quorum no longer grows. */
export class Finality {
  readonly #pool: Pick<NodePool, 'quorum' | 'nodes'>;
  readonly #stallMs: number;
  #height: BlockHeight | null = null;
  #grewAt: number | null = null;

  constructor(pool: Pick<NodePool, 'quorum' | 'nodes'>, stallMs: number) {
    this.#pool = pool;
    this.#stallMs = stallMs;
  }

  /** Restarts the measurement with the next answers. Call this method after a pause in polling. */
  restart(): void {
    this.#grewAt = null;
  }

  /** Adds the newest finalized heights. Returns a message if the quorum's height has not grown for `stallMs`. */
  observe(heights: readonly NodeAnswer<BlockHeight>[]): string | null {
    const { quorum, nodes } = this.#pool;
    const now = performance.now();
    const answers = heights.map(({ answer }) => answer);
    const height = reached(answers, quorum);
    const grew = height !== null && (this.#height === null || height > this.#height);
    if (grew) this.#height = height;
    if (grew || this.#grewAt === null) this.#grewAt = now;
    if (now - this.#grewAt < this.#stallMs) return null;
    const answeringNodes = new Set(heights.map(({ node }) => node));
    const silentNodes = nodes.flatMap(({ name }) => (answeringNodes.has(name) ? [] : [name]));
    return height === null
      ? `too few nodes report a finalized height: none from ${silentNodes.join(', ')}`
      : `finality has not advanced from block height ${this.#height}`;
  }
}
