import { DomainError } from '../../domain/errors.ts';
import { reactionTo, retryAfterMs } from './errors.ts';
import { type NodeOptions, SolanaNode } from './node.ts';
import { textAnswer, u64, versionAnswer } from './schemas.ts';

/** What a probe found out about a node. Null where the node would not say. */
export interface NodeFacts {
  readonly genesisHash: string;
  readonly version: string | null;
  readonly firstAvailableBlock: bigint | null;
}

interface Member {
  readonly node: SolanaNode;
  readonly facts: NodeFacts;
  avoidUntil: number;
  faultsInARow: number;
}

const BASE_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;

/** At least two nodes of one cluster (one on loopback). Reads fail over; sends and proofs ask all. */
export class NodePool {
  readonly genesisHash: string;
  /** Nodes that must agree: more than half and at least 2; 1 where a single loopback node serves development. */
  readonly quorum: number;
  readonly #members: Member[];

  constructor(nodes: readonly { node: SolanaNode; facts: NodeFacts }[]) {
    const first = nodes[0];
    if (first === undefined) throw new DomainError('NoHealthyNode', 'no RPC node is configured');
    this.genesisHash = first.facts.genesisHash;
    this.quorum = nodes.length === 1 ? 1 : Math.floor(nodes.length / 2) + 1;
    this.#members = nodes.map((entry) => ({ ...entry, avoidUntil: 0, faultsInARow: 0 }));
  }

  get nodes(): readonly SolanaNode[] {
    return this.#members.map((member) => member.node);
  }

  facts(): readonly (NodeFacts & { node: string })[] {
    return this.#members.map((member) => ({ node: member.node.name, ...member.facts }));
  }

  /** Ask the best healthy node, then the others. Throws the last error, or NoHealthyNode where none could answer at all. */
  async read<T>(ask: (node: SolanaNode) => Promise<T>): Promise<T> {
    let last: unknown;
    for (const member of this.#ranked()) {
      try {
        return await this.#observed(member, ask);
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

  /** Ask every node at once; never throws. */
  async all<T>(
    ask: (node: SolanaNode) => Promise<T>,
  ): Promise<{ node: string; result: PromiseSettledResult<T> }[]> {
    const results = await Promise.allSettled(this.#members.map((member) => this.#observed(member, ask)));
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
    const ranked = this.#ranked();
    const others = ranked.length === 1 ? ranked : ranked.filter((member) => member.node.name !== name);
    for (const member of others) {
      const answer = await this.#observed(member, ask).catch(() => null);
      if (answer !== null && wanted(answer)) return { node: member.node.name, answer };
    }
    return null;
  }

  /** Requests sent to all nodes since the start. */
  rpcCalls(): number {
    return this.#members.reduce((sum, member) => sum + member.node.callCount, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.node.close()));
  }

  #ranked(): Member[] {
    const now = Date.now();
    const waiting = (member: Member): number => Math.max(0, member.avoidUntil - now);
    return this.#members.toSorted((a, b) => waiting(a) - waiting(b));
  }

  async #observed<T>(member: Member, ask: (node: SolanaNode) => Promise<T>): Promise<T> {
    try {
      const answer = await ask(member.node);
      member.faultsInARow = 0;
      member.avoidUntil = 0;
      return answer;
    } catch (error) {
      if (reactionTo(error) === 'demote') {
        const pause = Math.min(MAX_PAUSE_MS, BASE_PAUSE_MS * 2 ** member.faultsInARow);
        member.faultsInARow += 1;
        member.avoidUntil = Date.now() + (retryAfterMs(error) ?? pause);
      }
      throw error;
    }
  }
}

/** Probe the nodes and refuse a mixed set: all must answer the same genesis hash; one node alone only on loopback. */
export async function openNodePool(urls: readonly string[], options: NodeOptions = {}): Promise<NodePool> {
  if (urls.length === 0) throw new DomainError('NoHealthyNode', 'no RPC node is configured');
  if (urls.length === 1 && !urls.every(isLoopback)) {
    throw new DomainError('NoHealthyNode', 'one RPC node serves only on loopback: configure at least two');
  }
  const nodes = urls.map((url, index) => new SolanaNode(url, { ...options, name: nodeName(urls, index) }));
  try {
    const probed = await Promise.all(nodes.map(async (node) => ({ node, facts: await probe(node) })));
    const clusters = new Set(probed.map((entry) => entry.facts.genesisHash));
    if (clusters.size > 1) {
      const seen = probed.map((entry) => `${entry.node.name} ${entry.facts.genesisHash}`).join(', ');
      throw new DomainError('NoHealthyNode', `the RPC nodes serve different clusters: ${seen}`);
    }
    return new NodePool(probed);
  } catch (error) {
    await Promise.allSettled(nodes.map((node) => node.close()));
    throw error;
  }
}

async function probe(node: SolanaNode): Promise<NodeFacts> {
  const [genesisHash, version, firstAvailableBlock] = await Promise.all([
    node.call('getGenesisHash', [], textAnswer),
    node.call('getVersion', [], versionAnswer).then(
      (answer) => answer['solana-core'],
      () => null,
    ),
    node.call('getFirstAvailableBlock', [], u64).catch(() => null),
  ]);
  return { genesisHash, version, firstAvailableBlock };
}

// Two nodes of one provider share a host; evidence must still tell them apart.
function nodeName(urls: readonly string[], index: number): string {
  const hosts = urls.map((url) => new URL(url).host);
  const host = hosts[index] ?? '';
  return hosts.indexOf(host) === hosts.lastIndexOf(host) ? host : `${host}#${index + 1}`;
}

function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
