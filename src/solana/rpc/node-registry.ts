import { isLoopback } from '../../domain/cluster.ts';
import { DomainError } from '../../domain/errors.ts';
import { type NodeOptions, SolanaNode } from './node.ts';
import { checkUrls, nodeNames } from './node-urls.ts';
import { PooledNode } from './pooled-node.ts';
import type { Clock } from './probe.ts';
import { agree, highestQuorumValue } from './quorum.ts';
import { type NodeReport, type NodeWarning, nodeWarnings } from './report.ts';

export interface PoolOptions extends Omit<NodeOptions, 'name'> {
  /** Milliseconds between two progress probes; every sixth probe also asks for identities. Default 10,000. */
  readonly probeMs?: number;
  /** Called with the genesis hash before the pool is used. {@link openNodePool} throws its error. */
  readonly admit?: (genesisHash: string) => Promise<void> | void;
  /** Called with a message for operators if a node joins late, is refused, or breaks a rule of node operation. */
  readonly onNotice?: (notice: string) => void;
  readonly onProbe?: (report: readonly NodeReport[]) => void;
  /** A clock in milliseconds. Default: `performance.now`. */
  readonly now?: Clock;
}

const PROBE_MS = 10_000;
const PROBES_PER_IDENTITY = 6;

/**
 * Decides which configured nodes join the pool: those with the genesis hash on which a quorum agrees. A silent node is
 * probed again and can join later. A node of another cluster, or a second URL of the same node, is refused permanently.
 */
export class NodeRegistry {
  /** All configured nodes, in configured order. */
  protected readonly members: readonly PooledNode[];
  readonly #majority: number;
  readonly #isOnLoopback: boolean;
  readonly #options: PoolOptions;
  readonly #probeTimer: NodeJS.Timeout;
  #cluster: string | null = null;
  #currentWarnings: ReadonlySet<string> = new Set();
  #runningProbe: Promise<void> | null = null;
  #roundCount = 0;

  /** Throws NoHealthyNode if the URLs cannot form a pool. */
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
    this.#isOnLoopback = urls.every(isLoopback);
    this.#options = options;
    this.#probeTimer = setInterval(() => void this.#tick(), options.probeMs ?? PROBE_MS).unref();
  }

  /**
   * Number of nodes that must agree: more than half of the configured URLs and at least 2; 1 for a single node on
   * loopback. No node joins twice, and no joined node is removed. So the number is constant after the first agreement.
   */
  get quorum(): number {
    const isSingle = this.members.filter((member) => !member.isDuplicate).length === 1;
    return isSingle && this.#isOnLoopback ? 1 : Math.max(2, this.#majority);
  }

  /**
   * All configured nodes, in configured order. Send requests through the pool, which skips refused and paused nodes.
   */
  get nodes(): readonly SolanaNode[] {
    return this.members.map((member) => member.node);
  }

  /** The genesis hash that a quorum has returned; null before the first agreement. */
  get cluster(): string | null {
    return this.#cluster;
  }

  /** The pool's genesis hash. Throws NoHealthyNode with each node's answer until a quorum has agreed on it. */
  get genesisHash(): string {
    if (this.#cluster !== null) return this.#cluster;
    const answers = this.members.map(
      ({ node, facts, demotion, isDuplicate }) =>
        `${node.name} ${facts === null || isDuplicate ? `(${demotion?.reason ?? 'no answer'})` : facts.genesisHash}`,
    );
    const needed = `${this.quorum} of ${this.members.length} RPC nodes`;
    const message = `fewer than ${needed} return the same genesis hash: ${answers.join(', ')}`;
    throw new DomainError('NoHealthyNode', message);
  }

  report(): readonly NodeReport[] {
    return this.members.map((member) => member.report());
  }

  /** The broken rules of node operation. `neededSlot`: the lowest slot whose blocks are needed; null if unknown. */
  warnings(neededSlot: bigint | null = null): readonly NodeWarning[] {
    return nodeWarnings(this.report(), neededSlot);
  }

  /** Probes the identity and progress of every node that is not refused. Never throws. */
  async probe(): Promise<void> {
    await this.#runningProbe;
    await this.#start(true);
  }

  async close(): Promise<void> {
    clearInterval(this.#probeTimer);
    await Promise.all(this.members.map((member) => member.node.close()));
  }

  async #tick(): Promise<void> {
    if (this.#runningProbe !== null) return;
    this.#roundCount += 1;
    await this.#start(this.#roundCount % PROBES_PER_IDENTITY === 0);
  }

  #start(includesJoined: boolean): Promise<void> {
    this.#runningProbe = this.#round(includesJoined).finally(() => {
      this.#runningProbe = null;
    });
    return this.#runningProbe;
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
    const isAlreadyOpen = this.#cluster !== null;
    this.#refuseDuplicates();
    this.#cluster ??= this.#agreedCluster();
    if (this.#cluster === null) return;
    for (const member of this.members) {
      const genesisHash = member.facts?.genesisHash;
      if (genesisHash === undefined || member.membership === 'refused') continue;
      if (genesisHash !== this.#cluster) {
        member.refuseOtherCluster(genesisHash, this.#cluster);
      } else if (member.membership === 'silent') {
        member.join();
        if (isAlreadyOpen)
          this.#options.onNotice?.(`${member.node.name} answers now and has joined the pool`);
      }
    }
  }

  /** Of two nodes with one identity, refuses the one that has not joined; of two silent nodes, the second. */
  #refuseDuplicates(): void {
    for (const [at, member] of this.members.entries()) {
      const identity = member.facts?.identity ?? null;
      if (identity === null || member.membership !== 'silent') continue;
      const original = this.members.find(
        (other, place) =>
          other.facts?.identity === identity &&
          (other.membership === 'joined' || (other.membership === 'silent' && place < at)),
      );
      if (original !== undefined) member.refuseDuplicate(original.node.name);
    }
  }

  #agreedCluster(): string | null {
    const distinctMembers = this.members.filter((member) => !member.isDuplicate);
    const answers = distinctMembers.flatMap(({ node, facts }) =>
      facts === null ? [] : [{ node: node.name, answer: facts.genesisHash }],
    );
    return agree(answers, this.quorum)?.answer ?? null;
  }

  /** Reports each warning when it appears, not at every probe. */
  #warn(messages: readonly string[]): void {
    for (const message of messages)
      if (!this.#currentWarnings.has(message)) this.#options.onNotice?.(message);
    this.#currentWarnings = new Set(messages);
  }
}

/** Sets each node's lag behind the others in finalized slots; negative if the node is ahead. */
function compareProgress(members: readonly PooledNode[]): void {
  const slots = members.flatMap(({ finalizedSlot }) => finalizedSlot ?? []);
  // The slot that more than half of the nodes have reached, so that of three or more no single node decides. Of two
  // nodes, the higher slot counts.
  const common = highestQuorumValue(slots, slots.length < 3 ? 1 : Math.floor(slots.length / 2) + 1) ?? 0n;
  for (const { finalizedSlot, health } of members)
    if (finalizedSlot !== null) health.lagSlots = common - finalizedSlot;
}
