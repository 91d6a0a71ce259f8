import type { NodeAnswer } from '../../domain/attempt.ts';
import { ascending } from '../../domain/units.ts';

/** One node's answer, or the error of the request. */
export interface NodeResult<T> {
  readonly node: string;
  readonly result: PromiseSettledResult<T>;
}

export type Answer<T> = Pick<NodeAnswer<T>, 'node' | 'answer'>;

/** An answer, and the names of the nodes that return it. */
export interface Agreement<T> {
  readonly answer: T;
  readonly nodes: readonly string[];
}

type IsSame<T> = (one: T, other: T) => boolean;

/** The answers among the results, in the order of the results. */
export function answersIn<T>(results: readonly NodeResult<T>[]): readonly Answer<T>[] {
  return results.flatMap(({ node, result }) =>
    result.status === 'fulfilled' ? [{ node, answer: result.value }] : [],
  );
}

/** The different answers with the nodes that return each, in descending order of node count. */
export function versionsOf<T>(answers: readonly Answer<T>[], isSame: IsSame<T>): readonly Agreement<T>[] {
  const versions = answers.map(({ answer }) => {
    const nodes = answers.flatMap((other) => (isSame(answer, other.answer) ? [other.node] : []));
    return { answer, nodes: [...new Set(nodes)] };
  });
  const largestFirst = versions.toSorted((a, b) => b.nodes.length - a.nodes.length);
  const knownNodes = new Set<string | undefined>([undefined]);
  return largestFirst.filter(({ nodes: [first] }) => !knownNodes.has(first) && knownNodes.add(first));
}

/** The answer that at least `quorum` nodes return; null if there is no such answer. */
export function agree<T>(
  answers: readonly Answer<T>[],
  quorum: number,
  isSame: IsSame<T> = Object.is,
): Agreement<T> | null {
  const [first] = versionsOf(answers, isSame);
  return first !== undefined && first.nodes.length >= quorum ? first : null;
}

/** The greatest value that at least `quorum` of `values` reach or exceed; null if there are fewer values. */
export function reached(values: readonly bigint[], quorum: number): bigint | null {
  return values.toSorted(ascending).at(-quorum) ?? null;
}
