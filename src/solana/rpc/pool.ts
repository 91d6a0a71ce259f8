import { DomainError } from '../../domain/errors.ts';
import { answersOfMost } from './answers.ts';
import { NodeFault, reactionTo } from './errors.ts';
import { HedgedRequest, type HedgedResult, HedgePermits, type Wanting } from './hedged-request.ts';
import type { SolanaNode } from './node.ts';
import { NodeRegistry, type PoolOptions } from './node-registry.ts';
import type { PooledNode } from './pooled-node.ts';
import { probeGenesis } from './probe.ts';
import { type Agreement, type Answer, agree, answersIn, type NodeResult, versionsOf } from './quorum.ts';
import type { NodeReport, NodeWarning, PoolReport } from './report.ts';
import { withAbort } from './with-abort.ts';

/** A request to one node. `over` aborts when the answer is no longer needed. */
type Ask<T> = (node: SolanaNode, over: AbortSignal) => Promise<T>;

/** At least two nodes of one cluster (one on loopback). Reads fail over; sends and proofs ask all nodes. */
export class NodePool {
  readonly genesisHash: string;
  readonly #nodes: NodeRegistry;
  readonly #permits = new HedgePermits();

  /** Throws NoHealthyNode if no quorum of the nodes has returned one cluster yet. */
  constructor(registry: NodeRegistry) {
    this.genesisHash = registry.cluster;
    this.#nodes = registry;
  }

  /** Nodes that must agree: more than half of those configured and at least 2; 1 for a single loopback node. */
  get quorum(): number {
    return this.#nodes.quorum;
  }

  /** All configured nodes in their order, whether they serve or not. Send requests through the pool. */
  get nodes(): readonly SolanaNode[] {
    return this.#nodes.members.map((member) => member.node);
  }

  report(): readonly NodeReport[] {
    return this.#nodes.report().nodes;
  }

  /** The broken rules of node operation; `neededSlot`: as {@link NodeRegistry.report}. */
  warnings(neededSlot: bigint | null = null): readonly NodeWarning[] {
    return this.#nodes.report(neededSlot).warnings;
  }

  /** Probes every node that is not refused: identity and progress. Also runs at each interval. Never throws. */
  probe(): Promise<void> {
    return this.#nodes.probe();
  }

  /**
   * Asks every node for its cluster now, because a host name may lead elsewhere since the last probe. Throws
   * NoHealthyNode if no quorum returns the cluster of the pool. Answers from before this call count only after it.
   */
  async confirmCluster(): Promise<void> {
    const answers = answersIn(await this.most(probeGenesis));
    const others = answers.filter(({ answer }) => answer !== this.genesisHash);
    for (const member of this.#nodes.members) {
      const shown = others.find(({ node }) => node === member.node.name);
      if (shown !== undefined) member.refuseAs(shown.answer, this.genesisHash);
    }
    const agreeing = answers.length - others.length;
    if (agreeing >= this.quorum) return;
    const message = `${agreeing} of ${this.nodes.length} RPC nodes return cluster ${this.genesisHash}; ${this.quorum} are needed`;
    throw new DomainError('NoHealthyNode', message);
  }

  /**
   * Asks the best node, then the others. One node alone may wrongly refuse a valid request, or fail to read its data.
   * If another node answers then, the refusing node is avoided for a while. Throws NoHealthyNode if no node could
   * answer, else the last error that may pass; throws the reason of `end` once it aborts.
   */
  async read<T>(ask: Ask<T>, end?: AbortSignal): Promise<T> {
    const results = await this.#hedge(ask, (given) => (given.some(isAnswer) ? 0 : 1), end);
    const failures = results.flatMap(({ member, result }) =>
      result.status === 'rejected' ? [{ member, error: result.reason as unknown }] : [],
    );
    const [answer] = answersIn(results);
    const refusals = failures.filter(({ error }) => isRefusal(error));
    if (answer !== undefined) {
      for (const { member, error } of refusals) member.blame(error);
      return answer.answer;
    }
    const passing = failures.findLast(({ error }) => !isRefusal(error));
    throw this.#unanswered((passing ?? refusals.at(-1))?.error ?? this.#noneAvailable());
  }

  /** The answer that a quorum returns alike, with node names; null if too few agree. Asks no more nodes than needed. */
  async agreed<T>(ask: Ask<T>, isSame: (one: T, other: T) => boolean): Promise<Agreement<T> | null> {
    const { quorum } = this;
    const missing: Wanting<T> = (results) => {
      const [most] = versionsOf(answersIn(results), isSame);
      return quorum - (most?.nodes.length ?? 0);
    };
    return agree(answersIn(await this.#hedge(ask, missing)), quorum, isSame);
  }

  /**
   * Asks as many nodes as needed for a quorum of answers that are `wanted`, each judged alone, the best first.
   * Returns the results of all asked nodes. Throws only the reason of `end`, once it aborts.
   */
  async some<T>(ask: Ask<T>, wanted: (answer: T) => boolean, end?: AbortSignal): Promise<NodeResult<T>[]> {
    const isWanted = ({ result }: NodeResult<T>) => result.status === 'fulfilled' && wanted(result.value);
    const results = await this.#hedge(ask, (given) => this.quorum - given.filter(isWanted).length, end);
    return [...results];
  }

  /** Asks every node, or each that is `meant`, in parallel. Never throws: one that may not be asked has a NodeFault. */
  all<T>(ask: Ask<T>, meant: (node: SolanaNode) => boolean = () => true): Promise<NodeResult<T>[]> {
    const members = this.#nodes.members.filter(({ node }) => meant(node));
    return askEach(members, members.length, ask);
  }

  /**
   * Like {@link all}, for decisions by a quorum. After a quorum has answered, the other nodes have half a second
   * more; avoided nodes have none. A late node has a NodeFault.
   */
  most<T>(ask: Ask<T>): Promise<NodeResult<T>[]> {
    return askEach(this.#nodes.members, this.quorum, ask);
  }

  /**
   * Asks the nodes other than `name`, the best first, until one returns a `wanted` answer; with a single node, that
   * node. A node that lags or lost its history must not hide what another one has. Null if no node returns it.
   */
  async second<T>(name: string, ask: Ask<T>, wanted: (answer: T) => boolean): Promise<Answer<T> | null> {
    const others = this.#ranked().filter(({ node }) => this.quorum === 1 || node.name !== name);
    const find = (results: readonly NodeResult<T>[]) =>
      answersIn(results).find(({ answer }) => wanted(answer)) ?? null;
    const missing: Wanting<T> = (results) => (find(results) === null ? 1 : 0);
    return find(await this.#hedge(ask, missing, undefined, others));
  }

  /** Asks this node last for some time, because a quorum contradicted its answer. */
  distrust(name: string, reason: string): void {
    for (const member of this.#nodes.members) if (member.node.name === name) member.health.disproved(reason);
  }

  close(): Promise<void> {
    return this.#nodes.close();
  }

  async #hedge<T>(
    ask: Ask<T>,
    wanting: Wanting<T>,
    end?: AbortSignal,
    members = this.#ranked(),
  ): Promise<readonly HedgedResult<T>[]> {
    const run = (over: AbortSignal) =>
      new HedgedRequest(members, (node) => ask(node, over), wanting, this.#permits).run();
    const results = await withAbort(run, end);
    end?.throwIfAborted();
    return results;
  }

  /** The nodes that may be asked: by score, then demoted ones, then distrusted ones. Equals keep configured order. */
  #ranked(): PooledNode[] {
    return this.#nodes.members
      .filter((member) => member.askable)
      .toSorted((a, b) => rank(a) - rank(b) || b.score - a.score);
  }

  #unanswered(last: unknown): unknown {
    if (!(last instanceof DomainError) || this.#nodes.members.length === 1) return last;
    return new DomainError('NoHealthyNode', `no node answered: ${last.message}`, {}, last);
  }

  #noneAvailable(): DomainError {
    const reason = this.#nodes.members.map(
      ({ node, demoted }) => `${node.name}: ${demoted?.reason ?? 'ready'}`,
    );
    return new DomainError('NoHealthyNode', `no node is available now: ${reason.join('; ')}`);
  }
}

function rank({ demoted }: PooledNode): number {
  if (demoted === null) return 0;
  return demoted.cause === 'false' ? 2 : 1;
}

/** Asks these nodes in parallel, and waits until `quorum` of them have answered: see {@link answersOfMost}. */
async function askEach<T>(
  members: readonly PooledNode[],
  quorum: number,
  ask: Ask<T>,
): Promise<NodeResult<T>[]> {
  const results = await withAbort((over) => {
    const asked = members.map((member) => ({
      expected: member.expected,
      answer: member.ask((node) => ask(node, over)),
    }));
    return answersOfMost(asked, quorum);
  });
  return members.map(({ node: { name } }, index) => ({ node: name, result: results[index] ?? late(name) }));
}

function late(node: string): PromiseRejectedResult {
  return { status: 'rejected', reason: new NodeFault(node, 'has not answered when a quorum had') };
}

function isAnswer({ result }: NodeResult<unknown>): boolean {
  return result.status === 'fulfilled';
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
  const registry = new NodeRegistry(urls, options);
  try {
    await registry.probe();
    await options.admit?.(registry.cluster);
    return new NodePool(registry);
  } catch (error) {
    await registry.close();
    throw error;
  }
}

/** One probe of nodes that may or may not form a pool. Throws NoHealthyNode only if they never could. */
export async function surveyNodes(urls: readonly string[], neededSlot: bigint | null): Promise<PoolReport> {
  const registry = new NodeRegistry(urls, {});
  try {
    await registry.probe();
    return registry.report(neededSlot);
  } finally {
    await registry.close();
  }
}
