import { DomainError, isDomainError, messageOf } from '../../domain/errors.ts';
import { highest, lowest } from '../../domain/units.ts';
import { Batcher } from './batcher.ts';
import { NodeFault } from './errors.ts';
import * as rpc from './methods.ts';
import type { SolanaNode } from './node.ts';
import type { NodePool } from './pool.ts';
import { type Agreement, agree, answersIn } from './quorum.ts';
import type { AccountInfo } from './schemas.ts';

/**
 * One node's answer about an address, at the node's finalized `slot`. `account` is null if there is no such account.
 */
export interface AccountAnswer {
  readonly address: string;
  readonly node: string;
  readonly slot: bigint;
  readonly account: AccountInfo | null;
}

/** Accounts as one node returns them. Repeated requests for an address return the same answer. */
export interface AccountView {
  account(address: string): Promise<AccountAnswer>;
}

/** What `read` made of one node's answers. Two readings agree if their `meaning`, a JSON text, is equal. */
interface NodeReading<T> {
  readonly node: string;
  readonly lowestSlot: bigint;
  readonly highestSlot: bigint;
  readonly meaning: string;
  /** Returns what `read` returned, or throws the AssetRejected that it threw. */
  readonly result: () => T;
}

/** Answers that are more slots apart (about 13 seconds) do not confirm each other. */
const MAX_SLOT_DISTANCE = 32n;
const MAX_LISTED_FIELDS = 4;
const MAX_VALUE_LENGTH = 100;

/**
 * Reads accounts so that a quorum of nodes confirms the result. Requests within `windowMs` milliseconds share one call
 * to each node. Each node answers at its own finalized slot.
 */
export class AgreedAccounts {
  readonly #pool: NodePool;
  readonly #windowMs: number;
  readonly #quorumBatcher: Batcher<readonly AccountAnswer[]>;
  readonly #nodeBatchers = new Map<string, Batcher<AccountAnswer>>();

  constructor(pool: NodePool, windowMs: number) {
    this.#pool = pool;
    this.#windowMs = windowMs;
    this.#quorumBatcher = new Batcher(rpc.MAX_ACCOUNTS_PER_CALL, windowMs, (keys) => this.#askQuorum(keys));
  }

  /**
   * Runs `read` on the accounts of each node of a quorum, and returns its value if all nodes agree on it. Otherwise
   * runs `read` again on every node, and returns the value that a quorum agrees on. Values are compared by
   * `relevantPart`, which omits what changes from slot to slot. A node that contradicts the quorum in the same slot is
   * distrusted. Nodes can also agree that `read` throws AssetRejected, which is then thrown.
   *
   * `addresses`: the accounts that `read` needs first. Throws NodeFault if the nodes disagree, NoHealthyNode if too few
   * nodes answer.
   */
  async read<T>(
    addresses: readonly string[],
    read: (view: AccountView) => Promise<T>,
    relevantPart: (reading: T) => unknown,
  ): Promise<T> {
    const ask = memoized((address: string) => this.#quorumBatcher.get(address));
    const [first = []] = await Promise.all(addresses.map(ask));
    const readings = await Promise.all(
      first.map(({ node }) => {
        const find = async (address: string) => (await ask(address)).find((answer) => answer.node === node);
        const account = async (address: string) => (await find(address)) ?? this.#fromNode(node, address);
        return readingOf(node, account, read, relevantPart);
      }),
    );
    const agreement = this.#agreement(readings.filter(isReading));
    return agreement?.nodes.length === readings.length
      ? agreement.answer.result()
      : this.#readOnAll(addresses, read, relevantPart);
  }

  async #readOnAll<T>(
    addresses: readonly string[],
    read: (view: AccountView) => Promise<T>,
    relevantPart: (reading: T) => unknown,
  ): Promise<T> {
    const answers = await Promise.all(
      this.#pool.nodes.map(({ name }) =>
        readingOf(name, (address) => this.#fromNode(name, address), read, relevantPart),
      ),
    );
    const readings = answers.filter(isReading);
    const agreement = this.#agreement(readings);
    if (agreement === null) throw disagreementError(addresses, answers, this.#pool.quorum);
    const agreeingReadings = readings.filter(({ node }) => agreement.nodes.includes(node));
    for (const reading of readings)
      if (agreeingReadings.some((other) => contradicts(reading, other)))
        this.#pool.distrust(
          reading.node,
          `a quorum of nodes returns different contents of ${addresses.join(', ')} in slot ${reading.highestSlot}`,
        );
    return agreement.answer.result();
  }

  /** The reading on which a quorum agrees at nearly the same slot; null if there is no such quorum. */
  #agreement<T>(readings: readonly NodeReading<T>[]): Agreement<NodeReading<T>> | null {
    const answers = readings.map((reading) => ({ node: reading.node, answer: reading }));
    return agree(answers, this.#pool.quorum, confirms);
  }

  #fromNode(node: string, address: string): Promise<AccountAnswer> {
    let batcher = this.#nodeBatchers.get(node);
    if (batcher === undefined) {
      batcher = new Batcher(rpc.MAX_ACCOUNTS_PER_CALL, this.#windowMs, (keys) => this.#askNode(node, keys));
      this.#nodeBatchers.set(node, batcher);
    }
    return batcher.get(address);
  }

  async #askQuorum(keys: readonly string[]): Promise<ReadonlyMap<string, readonly AccountAnswer[]>> {
    const ask = (node: SolanaNode) => readAccounts(node, keys);
    const answers = answersIn(await this.#pool.some(ask, () => true));
    return new Map(keys.map((key) => [key, answers.flatMap(({ answer }) => answer.get(key) ?? [])]));
  }

  async #askNode(name: string, keys: readonly string[]): Promise<ReadonlyMap<string, AccountAnswer>> {
    const ask = (node: SolanaNode) => readAccounts(node, keys);
    const [answer] = await this.#pool.all(ask, (node) => node.name === name);
    if (answer?.result.status === 'fulfilled') return answer.result.value;
    throw answer?.result.reason ?? new NodeFault(name, 'is not a node of this pool');
  }
}

/** A node did not return an account, or returned one that `read` cannot read. */
class ReadFailure extends Error {}

async function readingOf<T>(
  node: string,
  ask: (address: string) => Promise<AccountAnswer>,
  read: (view: AccountView) => Promise<T>,
  relevantPart: (reading: T) => unknown,
): Promise<NodeReading<T> | ReadFailure> {
  const answers: AccountAnswer[] = [];
  const account = memoized(async (address: string): Promise<AccountAnswer> => {
    const one = await ask(address).catch((cause: unknown): never => {
      throw new ReadFailure(messageOf(cause), { cause });
    });
    answers.push(one);
    return one;
  });
  try {
    const [meaning, result] = await read({ account }).then(
      (value) => [textOf(relevantPart(value)), () => value] as const,
      readingOfRefusal,
    );
    const slots = answers.map(({ slot }) => slot);
    return { node, meaning, result, lowestSlot: lowestSlot(answers), highestSlot: highest([0n, ...slots]) };
  } catch (error) {
    if (error instanceof ReadFailure) return error;
    // Any other domain error does not depend on this node's answer, so no other node can help.
    if (error instanceof DomainError && !isDomainError(error, 'NodeFault')) throw error;
    return new ReadFailure(`${node}: ${messageOf(error)}`, { cause: error });
  }
}

function readingOfRefusal(error: unknown): readonly [string, () => never] {
  if (!isDomainError(error, 'AssetRejected')) throw error;
  return [
    textOf({ refused: error.message }),
    () => {
      throw error;
    },
  ];
}

function isReading<T>(answer: NodeReading<T> | ReadFailure): answer is NodeReading<T> {
  return !(answer instanceof ReadFailure);
}

function confirms(one: NodeReading<unknown>, other: NodeReading<unknown>): boolean {
  const distance = highest([one.highestSlot, other.highestSlot]) - lowest([one.lowestSlot, other.lowestSlot]);
  return one.meaning === other.meaning && distance <= MAX_SLOT_DISTANCE;
}

/** True for different meanings at the same slot. At different slots, the accounts may have changed in between. */
function contradicts(one: NodeReading<unknown>, other: NodeReading<unknown>): boolean {
  const slots = [one.lowestSlot, one.highestSlot, other.lowestSlot, other.highestSlot];
  return one.meaning !== other.meaning && slots.every((slot) => slot === one.lowestSlot);
}

function disagreementError(
  addresses: readonly string[],
  answers: readonly (NodeReading<unknown> | ReadFailure)[],
  quorum: number,
): DomainError {
  const readings = answers.filter(isReading);
  const accounts = addresses.join(', ');
  if (readings.length >= quorum) {
    const message = `RPC nodes disagree about the accounts ${accounts} (${differences(readings)}); ${quorum} nodes must agree before the payment can continue`;
    return new DomainError('NodeFault', message);
  }
  const faults = answers.flatMap((answer) => (isReading(answer) ? [] : [answer.message]));
  const message = `only ${readings.length} of ${answers.length} RPC nodes returned the accounts ${accounts}; ${quorum} are needed: ${faults.join('; ')}`;
  return new DomainError('NoHealthyNode', message);
}

/**
 * The fields that differ, with each node's value. The fields of the reading with the fewest fields, often a refusal,
 * come first.
 */
function differences(readings: readonly NodeReading<unknown>[]): string {
  const fieldsByNode = readings.map(({ node, meaning }) => ({
    node,
    fields: fieldsOf('', JSON.parse(meaning)),
  }));
  const names = fieldsByNode
    .toSorted((one, other) => one.fields.size - other.fields.size)
    .flatMap(({ fields }) => [...fields.keys()]);
  const differingNames = [...new Set(names)].filter(
    (name) => new Set(fieldsByNode.map(({ fields }) => fields.get(name))).size > 1,
  );
  if (differingNames.length === 0)
    return `slots: ${readings.map(({ node, highestSlot }) => `${node} ${highestSlot}`).join(', ')}`;
  return differingNames
    .slice(0, MAX_LISTED_FIELDS)
    .map(
      (name) =>
        `${name}: ${fieldsByNode.map(({ node, fields }) => `${node} ${fields.get(name) ?? 'no value'}`).join(', ')}`,
    )
    .join('; ');
}

function fieldsOf(path: string, value: unknown): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([
      [path, `${typeof value === 'string' ? value : JSON.stringify(value)}`.slice(0, MAX_VALUE_LENGTH)],
    ]);
  return new Map(
    Object.entries(value).flatMap(([name, part]) => [
      ...fieldsOf(path === '' ? name : `${path}.${name}`, part),
    ]),
  );
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
}

function memoized<T>(ask: (address: string) => Promise<T>): (address: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (address) => {
    const answer = answers.get(address) ?? ask(address);
    answers.set(address, answer);
    return answer;
  };
}

export async function readAccounts(
  node: SolanaNode,
  keys: readonly string[],
): Promise<ReadonlyMap<string, AccountAnswer>> {
  const { context, value } = await rpc.getMultipleAccounts(node, keys, 'finalized');
  const source = { node: node.name, slot: context.slot };
  return new Map(
    keys.map((address, index) => [address, { ...source, address, account: value[index] ?? null }]),
  );
}

/** The lowest slot among the answers; 0 if there are none. */
export function lowestSlot(answers: readonly AccountAnswer[]): bigint {
  const [first = 0n, ...others] = answers.map(({ slot }) => slot);
  return lowest([first, ...others]);
}
