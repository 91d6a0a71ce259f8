import { DomainError } from '../../domain/errors.ts';
import { checkUrls, nodeNames } from './endpoints.ts';
import { reactionTo } from './errors.ts';
import { type Clock, Member } from './member.ts';
import { type NodeOptions, SolanaNode } from './node.ts';
import { type NodeReport, type NodeWarning, nodeWarnings, type PoolReport } from './report.ts';

/** Bounds of the requests to each node, and the rhythm of the probes. */
export interface PoolOptions extends Omit<NodeOptions, 'name'> {
  /** Time between two probes of how far the nodes are; every sixth asks who they are, too. Default 10,000. */
  readonly probeMs?: number;
  /** Hears once of each change that an operator should know: a node that joins late, is refused, or is run against the rules. */
  readonly onNotice?: (notice: string) => void;
  /** Hears what is known of every node, after each probe. */
  readonly onProbe?: (report: readonly NodeReport[]) => void;
  /** Default: performance.now. */
  readonly now?: Clock;
}

const PROBE_MS = 10_000;
const PROBES_PER_IDENTITY = 6;

/**
 * At least two nodes of one cluster (one on loopback). Reads fail over; sends and proofs ask all.
 * A node belongs to it when it shows the genesis hash that a quorum of the configured nodes shows; any other is refused for good.
 */
export class NodePool {
  /** Nodes that must agree: more than half of those configured and at least 2; 1 where a single loopback node serves development. */
  readonly quorum: number;
  readonly #members: readonly Member[];
  readonly #options: PoolOptions;
  readonly #noticed = new Set<string>();
  readonly #rhythm: NodeJS.Timeout;
  #cluster: string | null = null;
  #probing: Promise<void> | null = null;
  #probes = 0;

  constructor(urls: readonly string[], options: PoolOptions = {}) {
    const names = nodeNames(urls);
    const now = options.now ?? (() => performance.now());
    this.quorum = urls.length === 1 ? 1 : Math.floor(urls.length / 2) + 1;
    this.#members = urls.map((url, index) => {
      const name = names[index];
      return new Member(new SolanaNode(url, name === undefined ? options : { ...options, name }), now);
    });
    this.#options = options;
    this.#rhythm = setInterval(() => void this.#beat(), options.probeMs ?? PROBE_MS).unref();
  }

  /** The cluster. Throws NoHealthyNode while no quorum has shown one. */
  get genesisHash(): string {
    if (this.#cluster === null) throw this.#noCluster();
    return this.#cluster;
  }

  /** All configured nodes in their order, whether they serve or not. Ask them through the pool. */
  get nodes(): readonly SolanaNode[] {
    return this.#members.map((member) => member.node);
  }

  /** What is known of every configured node, in their order. */
  report(): readonly NodeReport[] {
    return this.#members.map((member) => member.report());
  }

  /** What is wrong with the way the nodes are run. */
  warnings(): readonly NodeWarning[] {
    return nodeWarnings(this.report());
  }

  /** The whole pool at a glance. */
  survey(): PoolReport {
    return {
      genesisHash: this.#cluster,
      quorum: this.quorum,
      nodes: this.report(),
      warnings: this.warnings(),
    };
  }

  /** Ask the best node, then the others. Throws the last error, or NoHealthyNode where none could answer at all. */
  async read<T>(ask: (node: SolanaNode) => Promise<T>): Promise<T> {
    let last: unknown = this.#nobody();
    for (const member of this.#ranked()) {
      try {
        return await member.ask(ask);
      } catch (error) {
        const reaction = reactionTo(error);
        if (reaction === 'fatal' || reaction === 'stop') throw error;
        last = error;
      }
    }
    if (last instanceof DomainError && this.#members.length > 1) {
      throw new DomainError('NoHealthyNode', `no node answered: ${last.message}`, {}, last);
    }
    throw last;
  }

  /** Ask every node at once; never throws. A node that may not be asked now is there with a NodeFault that says why. */
  async all<T>(
    ask: (node: SolanaNode) => Promise<T>,
  ): Promise<{ node: string; result: PromiseSettledResult<T> }[]> {
    const results = await Promise.allSettled(this.#members.map((member) => member.ask(ask)));
    return results.map((result, index) => ({ node: this.#members[index]?.node.name ?? '', result }));
  }

  /**
   * Ask the nodes other than `name`, one after the other, until one gives what is wanted; with a single node, that node.
   * A node that lags or lost its history must not hide what another one knows. Null where none gives it.
   */
  async second<T>(
    name: string,
    ask: (node: SolanaNode) => Promise<T>,
    wanted: (answer: T) => boolean,
  ): Promise<{ node: string; answer: T } | null> {
    const alone = this.#members.length === 1;
    for (const member of this.#ranked().filter(({ node }) => alone || node.name !== name)) {
      const answer = await member.ask(ask).catch(() => null);
      if (answer !== null && wanted(answer)) return { node: member.node.name, answer };
    }
    return null;
  }

  /** Requests sent to all nodes since the start for withdrawals; probes are not among them. */
  rpcCalls(): number {
    return this.#members.reduce((sum, member) => sum + member.node.callCount, 0);
  }

  /** The first probe. Throws NoHealthyNode where no quorum shows one cluster. */
  async open(): Promise<void> {
    await this.probe();
    if (this.#cluster === null) throw this.#noCluster();
  }

  /** Ask every node, but those refused, who it is and how far it is. Happens by itself on the rhythm, too. Never throws. */
  async probe(): Promise<void> {
    await this.#probing;
    await this.#start(true);
  }

  async close(): Promise<void> {
    clearInterval(this.#rhythm);
    await Promise.all(this.#members.map((member) => member.node.close()));
  }

  async #beat(): Promise<void> {
    if (this.#probing !== null) return;
    this.#probes += 1;
    await this.#start(this.#probes % PROBES_PER_IDENTITY === 0);
  }

  #start(everyone: boolean): Promise<void> {
    this.#probing = this.#round(everyone).finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  async #round(everyone: boolean): Promise<void> {
    const unknown = (member: Member) =>
      member.membership === 'silent' || (everyone && member.membership === 'joined');
    await Promise.all(this.#members.filter(unknown).map((member) => member.identify()));
    this.#admit();
    const joined = this.#members.filter((member) => member.membership === 'joined');
    await Promise.all(joined.map((member) => member.advance()));
    compareProgress(joined);
    for (const { message } of this.warnings()) this.#notice(message);
    this.#options.onProbe?.(this.report());
  }

  #admit(): void {
    const late = this.#cluster !== null;
    this.#cluster ??= this.#elect();
    if (this.#cluster === null) return;
    for (const member of this.#members) {
      const shown = member.facts?.genesisHash;
      if (shown === undefined || member.membership === 'refused') continue;
      if (shown !== this.#cluster) {
        const why = `belongs to cluster ${shown}, not ${this.#cluster}: refused for good`;
        member.refuse(why);
        this.#notice(`${member.node.name} ${why}`);
      } else if (member.membership === 'silent') {
        member.join();
        if (late) this.#notice(`${member.node.name} answers now, and joins`);
      }
    }
  }

  /** The genesis hash that a quorum shows. */
  #elect(): string | null {
    const shown = this.#members.flatMap((member) => member.facts?.genesisHash ?? []);
    return shown.find((hash) => shown.filter((other) => other === hash).length >= this.quorum) ?? null;
  }

  #notice(notice: string): void {
    if (this.#noticed.has(notice)) return;
    this.#noticed.add(notice);
    this.#options.onNotice?.(notice);
  }

  /** Those that may be asked: first those that nothing speaks against, by score; equals in the order configured. */
  #ranked(): Member[] {
    const rank = (member: Member): number => (member.demoted === null ? 0 : 1);
    return this.#members
      .filter((member) => member.askable)
      .toSorted((a, b) => rank(a) - rank(b) || b.score - a.score);
  }

  #nobody(): DomainError {
    const why = this.#members.map(({ node, demoted }) => `${node.name}: ${demoted?.why ?? 'ready'}`);
    return new DomainError('NoHealthyNode', `no node may be asked now: ${why.join('; ')}`);
  }

  #noCluster(): DomainError {
    const seen = this.#members.map(
      ({ node, facts, demoted }) => `${node.name} ${facts?.genesisHash ?? `(${demoted?.why ?? 'silent'})`}`,
    );
    const wanted = `${this.quorum} of ${this.#members.length} RPC nodes`;
    return new DomainError('NoHealthyNode', `not ${wanted} show the same cluster: ${seen.join(', ')}`);
  }
}

/** Each as far behind the best one as it was seen to be, at processed or at finalized. */
function compareProgress(members: readonly Member[]): void {
  const seen = members.flatMap(({ progress }) => progress ?? []);
  const processed = highest(seen.map((progress) => progress.processed));
  const finalized = highest(seen.map((progress) => progress.finalized));
  for (const member of members) {
    const { progress } = member;
    const lag = progress && highest([processed - progress.processed, finalized - progress.finalized]);
    member.compare(lag);
  }
}

function highest(slots: readonly bigint[]): bigint {
  return slots.reduce((most, slot) => (slot > most ? slot : most), 0n);
}

/**
 * Probe the nodes; ready when a quorum of those configured shows one cluster: the others join when they show it, too.
 * One node alone serves only on loopback. Throws NoHealthyNode, which names every node and what it showed.
 */
export async function openNodePool(urls: readonly string[], options: PoolOptions = {}): Promise<NodePool> {
  checkUrls(urls);
  const pool = new NodePool(urls, options);
  try {
    await pool.open();
    return pool;
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/** One look at nodes, whether they make a pool or not. Throws NoHealthyNode only where they never could. */
export async function surveyNodes(urls: readonly string[], options: PoolOptions = {}): Promise<PoolReport> {
  checkUrls(urls);
  const pool = new NodePool(urls, options);
  try {
    await pool.probe();
    return pool.survey();
  } finally {
    await pool.close();
  }
}
