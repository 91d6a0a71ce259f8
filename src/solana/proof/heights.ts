import type { NodeAnswer } from '../../domain/attempt.ts';
import type { BlockHeight } from '../../domain/units.ts';
import { type Commitment, getBlockHeight } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, highestQuorumValue } from '../rpc/quorum.ts';

/** Block heights of all nodes that answer, in configured order. Finalized ones begin every proof of death. */
export async function askHeights(
  pool: NodePool,
  commitment: Commitment,
): Promise<readonly NodeAnswer<BlockHeight>[]> {
  const answers = answersIn(await pool.all((node) => getBlockHeight(node, commitment)));
  return answers.map((answer, index) => ({ ...answer, sequence: 1 + index }));
}

/** Detects a stall of finality: whether the finalized height of a quorum grows between calls. */
export class Finality {
  readonly #pool: Pick<NodePool, 'quorum' | 'nodes'>;
  readonly #stallMs: number;
  #height: BlockHeight | null = null;
  #grewAt: number | null = null;

  constructor(pool: Pick<NodePool, 'quorum' | 'nodes'>, stallMs: number) {
    this.#pool = pool;
    this.#stallMs = stallMs;
  }

  /** Restarts the measurement with the next answers, after a pause in polling. */
  restart(): void {
    this.#grewAt = null;
  }

  /**
   * Adds the newest finalized heights. Returns a reason if the quorum's height has not grown for `stallMs`, or null.
   */
  observe(heights: readonly NodeAnswer<BlockHeight>[]): string | null {
    const { quorum, nodes } = this.#pool;
    const now = performance.now();
    const answers = heights.map(({ answer }) => answer);
    const height = highestQuorumValue(answers, quorum);
    const grew = height !== null && (this.#height === null || height > this.#height);
    if (grew) this.#height = height;
    if (grew || this.#grewAt === null) this.#grewAt = now;
    if (now - this.#grewAt < this.#stallMs) return null;
    const answering = new Set(heights.map(({ node }) => node));
    const silent = nodes.flatMap(({ name }) => (answering.has(name) ? [] : [name]));
    return height === null
      ? `too few nodes report a finalized height: none from ${silent.join(', ')}`
      : `finality has not advanced from block height ${this.#height}`;
  }
}
