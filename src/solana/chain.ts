import type { StatusObservation } from '../domain/attempt.ts';
import { DomainError, messageOf } from '../domain/errors.ts';
import { ascending } from '../domain/units.ts';
import { nodesWithoutHistory, readStatuses } from './proof/statuses.ts';
import {
  type AccountAnswer,
  type AccountView,
  AgreedAccounts,
  lowestSlot,
  readAccounts,
} from './rpc/agreed-accounts.ts';
import { Batcher } from './rpc/batcher.ts';
import { preflightError, RpcError } from './rpc/errors.ts';
import * as rpc from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import { answersIn } from './rpc/quorum.ts';
import type { AccountInfo } from './rpc/schemas.ts';
import { TtlCache } from './rpc/ttl-cache.ts';
import { acceptsBlockhash, type LatestBlockhash, latestBlockhash, readBaseFee } from './tx/blockhash.ts';
import { recentPrice } from './tx/priority-fee.ts';
import { type Simulation, type Simulations, simulateOn, simulateOnQuorum } from './tx/simulation.ts';

export type { LatestBlockhash } from './tx/blockhash.ts';

/** One node's answer to a send. `error` is null if the node accepted the bytes, which does not prove that they land. */
export interface SendAnswer {
  readonly node: string;
  readonly error: string | null;
  /** True if the node rejects the bytes as invalid. The fault is then ours, unless other nodes accept the bytes. */
  readonly isOurFault: boolean;
}

export const BLOCKHASH_SHARED_MS = 3_000;
const RENT_SHARED_MS = 600_000;
const EPOCH_SHARED_MS = 5_000;
const BASE_FEE_SHARED_MS = 60_000;
const DEFAULT_ACCOUNT_WINDOW_MS = 300;

export interface ChainOptions {
  /** How long a request for an account waits for others that share its RPC call, in ms. Default 300. */
  readonly accountWindowMs?: number;
  /** Called for each sent transaction when the first node has accepted it, with the seconds since the send. */
  readonly onAccepted?: (seconds: number) => void;
}

/** Access to the chain for activities. Requests of many payments share RPC calls. */
export class Chain {
  readonly pool: NodePool;
  readonly #blockhash = new TtlCache<LatestBlockhash>(BLOCKHASH_SHARED_MS);
  readonly #rent = new TtlCache<bigint>(RENT_SHARED_MS);
  readonly #epoch = new TtlCache<bigint>(EPOCH_SHARED_MS);
  readonly #baseFee = new TtlCache<bigint>(BASE_FEE_SHARED_MS);
  readonly #accounts: Batcher<AccountAnswer>;
  readonly #agreed: AgreedAccounts;
  readonly #onAccepted: ChainOptions['onAccepted'];

  constructor(pool: NodePool, options: ChainOptions = {}) {
    this.pool = pool;
    this.#onAccepted = options.onAccepted;
    const windowMs = options.accountWindowMs ?? DEFAULT_ACCOUNT_WINDOW_MS;
    this.#agreed = new AgreedAccounts(pool, windowMs);
    this.#accounts = new Batcher(rpc.MAX_ACCOUNTS_PER_CALL, windowMs, (keys) =>
      this.pool.read((node) => readAccounts(node, keys)),
    );
  }

  latestBlockhash(): Promise<LatestBlockhash> {
    return this.#blockhash.get('', () => latestBlockhash(this.pool));
  }

  /** A finalized account as one node returns it. Requests within `accountWindowMs` share one call. */
  account(address: string): Promise<AccountAnswer> {
    return this.#accounts.get(address);
  }

  /** Finalized accounts in the order of `addresses`, as {@link account} returns them, and the lowest of their slots. */
  async accounts(addresses: readonly string[]): Promise<{ slot: bigint; accounts: (AccountInfo | null)[] }> {
    const answers = await Promise.all(addresses.map((address) => this.account(address)));
    return { slot: lowestSlot(answers), accounts: answers.map(({ account }) => account) };
  }

  /** Result of `read` on accounts, if a quorum of nodes agrees on it. See {@link AgreedAccounts.read}. */
  agreedReading<T>(
    known: readonly string[],
    read: (view: AccountView) => Promise<T>,
    comparedFields: (reading: T) => unknown,
  ): Promise<T> {
    return this.#agreed.read(known, read, comparedFields);
  }

  /** Rent-exempt minimum in lamports for `size` bytes, cached for ten minutes. Throws NoHealthyNode. */
  rentMinimum(size: number): Promise<bigint> {
    return this.#rent.get(String(size), () =>
      this.#agreedValue(`rent-exempt minimum for ${size} bytes`, (node) =>
        rpc.getMinimumBalanceForRentExemption(node, size),
      ),
    );
  }

  /** The current epoch, on which Token-2022 transfer fees depend. Throws NoHealthyNode. */
  epoch(): Promise<bigint> {
    return this.#epoch.get('', () =>
      this.#agreedValue('epoch', async (node) => (await rpc.getEpochInfo(node)).epoch),
    );
  }

  /**
   * Simulates a transaction (base64) on a quorum of nodes, at `minContextSlot` or later. Signatures are not verified,
   * and the blockhash is replaced by a recent one. `quorumResults` is empty if no quorum agrees on the result.
   */
  simulations(
    raw: string,
    minContextSlot: bigint,
    isAlike: (one: Simulation, other: Simulation) => boolean,
  ): Promise<Simulations> {
    return simulateOnQuorum(this.pool, raw, minContextSlot, isAlike);
  }

  /**
   * Simulates a transaction (base64) on one node with the transaction's own blockhash, without verifying signatures.
   * Any result other than BlockhashNotFound shows that the bank at the answer's slot accepts that blockhash. The result
   * has the `accounts` as they are after the transaction.
   */
  simulateAsIs(raw: string, minContextSlot: bigint, accounts: readonly string[] = []): Promise<Simulation> {
    const options = { replaceBlockhash: false, accounts };
    return this.pool.read((node) => simulateOn(node, raw, minContextSlot, options));
  }

  /**
   * Recent price for locking these accounts (at most 128), at `percentile` (0 to 1) of the recent slots, in
   * micro-lamports per compute unit. Returns the median over a quorum of nodes (of two nodes, the lower price), so
   * that no single node sets the price. Throws NoHealthyNode if too few nodes answer.
   */
  async recentPrice(accounts: readonly string[], percentile: number): Promise<bigint> {
    const { slot } = await this.latestBlockhash();
    const priceOn = async (node: SolanaNode) =>
      recentPrice(await rpc.getRecentPrioritizationFees(node, accounts), slot, percentile);
    const answers = await this.pool.some(priceOn, () => true);
    const prices = answersIn(answers)
      .map(({ answer }) => answer)
      .toSorted(ascending);
    const median = prices[Math.floor((prices.length - 1) / 2)];
    if (prices.length >= this.pool.quorum && median !== undefined) return median;
    const message = `only ${prices.length} of ${this.pool.nodes.length} nodes returned recent prioritization fees; ${this.pool.quorum} are needed`;
    throw new DomainError('NoHealthyNode', message);
  }

  /**
   * Base fee in lamports of a message (base64) with one signature, whose priority fee is `priorityFeeLamports`. Cached
   * for a minute. Throws NoHealthyNode.
   */
  baseFee(message: string, priorityFeeLamports: bigint): Promise<bigint> {
    return this.#baseFee.get('', () =>
      this.#agreedValue('base fee of one signature', (node) =>
        readBaseFee(node, message, priorityFeeLamports),
      ),
    );
  }

  /**
   * Names of the nodes whose finalized bank accepts the blockhash. `failedNodes`: whether to include nodes that fail.
   */
  async nodesAccepting(
    blockhash: string,
    failedNodes: 'included' | 'excluded' = 'excluded',
  ): Promise<string[]> {
    const answers = await this.pool.all((node) => acceptsBlockhash(node, blockhash));
    return answers.flatMap(({ node, result }) =>
      (result.status === 'fulfilled' ? result.value : failedNodes === 'included') ? [node] : [],
    );
  }

  /** Sends a transaction (base64) to every node except `busyNodes`, whose last send is unanswered. */
  async send(raw: string, busyNodes = new Set<string>()): Promise<SendAnswer[]> {
    const begin = performance.now();
    let isAccepted = false;
    const sendTo = async (node: SolanaNode): Promise<void> => {
      busyNodes.add(node.name);
      await rpc.sendTransaction(node, raw).finally(() => busyNodes.delete(node.name));
      if (!isAccepted) this.#onAccepted?.((performance.now() - begin) / 1_000);
      isAccepted = true;
    };
    const answers = await this.pool.all(sendTo, ({ name }) => !busyNodes.has(name));
    return answers.map(({ node, result }) => ({
      node,
      error: result.status === 'fulfilled' ? null : sendError(result.reason),
      isOurFault:
        result.status === 'rejected' &&
        result.reason instanceof RpcError &&
        result.reason.reaction === 'fatal',
    }));
  }

  /** The best node's recent statuses of at most 256 signatures, for watching. Never proof of an outcome. */
  recentStatuses(
    signatures: readonly string[],
  ): Promise<{ node: string; observations: StatusObservation[] }> {
    return this.pool.read(async (node) => ({
      node: node.name,
      observations: await readStatuses(node, signatures, false),
    }));
  }

  /**
   * Every node's statuses of at most 256 signatures, from its whole history. `unreadable` if the node fails, or if it
   * returns null but stores no history.
   */
  async statuses(
    signatures: readonly string[],
  ): Promise<{ node: string; observations: StatusObservation[] }[]> {
    const answers = await this.pool.all((node) => readStatuses(node, signatures, true));
    const withoutHistory = nodesWithoutHistory(this.pool);
    return answers.map(({ node, result }) => {
      if (result.status === 'rejected') {
        return { node, observations: signatures.map(() => unreadable(sendError(result.reason))) };
      }
      // A node without history can report a signature, but its null does not prove that the signature is absent.
      const corrected = (observation: StatusObservation) =>
        observation.kind === 'absent' && withoutHistory.has(node)
          ? unreadable('the node stores no transaction history')
          : observation;
      return { node, observations: result.value.map(corrected) };
    });
  }

  async #agreedValue(name: string, ask: (node: SolanaNode) => Promise<bigint>): Promise<bigint> {
    const agreed = await this.pool.agreed(ask, (one, other) => one === other);
    if (agreed !== null) return agreed.answer;
    throw new DomainError('NoHealthyNode', `no quorum of nodes agrees on the ${name}`);
  }
}

function unreadable(reason: string): StatusObservation {
  return { kind: 'unreadable', reason };
}

function sendError(reason: unknown): string {
  if (reason instanceof RpcError) return preflightError(reason) ?? reason.message;
  return messageOf(reason);
}
