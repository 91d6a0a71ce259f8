import { DomainError } from '../../domain/errors.ts';
import { answersOfMost } from './answers.ts';
import { isNodeError, NodeFault, reactionTo } from './errors.ts';
import { HedgedRequest, type HedgedResult, HedgePermits, type MissingAnswerCount } from './hedged-request.ts';
import type { SolanaNode } from './node.ts';
import { NodeRegistry, type PoolOptions } from './node-registry.ts';
import type { PooledNode } from './pooled-node.ts';
import { probeGenesis } from './probe.ts';
import { type Agreement, type Answer, agree, answersIn, type NodeResult, versionsOf } from './quorum.ts';
import type { PoolReport } from './report.ts';
import { withAbort } from './with-abort.ts';

/** A request to one node. `over` aborts when the answer is no longer needed. */
type Ask<T> = (node: SolanaNode, signal: AbortSignal) => Promise<T>;

/**
 * At least two nodes of one cluster (one on loopback). Reads fail over; sends and proofs ask all nodes. An error of a
 * node is one missing answer. Each request throws any other error, such as a defect of ours, if no node answers.
 */
export class NodePool extends NodeRegistry {
  readonly #permits = new HedgePermits();

  /**
   * Asks every node for its cluster now, because a host name may lead elsewhere since the last probe. Throws
   * NoHealthyNode if no quorum returns the cluster of the pool. Answers from before this call count only after it.
   */
  async confirmCluster(): Promise<void> {
    const answers = answersIn(await this.most(probeGenesis));
    const otherClusters = answers.filter(({ answer }) => answer !== this.genesisHash);
    for (const member of this.members) {
      const other = otherClusters.find(({ node }) => node === member.node.name);
      if (other !== undefined) member.refuseOtherCluster(other.answer, this.genesisHash);
    }
    const agreeing = answers.length - otherClusters.length;
    if (agreeing >= this.quorum) return;
    const message = `${agreeing} of ${this.nodes.length} RPC nodes return cluster ${this.genesisHash}; ${this.quorum} are needed`;
    throw new DomainError('NoHealthyNode', message);
  }

  /**
   * Asks the best node, then the others. One node alone may wrongly refuse a valid request, or fail to read its data.
   * If another node answers then, the refusing node is avoided for a while. Throws NoHealthyNode if no node could
   * answer, else the last error that may pass; throws the reason of `end` once it aborts.
   */
  async read<T>(ask: Ask<T>, signal?: AbortSignal): Promise<T> {
    const results = await this.#hedge(ask, (given) => (given.some(isAnswer) ? 0 : 1), signal);
    const failures = results.flatMap(({ member, result }) =>
      result.status === 'rejected' ? [{ member, error: result.reason as unknown }] : [],
    );
    const [answer] = answersIn(results);
    const refusals = failures.filter(({ error }) => isRefusal(error));
    if (answer !== undefined) {
      for (const { member, error } of refusals) member.blame(error);
      return answer.answer;
    }
    const temporary = failures.findLast(({ error }) => !isRefusal(error));
    throw this.#unansweredError((temporary ?? refusals.at(-1))?.error ?? this.#noneAvailableError());
  }

  /** The answer that a quorum returns alike, with node names; null if too few agree. Asks no more nodes than needed. */
  async agreed<T>(ask: Ask<T>, isSame: (one: T, other: T) => boolean): Promise<Agreement<T> | null> {
    const { quorum } = this;
    const missingCount: MissingAnswerCount<T> = (results) => {
      const [most] = versionsOf(answersIn(results), isSame);
      return quorum - (most?.nodes.length ?? 0);
    };
    return agree(answersIn(await this.#hedge(ask, missingCount)), quorum, isSame);
  }

  /**
   * Asks as many nodes as needed for a quorum of answers that pass `isSufficient`, each judged alone, the best first.
   * Returns the results of all asked nodes. Throws the reason of `end`, once it aborts.
   */
  async some<T>(
    ask: Ask<T>,
    isSufficient: (answer: T) => boolean,
    signal?: AbortSignal,
  ): Promise<readonly NodeResult<T>[]> {
    const missingCount: MissingAnswerCount<T> = (results) =>
      this.quorum - answersIn(results).filter(({ answer }) => isSufficient(answer)).length;
    return this.#hedge(ask, missingCount, signal);
  }

  /** Asks every node that passes the filter in parallel. The result of a node that may not be asked is a NodeFault. */
  all<T>(ask: Ask<T>, filter: (node: SolanaNode) => boolean = () => true): Promise<NodeResult<T>[]> {
    const members = this.members.filter(({ node }) => filter(node));
    return askEach(members, members.length, ask);
  }

  /**
   * Like {@link all}, for decisions by a quorum. After a quorum has answered, the other nodes have half a second
   * more; avoided nodes have none. A late node has a NodeFault.
   */
  most<T>(ask: Ask<T>): Promise<NodeResult<T>[]> {
    return askEach(this.members, this.quorum, ask);
  }

  /**
   * Asks the nodes other than `name`, the best first, until an answer passes `isSufficient`; with a single node, that
   * node. A node that lags or lost its history must not hide what another one has. Null if no answer passes.
   */
  async second<T>(
    name: string,
    ask: Ask<T>,
    isSufficient: (answer: T) => boolean,
  ): Promise<Answer<T> | null> {
    const others = this.#ranked().filter(({ node }) => this.quorum === 1 || node.name !== name);
    const firstSufficient = (results: readonly NodeResult<T>[]) =>
      answersIn(results).find(({ answer }) => isSufficient(answer)) ?? null;
    const missingCount: MissingAnswerCount<T> = (results) => (firstSufficient(results) === null ? 1 : 0);
    return firstSufficient(await this.#hedge(ask, missingCount, undefined, others));
  }

  /** Asks this node last for some time, because a quorum contradicted its answer. */
  distrust(name: string, reason: string): void {
    for (const member of this.members) if (member.node.name === name) member.health.recordFalseAnswer(reason);
  }

  async #hedge<T>(
    ask: Ask<T>,
    missingCount: MissingAnswerCount<T>,
    signal?: AbortSignal,
    members = this.#ranked(),
  ): Promise<readonly HedgedResult<T>[]> {
    const run = (requestSignal: AbortSignal) =>
      new HedgedRequest(members, (node) => ask(node, requestSignal), missingCount, this.#permits).run();
    const results = await withAbort(run, signal);
    signal?.throwIfAborted();
    throwDefect(results);
    return results;
  }

  /** The nodes that may be asked: by score, then demoted ones, then distrusted ones. Equals keep configured order. */
  #ranked(): PooledNode[] {
    return this.members
      .filter((member) => member.isAskable)
      .toSorted((a, b) => demotionRank(a) - demotionRank(b) || b.score - a.score);
  }

  #unansweredError(last: unknown): unknown {
    if (!(last instanceof DomainError) || this.members.length === 1) return last;
    return new DomainError('NoHealthyNode', `no node answered: ${last.message}`, {}, last);
  }

  #noneAvailableError(): DomainError {
    const reason = this.members.map(({ node, demotion }) => `${node.name}: ${demotion?.reason ?? 'ready'}`);
    return new DomainError('NoHealthyNode', `no node is available now: ${reason.join('; ')}`);
  }
}

function demotionRank({ demotion }: PooledNode): number {
  if (demotion === null) return 0;
  return demotion.cause === 'false' ? 2 : 1;
}

/** Asks these nodes in parallel, and waits until `quorum` of them have answered: see {@link answersOfMost}. */
async function askEach<T>(
  members: readonly PooledNode[],
  quorum: number,
  ask: Ask<T>,
): Promise<NodeResult<T>[]> {
  const results = await withAbort((signal) => {
    const requests = members.map((member) => ({
      isExpected: member.isExpected,
      answer: member.ask((node) => ask(node, signal)),
    }));
    return answersOfMost(requests, quorum);
  });
  const namedResults = members.map(({ node: { name } }, index) => ({
    node: name,
    result: results[index] ?? lateResult(name),
  }));
  throwDefect(namedResults);
  return namedResults;
}

function lateResult(node: string): PromiseRejectedResult {
  return { status: 'rejected', reason: new NodeFault(node, 'has not answered when a quorum had') };
}

function isAnswer({ result }: NodeResult<unknown>): boolean {
  return result.status === 'fulfilled';
}

/**
 * Throws an error that is not of nodes, such as a defect of ours, if no node answered: it must not count as a missing
 * answer. If another node answered, the error may depend on one false answer.
 */
function throwDefect(results: readonly NodeResult<unknown>[]): void {
  if (results.some(isAnswer)) return;
  for (const { result } of results)
    if (result.status === 'rejected' && !isNodeError(result.reason)) throw result.reason;
}

/** True for an error that would end a request for good if every node returned it. */
function isRefusal(error: unknown): boolean {
  const reaction = reactionTo(error);
  return reaction === 'fatal' || reaction === 'stop';
}

/**
 * Probes the nodes. Ready when a quorum of the configured nodes returns one cluster; the others join when they return
 * it, too. One node alone serves only on loopback. Throws NoHealthyNode with each node's answer, and errors of
 * `admit`.
 */
export async function openNodePool(urls: readonly string[], options: PoolOptions = {}): Promise<NodePool> {
  const pool = new NodePool(urls, options);
  try {
    await pool.probe();
    const { genesisHash } = pool;
    await options.admit?.(genesisHash);
    return pool;
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/** One probe of nodes that may or may not form a pool. Throws NoHealthyNode only if they never could. */
export async function surveyNodes(urls: readonly string[], neededSlot: bigint | null): Promise<PoolReport> {
  const registry = new NodeRegistry(urls, {});
  try {
    await registry.probe();
    const { cluster: genesisHash, quorum } = registry;
    return { genesisHash, quorum, nodes: registry.report(), warnings: registry.warnings(neededSlot) };
  } finally {
    await registry.close();
  }
}
