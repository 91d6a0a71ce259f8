import type { NodeAnswer } from '../../domain/attempt.ts';
import { ascending } from '../../domain/units.ts';

// Rules for decisions by several nodes. They are pure: the pool asks, these functions compare.

/** The result of one node: its answer, or the error of the request. */
export interface NodeResult<T> {
  readonly node: string;
  readonly result: PromiseSettledResult<T>;
}

export type Answer<T> = Pick<NodeAnswer<T>, 'node' | 'answer'>;

/** One answer, and the nodes that return it. */
export interface Agreement<T> {
  readonly answer: T;
  readonly nodes: readonly string[];
}

type IsSame<T> = (one: T, other: T) => boolean;

/** The answers of the nodes that answered, in the given order. */
export function answersIn<T>(results: readonly NodeResult<T>[]): readonly Answer<T>[] {
  return results.flatMap(({ node, result }) =>
    result.status === 'fulfilled' ? [{ node, answer: result.value }] : [],
  );
}

/** The different answers with the nodes that return each; most nodes first. A node counts once for an answer. */
export function versionsOf<T>(answers: readonly Answer<T>[], isSame: IsSame<T>): readonly Agreement<T>[] {
  const versions = answers.map(({ answer }) => {
    const nodes = answers.flatMap((other) => (isSame(answer, other.answer) ? [other.node] : []));
    return { answer, nodes: [...new Set(nodes)] };
  });
  const largestFirst = versions.toSorted((a, b) => b.nodes.length - a.nodes.length);
  const knownNodes = new Set<string | undefined>([undefined]);
  return largestFirst.filter(({ nodes: [first] }) => !knownNodes.has(first) && knownNodes.add(first));
}

/** The answer that at least `quorum` nodes return; null if too few agree. */
export function agree<T>(
  answers: readonly Answer<T>[],
  quorum: number,
  isSame: IsSame<T> = Object.is,
): Agreement<T> | null {
  const [first] = versionsOf(answers, isSame);
  return first !== undefined && first.nodes.length >= quorum ? first : null;
}

/** The greatest value that `quorum` values reach, so at least one honest node; null if there are fewer values. */
export function reached(values: readonly bigint[], quorum: number): bigint | null {
  return values.toSorted(ascending).at(-quorum) ?? null;
}
