import { isLoopback } from '../../domain/cluster.ts';
import { DomainError } from '../../domain/errors.ts';
import { type NodeOptions, SolanaNode } from './node.ts';
import { checkUrls, nodeNames } from './node-urls.ts';
import { PooledNode } from './pooled-node.ts';
import type { Clock } from './probe.ts';
import { agree, reached } from './quorum.ts';
import { type NodeReport, type NodeWarning, nodeWarnings } from './report.ts';

export interface PoolOptions extends Omit<NodeOptions, 'name'> {
  /** Time between two progress probes; every sixth probe asks for identities, too. Default 10,000. */
  readonly probeMs?: number;
  /** Called once with the pool's genesis hash, before any other request. An error of it ends {@link openNodePool}. */
  readonly admit?: (genesisHash: string) => Promise<void> | void;
  /** Called for each change that an operator should know: a node joins late, is refused, or breaks a rule. */
  readonly onNotice?: (notice: string) => void;
  readonly onProbe?: (report: readonly NodeReport[]) => void;
  /** Default: performance.now. */
  readonly now?: Clock;
}

const PROBE_MS = 10_000;
const PROBES_PER_IDENTITY = 6;

/**
 * The members of a pool: nodes that return the genesis hash which a quorum of the configured nodes returns. A silent
 * node is asked again and may join late. A node of another cluster is refused for good, and so is a second URL of the
 * same node.
 */
export class NodeRegistry {
  /** In configured order, whether they serve or not. */
  protected readonly members: readonly PooledNode[];
  readonly #majority: number;
  readonly #onLoopback: boolean;
  readonly #options: PoolOptions;
  readonly #probeTimer: NodeJS.Timeout;
  /** The genesis hash that a quorum returns; null until one does. */
  cluster: string | null = null;
  #currentWarnings: ReadonlySet<string> = new Set();
  #probing: Promise<void> | null = null;
  #rounds = 0;

  /** Throws NoHealthyNode if these URLs can never form a pool. */
  constructor(urls: readonly string[], options: PoolOptions) {
    checkUrls(urls);
    const now = options.now ?? (() => performance.now());
    const names = nodeNames(urls);
    this.members = urls.map((url, index) => {
      const name = names[index];
      const node = new SolanaNode(url, name === undefined ? options : { ...options, name });
      return new PooledNode(node, now);
    });
    this.#majority = Math.floor(urls.length / 2) + 1;
    this.#onLoopback = urls.every(isLoopback);
    this.#options = options;
    this.#probeTimer = setInterval(() => void this.#tick(), options.probeMs ?? PROBE_MS).unref();
  }

  /**
   * Nodes that must agree: more than half of the configured URLs and at least 2; 1 for a single loopback node. No
   * node joins under two names, and no joined node leaves. So this is constant once the cluster is known.
   */
  get quorum(): number {
    const alone = this.members.filter((member) => !member.isDuplicate).length === 1;
    return alone && this.#onLoopback ? 1 : Math.max(2, this.#majority);
  }

  /** All configured nodes in their order, whether they serve or not. Send requests through the pool. */
  get nodes(): readonly SolanaNode[] {
    return this.members.map((member) => member.node);
  }

  /** {@link cluster}. While it is null, throws NoHealthyNode with each node's answer. */
  get genesisHash(): string {
    if (this.cluster !== null) return this.cluster;
    const answers = this.members.map(
      ({ node, facts, demotion, isDuplicate }) =>
        `${node.name} ${facts === null || isDuplicate ? `(${demotion?.reason ?? 'silent'})` : facts.genesisHash}`,
    );
    const needed = `${this.quorum} of ${this.members.length} RPC nodes`;
    const message = `fewer than ${needed} return the same cluster: ${answers.join(', ')}`;
    throw new DomainError('NoHealthyNode', message);
  }

  report(): readonly NodeReport[] {
    return this.members.map((member) => member.report());
  }

  /** The broken rules of node operation. `neededSlot`: the lowest slot whose blocks are needed; null if not known. */
  warnings(neededSlot: bigint | null = null): readonly NodeWarning[] {
    return nodeWarnings(this.report(), neededSlot);
  }

  /** Probes every node that is not refused: identity and progress. Also runs at each interval. Never throws. */
  async probe(): Promise<void> {
    await this.#probing;
    await this.#start(true);
  }

  async close(): Promise<void> {
    clearInterval(this.#probeTimer);
    await Promise.all(this.members.map((member) => member.node.close()));
  }

  async #tick(): Promise<void> {
    if (this.#probing !== null) return;
    this.#rounds += 1;
    await this.#start(this.#rounds % PROBES_PER_IDENTITY === 0);
  }

  #start(includesJoined: boolean): Promise<void> {
    this.#probing = this.#round(includesJoined).finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  async #round(includesJoined: boolean): Promise<void> {
    const mustIdentify = ({ membership }: PooledNode) =>
      membership === 'silent' || (includesJoined && membership === 'joined');
    await Promise.all(this.members.filter(mustIdentify).map((member) => member.identify()));
    this.#admit();
    const joined = this.members.filter(({ membership }) => membership === 'joined');
    await Promise.all(joined.map((member) => member.probeProgress()));
    compareProgress(joined);
    this.#warn(this.warnings().map(({ message }) => message));
    this.#options.onProbe?.(this.report());
  }

  #admit(): void {
    const isAlreadyOpen = this.cluster !== null;
    this.#refuseDuplicates();
    this.cluster ??= this.#agreedCluster();
    if (this.cluster === null) return;
    for (const member of this.members) {
      const genesisHash = member.facts?.genesisHash;
      if (genesisHash === undefined || member.membership === 'refused') continue;
      if (genesisHash !== this.cluster) {
        member.refuseOtherCluster(genesisHash, this.cluster);
      } else if (member.membership === 'silent') {
        member.join();
        if (isAlreadyOpen) this.#options.onNotice?.(`${member.node.name} answers now, and joins`);
      }
    }
  }

  /** A joined node stays: no later answer of another node removes it. */
  #refuseDuplicates(): void {
    for (const [at, member] of this.members.entries()) {
      const identity = member.facts?.identity ?? null;
      if (identity === null || member.membership !== 'silent') continue;
      const same = this.members.find(
        (other, place) =>
          other.facts?.identity === identity &&
          (other.membership === 'joined' || (other.membership === 'silent' && place < at)),
      );
      if (same !== undefined) member.refuseDuplicate(same.node.name);
    }
  }

  #agreedCluster(): string | null {
    const distinctMembers = this.members.filter((member) => !member.isDuplicate);
    const answers = distinctMembers.flatMap(({ node, facts }) =>
      facts === null ? [] : [{ node: node.name, answer: facts.genesisHash }],
    );
    return agree(answers, this.quorum)?.answer ?? null;
  }

  /** Sends each warning once for as long as it is true. */
  #warn(messages: readonly string[]): void {
    for (const message of messages)
      if (!this.#currentWarnings.has(message)) this.#options.onNotice?.(message);
    this.#currentWarnings = new Set(messages);
  }
}

/** Sets each node's lag behind the others at finalized; negative if it is ahead. */
function compareProgress(members: readonly PooledNode[]): void {
  const slots = members.flatMap(({ finalizedSlot }) => finalizedSlot ?? []);
  // The slot that most nodes have reached: with three or more, no single node moves it. Of two, the higher one.
  const common = reached(slots, slots.length < 3 ? 1 : Math.floor(slots.length / 2) + 1) ?? 0n;
  for (const { finalizedSlot, health } of members)
    if (finalizedSlot !== null) health.lagSlots = common - finalizedSlot;
}
