import { DomainError } from '../../domain/errors.ts';
import { answersOfMost } from './answers.ts';
import { NodeFault, reactionTo } from './errors.ts';
import { givingUp } from './giving-up.ts';
import { type Heard, Inquiry, SpareQuestions, type Wanting } from './hedged-request.ts';
import type { SolanaNode } from './node.ts';
import { type PoolOptions, Roster } from './node-registry.ts';
import type { Member } from './pooled-node.ts';
import type { NodeReport, NodeWarning, PoolReport } from './report.ts';

/** A question to a node, to be given up once `over` is aborted: nobody waits for the answer then. */
type Ask<T> = (node: SolanaNode, over: AbortSignal) => Promise<T>;

/** At least two nodes of one cluster (one on loopback). Reads fail over; sends and proofs ask all. */
export class NodePool {
  /** The cluster that the nodes belong to. */
  readonly genesisHash: string;
  readonly #roster: Roster;
  readonly #spare = new SpareQuestions();

  /** Throws NoHealthyNode where no quorum of the nodes has shown one cluster yet. */
  constructor(roster: Roster) {
    this.genesisHash = roster.cluster;
    this.#roster = roster;
  }

  /** Nodes that must agree: more than half of those configured and at least 2; 1 where all URLs are of one loopback node. */
  get quorum(): number {
    return this.#roster.quorum;
  }

  /** All configured nodes in their order, whether they serve or not. Ask them through the pool. */
  get nodes(): readonly SolanaNode[] {
    return this.#roster.members.map((member) => member.node);
  }

  /** What is known of every configured node, in their order. */
  report(): readonly NodeReport[] {
    return this.#roster.report().nodes;
  }

  /** What is wrong with the way the nodes are run. */
  warnings(): readonly NodeWarning[] {
    return this.#roster.report().warnings;
  }

  /** Ask every node, but those refused, who it is and how far it is. Happens by itself on a rhythm, too. Never throws. */
  probe(): Promise<void> {
    return this.#roster.probe();
  }

  /**
   * Ask every node now for its cluster: between two probes an address may come to lead elsewhere. Throws NoHealthyNode where no quorum
   * shows that of the pool any more. What is told before this counts only after it.
   */
  confirmCluster(): Promise<void> {
    return this.#roster.confirm();
  }

  /**
   * Ask the best node, then the others: one node alone may call a good question wrong, or what it holds unreadable, and is avoided
   * for a while where another one answers. Throws NoHealthyNode where none could answer at all, else the last error that may pass; the
   * reason of `end` once that is aborted.
   */
  async read<T>(ask: Ask<T>, end?: AbortSignal): Promise<T> {
    const heard = await this.#inquire(ask, (so) => (so.some(isAnswer) ? 0 : 1), end);
    const failures = heard.flatMap(({ member, result }) =>
      result.status === 'rejected' ? [{ member, error: result.reason as unknown }] : [],
    );
    const answer = heard.map(({ result }) => result).find((result) => result.status === 'fulfilled');
    const refusals = failures.filter(({ error }) => isRefusal(error));
    if (answer !== undefined) {
      for (const { member, error } of refusals) member.blame(error);
      return answer.value;
    }
    const passing = failures.findLast(({ error }) => !isRefusal(error));
    throw this.#unanswered((passing ?? refusals.at(-1))?.error ?? this.#nobody());
  }

  /**
   * What a quorum answers alike, with the names of those who do; null where too few agree. No more nodes are asked than that takes,
   * the best first.
   */
  async agreed<T>(
    ask: Ask<T>,
    isSame: (one: T, other: T) => boolean,
  ): Promise<{ readonly answer: T; readonly nodes: readonly string[] } | null> {
    const { quorum } = this;
    const wanting: Wanting<T> = (heard) => quorum - (mostAlike(heard, isSame)?.nodes.length ?? 0);
    const most = mostAlike(await this.#inquire(ask, wanting), isSame);
    return most !== null && most.nodes.length >= quorum ? most : null;
  }

  /**
   * Asks no more nodes than it takes for a quorum of them to give what is wanted, each for itself, the best first: what each of those that
   * were asked answered. Throws nothing but the reason of `end`, once that is aborted.
   */
  async some<T>(
    ask: Ask<T>,
    wanted: (answer: T) => boolean,
    end?: AbortSignal,
  ): Promise<{ node: string; result: PromiseSettledResult<T> }[]> {
    const isWanted = ({ result }: Heard<T>) => result.status === 'fulfilled' && wanted(result.value);
    const heard = await this.#inquire(ask, (so) => this.quorum - so.filter(isWanted).length, end);
    return heard.map(({ member, result }) => ({ node: member.node.name, result }));
  }

  /**
   * Ask every node, or each that is `meant`, at once; never throws. One of them that may not be asked now is there with a NodeFault that
   * says why.
   */
  async all<T>(
    ask: Ask<T>,
    meant: (node: SolanaNode) => boolean = () => true,
  ): Promise<{ node: string; result: PromiseSettledResult<T> }[]> {
    const members = this.#roster.members.filter(({ node }) => meant(node));
    const results = await givingUp((over) =>
      Promise.allSettled(members.map((member) => member.ask((node) => ask(node, over)))),
    );
    return results.map((result, index) => ({ node: members[index]?.node.name ?? '', result }));
  }

  /**
   * Like {@link all}, for what a quorum may decide: when that has answered, the others have half a second more, and those that are
   * avoided have none. One that is late is there with a NodeFault.
   */
  async most<T>(ask: Ask<T>): Promise<{ node: string; result: PromiseSettledResult<T> }[]> {
    const { members } = this.#roster;
    const results = await givingUp((over) => {
      const asked = members.map((member) => ({
        expected: member.expected,
        answer: member.ask((node) => ask(node, over)),
      }));
      return answersOfMost(asked, this.quorum);
    });
    return members.map(({ node: { name } }, index) => ({ node: name, result: results[index] ?? late(name) }));
  }

  /**
   * Ask the nodes other than `name`, one after the other, until one gives what is wanted; with a single node, that node.
   * A node that lags or lost its history must not hide what another one knows. Null where none gives it.
   */
  async second<T>(
    name: string,
    ask: Ask<T>,
    wanted: (answer: T) => boolean,
  ): Promise<{ node: string; answer: T } | null> {
    const alone = this.quorum === 1;
    for (const member of this.#ranked().filter(({ node }) => alone || node.name !== name)) {
      const answer = await givingUp((over) => member.ask((asked) => ask(asked, over))).catch(() => null);
      if (answer !== null && wanted(answer)) return { node: member.node.name, answer };
    }
    return null;
  }

  /** For some time ask this node only when no other one will do: a quorum has denied what it showed. */
  distrust(name: string, reason: string): void {
    for (const member of this.#roster.members) if (member.node.name === name) member.contradicted(reason);
  }

  close(): Promise<void> {
    return this.#roster.close();
  }

  async #inquire<T>(ask: Ask<T>, wanting: Wanting<T>, end?: AbortSignal): Promise<readonly Heard<T>[]> {
    const run = (over: AbortSignal) =>
      new Inquiry(this.#ranked(), (node) => ask(node, over), wanting, this.#spare).run();
    const heard = await givingUp(run, end);
    end?.throwIfAborted();
    return heard;
  }

  /** Those that may be asked: first those that nothing speaks against, by score; equals in the order configured. Who lied is the last. */
  #ranked(): Member[] {
    return this.#roster.members
      .filter((member) => member.askable)
      .toSorted((a, b) => rank(a) - rank(b) || b.score - a.score);
  }

  #unanswered(last: unknown): unknown {
    if (!(last instanceof DomainError) || this.#roster.members.length === 1) return last;
    return new DomainError('NoHealthyNode', `no node answered: ${last.message}`, {}, last);
  }

  #nobody(): DomainError {
    const reason = this.#roster.members.map(
      ({ node, demoted }) => `${node.name}: ${demoted?.reason ?? 'ready'}`,
    );
    return new DomainError('NoHealthyNode', `no node may be asked now: ${reason.join('; ')}`);
  }
}

function rank({ demoted }: Member): number {
  if (demoted === null) return 0;
  return demoted.cause === 'false' ? 2 : 1;
}

function late(node: string): PromiseRejectedResult {
  return { status: 'rejected', reason: new NodeFault(node, 'has not answered when a quorum had') };
}

function isAnswer({ result }: Heard<unknown>): boolean {
  return result.status === 'fulfilled';
}

/** What most of those who answer say alike, and their names. */
function mostAlike<T>(
  heard: readonly Heard<T>[],
  isSame: (one: T, other: T) => boolean,
): { readonly answer: T; readonly nodes: readonly string[] } | null {
  const shown = heard.flatMap(({ member, result }) =>
    result.status === 'fulfilled' ? [{ node: member.node.name, answer: result.value }] : [],
  );
  const versions = shown.map(({ answer }) => ({
    answer,
    nodes: shown.flatMap((other) => (isSame(answer, other.answer) ? [other.node] : [])),
  }));
  return versions.toSorted((a, b) => b.nodes.length - a.nodes.length)[0] ?? null;
}

/** An answer that would end a question for good, if every node gave it. */
function isRefusal(error: unknown): boolean {
  const reaction = reactionTo(error);
  return reaction === 'fatal' || reaction === 'stop';
}

/**
 * Probe the nodes; ready when a quorum of those configured shows one cluster: the others join when they show it, too.
 * One node alone serves only on loopback. Throws NoHealthyNode, which names every node and what it showed, and what `admit` throws.
 */
export async function openNodePool(urls: readonly string[], options: PoolOptions = {}): Promise<NodePool> {
  const roster = new Roster(urls, options);
  try {
    await roster.probe();
    await options.admit?.(roster.cluster);
    return new NodePool(roster);
  } catch (error) {
    await roster.close();
    throw error;
  }
}

/** One look at nodes, whether they make a pool or not. Throws NoHealthyNode only where they never could. */
export async function surveyNodes(urls: readonly string[], options: PoolOptions = {}): Promise<PoolReport> {
  const roster = new Roster(urls, options);
  try {
    await roster.probe();
    return roster.report();
  } finally {
    await roster.close();
  }
}
