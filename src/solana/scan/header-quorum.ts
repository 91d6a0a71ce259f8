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

/** A block header with the hash of the block's signatures; see {@link signaturesHashOf}. */
export interface ListedHeader extends BlockHeader {
  readonly signaturesHash: string;
}

/** A block header that all of `nodes` return identically. Only `time` can differ: it is the quorum's value, or null. */
export interface HeaderVersion {
  readonly header: ListedHeader;
  readonly nodes: readonly string[];
}

interface SlotAnswers {
  readonly versions: readonly HeaderVersion[];
  readonly failures: readonly unknown[];
}

const MAX_CONCURRENT_SLOTS = 8;
/** RPC error codes for a block that the node has deleted, that was skipped, or that is not in its storage. */
const MISSING_BLOCK_CODES: ReadonlySet<number> = new Set([-32001, -32007, -32009]);

/**
 * Collects headers of finalized blocks on which a quorum agrees, with parent links and transaction signatures, so that
 * no single node can insert a block or omit a transaction. Each header costs one small request (`transactionDetails:
 * signatures`) to each node of a quorum, and to every node if the quorum does not agree.
 */
export class HeaderQuorum {
  readonly #pool: NodePool;
  readonly #answers = new Map<bigint, SlotAnswers>();
  /** Slots for which a quorum reported no block. The other nodes were not waited for. */
  readonly #missingSlots = new Set<bigint>();

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /** Requests the headers of `slots` on which no quorum agrees yet. A failure is stored, not thrown. */
  request(slots: readonly bigint[]): Promise<void> {
    return this.#request(slots, false);
  }

  /**
   * Like {@link request}, for slots in which at least one node lists a block. If a quorum reports no block in a slot,
   * the other nodes are not waited for and their answers are ignored.
   */
  requestListed(slots: readonly bigint[]): Promise<void> {
    return this.#request(slots, true);
  }

  /**
   * Requests the header of a block that a child names as its parent. If a quorum reported no block in that slot, a
   * minority of nodes can still have it. Then all nodes are asked for this slot and for earlier slots without a block.
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
   * The header with the slot, hash and height of `name` on which a quorum agrees. Fewer nodes are enough if more nodes
   * return this version than any other version of the slot, and no node failed: a node that failed could return a
   * version with more transactions.
   */
  findHeader(name: BlockName): ListedHeader | undefined {
    const { versions = [], failures = [] } = this.#answers.get(name.slot) ?? {};
    const [first, second] = versions;
    if (first === undefined || (second !== undefined && second.nodes.length >= first.nodes.length))
      return undefined;
    if (first.nodes.length < this.#pool.quorum && failures.length > 0) return undefined;
    return isSameBlock(first.header, name) ? first.header : undefined;
  }

  /**
   * Checks a chain (ascending) in which some block is returned by fewer nodes than a quorum. Throws NodeFault if at
   * least as many nodes return a block that the chain does not contain. Asks every node about the slots without a
   * block.
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
      const message = `nodes contradict each other: ${other.nodes.join(', ')} returns block ${blockhash} in slot ${slot}, but other nodes return a chain that does not contain it`;
      throw new DomainError('NodeFault', message);
    }
  }

  /**
   * The different blocks that nodes return in the slot of a block that a child names, after every node has answered: no
   * node has the named block, which is a gap and never a skipped slot. Throws NoHealthyNode if a node failed, because
   * it might have the block, and NodeFault if some nodes return the block.
   */
  async otherVersionsInSlot(name: BlockName): Promise<readonly HeaderVersion[]> {
    const { versions, failures } = await this.#askAll(name.slot);
    const what = `block ${name.blockhash} of slot ${name.slot}`;
    const isReturned = versions.some(({ header }) => isSameBlock(header, name));
    if (failures.length > 0) {
      const returners = isReturned ? 'too few nodes return' : 'no node returns';
      throw new DomainError(
        'NoHealthyNode',
        `${returners} ${what}, and other nodes do not answer`,
        {},
        failures[0],
      );
    }
    if (isReturned)
      throw new DomainError(
        'NodeFault',
        `nodes contradict each other about ${what}: ${describeVersions(versions)}`,
      );
    return versions;
  }

  /** The nodes that returned exactly this header, with the same parent and signatures. */
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

  /** Null if `acceptsMissing` is true and a quorum reports no block in the slot. */
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
    const failures = results.flatMap(({ result }) =>
      result.status === 'rejected' && !isBlockMissing(result.reason) ? [result.reason as unknown] : [],
    );
    const headers = answersIn(results).flatMap(({ node, answer }) => (answer ? [{ node, answer }] : []));
    const versions = versionsOf(headers, isSameListedHeader).map(({ answer, nodes }) => {
      const times = headers.filter(({ node }) => nodes.includes(node));
      return { header: { ...answer, time: agreedTime(times, this.#pool.quorum) }, nodes };
    });
    return { versions, failures };
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

/** The block time on which a quorum agrees, or null: some nodes have lost block times, but agree on the block. */
function agreedTime(answers: readonly Answer<ListedHeader>[], quorum: number): bigint | null {
  return agree(answers, quorum, (one, other) => one.time === other.time)?.answer.time ?? null;
}

async function readHeader(node: SolanaNode, slot: bigint, signal: AbortSignal): Promise<ListedHeader | null> {
  const options = { commitment: 'finalized', transactionDetails: 'signatures' } as const;
  const block = await getBlock(node, slot, options, signal);
  if (block === null) return null;
  const { blockHeight, signatures } = block;
  if (blockHeight === null) throw new NodeFault(node.name, `getBlock: block ${slot} has no blockHeight`);
  if (signatures === undefined)
    throw new NodeFault(node.name, `getBlock: block ${slot} has no list of signatures`);
  return { slot, ...headerOf({ ...block, blockHeight }), signaturesHash: signaturesHashOf(signatures) };
}

/** True if the error reports that this node does not have the block. The block can still exist. */
export function isBlockMissing(error: unknown): boolean {
  return error instanceof RpcError && MISSING_BLOCK_CODES.has(error.code);
}

function nullIfMissing(error: unknown): null {
  if (isBlockMissing(error)) return null;
  throw error;
}
