import pLimit from 'p-limit';
import { type BlockName, isSameBlock } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { NodeFault, RpcError } from '../rpc/errors.ts';
import { getBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { type Answer, agree, answersIn, versionsOf } from '../rpc/quorum.ts';
import { headerOf } from './block.ts';
import { signaturesHashOf } from './listing.ts';

/** A block with its transactions by signature only; `listed`: see {@link signaturesHashOf}. */
export interface ListedHeader extends BlockHeader {
  readonly signaturesHash: string;
}

/** A block that these nodes return alike, except for its time, which is that of a quorum or null. */
export interface HeaderVersion {
  readonly header: ListedHeader;
  readonly nodes: readonly string[];
}

interface SlotAnswers {
  readonly versions: readonly HeaderVersion[];
  readonly failures: readonly unknown[];
}

const MAX_CONCURRENT_SLOTS = 8;
/** Error codes of a node that does not have a block: cleaned up, skipped, or lost. */
const MISSING_BLOCK_CODES: ReadonlySet<number> = new Set([-32001, -32007, -32009]);

/**
 * Headers of finalized blocks as a quorum returns them, with parents and transaction signatures. So a single node can
 * neither insert a block between two others, nor leave a transaction out. Each header costs one small call
 * (`transactionDetails: signatures`) to a quorum of nodes, and to all if they do not agree.
 */
export class HeaderQuorum {
  readonly #pool: NodePool;
  readonly #answers = new Map<bigint, SlotAnswers>();
  /** Slots in which a quorum has no block; the other nodes were not waited for. */
  readonly #missingSlots = new Set<bigint>();

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /** Requests the blocks of these slots, except those that a quorum has returned already. Never throws. */
  request(slots: readonly bigint[]): Promise<void> {
    return this.#request(slots, false);
  }

  /**
   * Like {@link request}, for slots in which a node lists a block. If a quorum answers that it has none, the other
   * nodes are not waited for, and their answers do not count. Never throws.
   */
  requestListed(slots: readonly bigint[]): Promise<void> {
    return this.#request(slots, true);
  }

  /**
   * Requests a block that its child names. If a quorum has lost it, other nodes may have it. Then all nodes are asked
   * about it, and about earlier slots in which a quorum has no block. Never throws.
   */
  async requestParent({ slot }: BlockName): Promise<void> {
    await this.request(
      this.#missingSlots.has(slot) ? [...this.#missingSlots].filter((other) => other <= slot) : [slot],
    );
  }

  agreedHeader(slot: bigint): ListedHeader | undefined {
    const { versions = [] } = this.#answers.get(slot) ?? {};
    return versions.find(({ nodes }) => nodes.length >= this.#pool.quorum)?.header;
  }

  /**
   * The block with that name as a quorum returns it. Fewer nodes suffice if they outnumber those for any other block
   * of the slot, and all others answer that they have none. A node without an answer may know the block's
   * transactions better.
   */
  findHeader(name: BlockName): ListedHeader | undefined {
    const { versions = [], failures: silent = [] } = this.#answers.get(name.slot) ?? {};
    const [first, second] = versions;
    if (first === undefined || (second !== undefined && second.nodes.length >= first.nodes.length))
      return undefined;
    if (first.nodes.length < this.#pool.quorum && silent.length > 0) return undefined;
    return isSameBlock(first.header, name) ? first.header : undefined;
  }

  /**
   * Checks a chain, ascending from the cursor, with blocks that fewer nodes than a quorum return. Throws NodeFault if
   * as many nodes return a block that the chain leaves out. Asks every node about each slot in question.
   */
  async assertComplete(chain: readonly ListedHeader[]): Promise<void> {
    const minNodeCount = Math.min(...chain.map((header) => this.nodesWith(header).length));
    const last = chain.at(-1);
    if (last === undefined || minNodeCount >= this.#pool.quorum) return;
    const slots = new Set(chain.map(({ slot }) => slot));
    await this.request([...this.#missingSlots].filter((slot) => slot < last.slot));
    for (const [slot, { versions }] of this.#answers) {
      const other = versions.find(({ nodes }) => nodes.length >= minNodeCount);
      if (other === undefined || slots.has(slot) || slot > last.slot) continue;
      const { blockhash } = other.header;
      const message = `nodes contradict each other: one node returns block ${blockhash} in slot ${slot}, another node a chain without it`;
      throw new DomainError('NodeFault', message);
    }
  }

  /**
   * The other blocks that nodes return in the slot of a block that no node has, after every node has answered. That
   * is a gap, never a skipped slot. Throws NoHealthyNode if a node that does not answer may have the block, NodeFault
   * if some nodes have it.
   */
  async otherVersionsInSlot(name: BlockName): Promise<readonly HeaderVersion[]> {
    const { versions, failures: silent } = await this.#askAll(name.slot);
    const what = `block ${name.blockhash} of slot ${name.slot}`;
    const isReturned = versions.some(({ header }) => isSameBlock(header, name));
    if (silent.length > 0) {
      const supporters = isReturned ? 'too few nodes while others do not answer' : 'no node that answers now';
      throw new DomainError('NoHealthyNode', `${what} is returned by ${supporters}`, {}, silent[0]);
    }
    if (isReturned)
      throw new DomainError(
        'NodeFault',
        `nodes contradict each other about ${what}: ${describeVersions(versions)}`,
      );
    return versions;
  }

  /** The nodes that returned this block with this parent and these transactions. */
  nodesWith(header: ListedHeader): readonly string[] {
    const { versions = [] } = this.#answers.get(header.slot) ?? {};
    return versions.find((version) => isSameListedHeader(version.header, header))?.nodes ?? [];
  }

  dropUpTo(slot: bigint): void {
    for (const known of this.#answers.keys()) if (known <= slot) this.#answers.delete(known);
    for (const known of this.#missingSlots) if (known <= slot) this.#missingSlots.delete(known);
  }

  clear(): void {
    this.#answers.clear();
    this.#missingSlots.clear();
  }

  async #request(slots: readonly bigint[], acceptsMissing: boolean): Promise<void> {
    const unagreedSlots = slots.filter((slot) => this.agreedHeader(slot) === undefined);
    await pLimit(MAX_CONCURRENT_SLOTS).map(unagreedSlots, async (slot) => {
      const answers = await this.#askQuorum(slot, acceptsMissing);
      if (answers !== null) {
        this.#answers.set(slot, answers);
        this.#missingSlots.delete(slot);
      } else if (!this.#answers.has(slot)) this.#missingSlots.add(slot);
    });
  }

  /** Null if a quorum answers that it has no block, and that `mayBeAbsent`. */
  async #askQuorum(slot: bigint, acceptsMissing: boolean): Promise<SlotAnswers | null> {
    const agreed = await this.#pool.agreed(
      (node, signal) => readHeader(node, slot, signal).catch(nullIfMissing),
      (one, other) =>
        one === null || other === null ? acceptsMissing && one === other : isSameTimedHeader(one, other),
    );
    if (agreed === null) return this.#askAll(slot);
    const { answer: header, nodes } = agreed;
    return header === null ? null : { versions: [{ header, nodes }], failures: [] };
  }

  async #askAll(slot: bigint): Promise<SlotAnswers> {
    const results = await this.#pool.all((node, signal) => readHeader(node, slot, signal));
    const silent = results.flatMap(({ result }) =>
      result.status === 'rejected' && !isBlockMissing(result.reason) ? [result.reason as unknown] : [],
    );
    const headers = answersIn(results).flatMap(({ node, answer }) => (answer ? [{ node, answer }] : []));
    const versions = versionsOf(headers, isSameListedHeader).map(({ answer, nodes }) => {
      const times = headers.filter(({ node }) => nodes.includes(node));
      return { header: { ...answer, time: agreedTime(times, this.#pool.quorum) }, nodes };
    });
    return { versions, failures: silent };
  }
}

export function describeVersions(versions: readonly HeaderVersion[]): string {
  return versions
    .map(({ header, nodes }) => `${nodes.join(', ')}: block ${header.blockhash} (height ${header.height})`)
    .join('; ');
}

export function isSameHeader(one: BlockHeader, other: BlockHeader): boolean {
  const sameParent = one.parentSlot === other.parentSlot && one.previousBlockhash === other.previousBlockhash;
  return sameParent && isSameBlock(one, other);
}

export function isSameListedHeader(one: ListedHeader, other: ListedHeader): boolean {
  return isSameHeader(one, other) && one.signaturesHash === other.signaturesHash;
}

function isSameTimedHeader(one: ListedHeader, other: ListedHeader): boolean {
  return isSameListedHeader(one, other) && one.time === other.time;
}

/** Some nodes do not know the time of a block that they have: this must not prevent agreement on the block. */
function agreedTime(answers: readonly Answer<ListedHeader>[], quorum: number): bigint | null {
  return agree(answers, quorum, (one, other) => one.time === other.time)?.answer.time ?? null;
}

async function readHeader(node: SolanaNode, slot: bigint, signal: AbortSignal): Promise<ListedHeader | null> {
  const options = { commitment: 'finalized', transactionDetails: 'signatures' } as const;
  const block = await getBlock(node, slot, options, signal);
  if (block === null) return null;
  const { blockHeight, signatures } = block;
  if (blockHeight === null)
    throw new NodeFault(node.name, `getBlock: returns block ${slot} without its height`);
  if (signatures === undefined)
    throw new NodeFault(node.name, `getBlock: returns block ${slot} without its signatures`);
  return { slot, ...headerOf({ ...block, blockHeight }), signaturesHash: signaturesHashOf(signatures) };
}

/** True for an error that means that this node does not have a block, which never means that there is none. */
export function isBlockMissing(error: unknown): boolean {
  return error instanceof RpcError && MISSING_BLOCK_CODES.has(error.code);
}

function nullIfMissing(error: unknown): null {
  if (isBlockMissing(error)) return null;
  throw error;
}
