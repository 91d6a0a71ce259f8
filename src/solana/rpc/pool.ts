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

/** Sends a request to one node. `signal` aborts when the answer is no longer needed. */
type Ask<T> = (node: SolanaNode, signal: AbortSignal) => Promise<T>;

/**
 * At least two nodes of one cluster; a single node is accepted only on loopback. Reads fail over; sends and proofs ask
 * all nodes. An error that a node causes counts as a missing answer. Any other error, such as a defect of Sluice, is
 * thrown if no node answers.
 */
export class NodePool extends NodeRegistry {
  readonly #permits = new HedgePermits();

  /**
   * Asks every node for its genesis hash again, because its host name can resolve to another node after the last probe.
   * Rely on earlier answers only after this call. Throws NoHealthyNode if no quorum returns the pool's genesis hash.
   */
  async confirmCluster(): Promise<void> {
    const answers = answersIn(await this.most(probeGenesis));
    const otherClusters = answers.filter(({ answer }) => answer !== this.genesisHash);
    for (const member of this.members) {
      const other = otherClusters.find(({ node }) => node === member.node.name);
      if (other !== undefined) member.refuseOtherCluster(other.answer, this.genesisHash);
    }
    const agreeingCount = answers.length - otherClusters.length;
    if (agreeingCount >= this.quorum) return;
    const message = `${agreeingCount} of ${this.nodes.length} RPC nodes return the genesis hash ${this.genesisHash}; ${this.quorum} are needed`;
    throw new DomainError('NoHealthyNode', message);
  }

  /**
   * Asks the best node, then the others until one answers. A node that refused the request is then avoided for a while,
   * because a valid request must not be refused. If no node answers, throws NoHealthyNode or the last node's error;
   * a temporary error takes precedence over a refusal. Throws the reason of `signal` when it aborts.
   */
  async read<T>(ask: Ask<T>, signal?: AbortSignal): Promise<T> {
    const results = await this.#hedge(ask, (settled) => (settled.some(isAnswer) ? 0 : 1), signal);
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

  /**
   * The answer on which a quorum agrees, with the nodes' names; null if too few agree. Asks only as many nodes as
   * needed.
   */
  async agreed<T>(ask: Ask<T>, isSame: (one: T, other: T) => boolean): Promise<Agreement<T> | null> {
    const { quorum } = this;
    const missingCount: MissingAnswerCount<T> = (results) => {
      const [most] = versionsOf(answersIn(results), isSame);
      return quorum - (most?.nodes.length ?? 0);
    };
    return agree(answersIn(await this.#hedge(ask, missingCount)), quorum, isSame);
  }

  /**
   * Asks as many nodes as needed, the best first, for a quorum of answers that pass `isSufficient`. Returns the results
   * of all asked nodes; the answers can differ. Throws the reason of `signal` when it aborts.
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

  /** Asks all nodes that pass the filter in parallel. The result of a refused or paused node is a NodeFault. */
  all<T>(ask: Ask<T>, filter: (node: SolanaNode) => boolean = () => true): Promise<NodeResult<T>[]> {
    const members = this.members.filter(({ node }) => filter(node));
    return askEach(members, members.length, ask);
  }

  /**
   * Asks all nodes in parallel, for decisions by a quorum. After a quorum has answered, waits half a second for the
   * other nodes, but not for avoided ones. The result of a late node is a NodeFault.
   */
  most<T>(ask: Ask<T>): Promise<NodeResult<T>[]> {
    return askEach(this.members, this.quorum, ask);
  }

  /**
   * Asks the nodes other than `name`, the best first, until an answer passes `isSufficient`. Null if none passes. A
   * pool of one node asks that node. Use it where a node that lags or has lost its history must not decide.
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

  /** Asks the node last for ten minutes, because a quorum contradicted its answer. */
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

  /** The nodes that can be asked, by score; demoted nodes come after them, distrusted nodes last. */
  #ranked(): PooledNode[] {
    return this.members
      .filter((member) => member.isAskable)
      .toSorted((a, b) => demotionRank(a) - demotionRank(b) || b.score - a.score);
  }

  #unansweredError(last: unknown): unknown {
    if (!(last instanceof DomainError) || this.members.length === 1) return last;
    return new DomainError('NoHealthyNode', `no RPC node answered: ${last.message}`, {}, last);
  }

  #noneAvailableError(): DomainError {
    const reasons = this.members.map(({ node, demotion }) => `${node.name}: ${demotion?.reason ?? 'ready'}`);
    return new DomainError('NoHealthyNode', `no RPC node is available now: ${reasons.join('; ')}`);
  }
}

function demotionRank({ demotion }: PooledNode): number {
  if (demotion === null) return 0;
  return demotion.cause === 'false' ? 2 : 1;
}

/** Asks the nodes in parallel. Waits as {@link answersOfMost} does. */
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
  return {
    status: 'rejected',
    reason: new NodeFault(node, 'had not answered when the wait for a quorum ended'),
  };
}

function isAnswer({ result }: NodeResult<unknown>): boolean {
  return result.status === 'fulfilled';
}

/**
 * If no node answered, throws the first error that nodes do not cause: a defect of Sluice must not count as a missing
 * answer. If another node answered, one node's false answer may have caused the error, so nothing is thrown.
 */
function throwDefect(results: readonly NodeResult<unknown>[]): void {
  if (results.some(isAnswer)) return;
  for (const { result } of results)
    if (result.status === 'rejected' && !isNodeError(result.reason)) throw result.reason;
}

/** True for an error that is permanent if every node returns it. */
function isRefusal(error: unknown): boolean {
  const reaction = reactionTo(error);
  return reaction === 'fatal' || reaction === 'stop';
}

/**
 * Probes the nodes and opens a pool as soon as a quorum of them returns the same genesis hash. The other nodes join
 * when they return it. Throws NoHealthyNode with each node's answer, and errors of `admit`.
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

/**
 * Probes the nodes once and reports on them, even if they cannot form a pool. Throws NoHealthyNode for invalid URLs.
 */
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
