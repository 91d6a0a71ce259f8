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
import { type Simulation, type Simulations, simulateAlike, simulateOn } from './tx/simulation.ts';

export type { LatestBlockhash } from './tx/blockhash.ts';

/** One node's answer to a send. `error` null: the node accepted the bytes, which proves nothing about a landing. */
export interface SendAnswer {
  readonly node: string;
  readonly error: string | null;
  /** True if the node calls the bytes themselves invalid: our fault, unless other nodes accept them. */
  readonly isOurFault: boolean;
}

export const BLOCKHASH_SHARED_MS = 3_000;
const RENT_SHARED_MS = 600_000;
const ACCOUNT_WINDOW_MS = 300;

/** Options of {@link Chain}. `accountWindowMs`: how long a request for an account waits to share its call, in ms. */
export interface ChainOptions {
  /** Default 300. */
  readonly accountWindowMs?: number;
}

/** The chain as activities use it. Requests of many payments share RPC calls. */
export class Chain {
  readonly pool: NodePool;
  readonly #blockhash = new TtlCache<LatestBlockhash>(BLOCKHASH_SHARED_MS);
  readonly #rent = new TtlCache<bigint>(RENT_SHARED_MS);
  readonly #epoch = new TtlCache<bigint>(5_000);
  readonly #baseFee = new TtlCache<bigint>(60_000);
  readonly #accounts: Batcher<AccountAnswer>;
  readonly #agreed: AgreedAccounts;

  constructor(pool: NodePool, options: ChainOptions = {}) {
    this.pool = pool;
    const windowMs = options.accountWindowMs ?? ACCOUNT_WINDOW_MS;
    this.#agreed = new AgreedAccounts(pool, windowMs);
    this.#accounts = new Batcher(rpc.MAX_ACCOUNTS_PER_CALL, windowMs, (keys) =>
      this.pool.read((node) => readAccounts(node, keys)),
    );
  }

  latestBlockhash(): Promise<LatestBlockhash> {
    return this.#blockhash.get('', () => latestBlockhash(this.pool));
  }

  /** A finalized account as one node returns it; requests within 300 ms share one call. */
  account(address: string): Promise<AccountAnswer> {
    return this.#accounts.get(address);
  }

  /** Finalized accounts in the order of `addresses`, as {@link account}. `slot` is the lowest of the answers. */
  async accounts(addresses: readonly string[]): Promise<{ slot: bigint; accounts: (AccountInfo | null)[] }> {
    const shown = await Promise.all(addresses.map((address) => this.account(address)));
    return { slot: lowestSlot(shown), accounts: shown.map(({ account }) => account) };
  }

  /** The result of `read` on accounts that a quorum of nodes returns alike; see {@link AgreedAccounts}. */
  agreedReading<T>(
    known: readonly string[],
    read: (view: AccountView) => Promise<T>,
    relied: (reading: T) => unknown,
  ): Promise<T> {
    return this.#agreed.read(known, read, relied);
  }

  /** Rent-exempt minimum for `size` bytes, in lamports, by a quorum; cached for ten minutes. Throws NoHealthyNode. */
  rentMinimum(size: number): Promise<bigint> {
    return this.#rent.get(String(size), () =>
      this.#agreedValue(`rent-exempt minimum for ${size} bytes`, (node) =>
        rpc.getMinimumBalanceForRentExemption(node, size),
      ),
    );
  }

  /** The current epoch by a quorum: transfer fees of Token-2022 depend on it. Throws NoHealthyNode. */
  epoch(): Promise<bigint> {
    return this.#epoch.get('', () =>
      this.#agreedValue('epoch', async (node) => (await rpc.getEpochInfo(node)).epoch),
    );
  }

  /**
   * Simulates a transaction (base64) on as many nodes as a quorum has, best first, at `minContextSlot` or later.
   * Signatures are not checked; the blockhash is replaced. `alike` is empty if no quorum returns the same result.
   */
  simulations(
    raw: string,
    minContextSlot: bigint,
    isAlike: (one: Simulation, other: Simulation) => boolean,
  ): Promise<Simulations> {
    return simulateAlike(this.pool, raw, minContextSlot, isAlike);
  }

  /**
   * Simulates a transaction on one node, as {@link simulations} does, but with the transaction's own blockhash. Any
   * error other than BlockhashNotFound shows that the bank at the answer's slot accepts that blockhash.
   */
  simulateAsIs(raw: string, minContextSlot: bigint): Promise<Simulation> {
    return this.pool.read((node) => simulateOn(node, raw, minContextSlot, { replaced: false }));
  }

  /**
   * Recent priority fee for transactions that lock these accounts (at most 128), at `percentile` of their slots, in
   * micro-lamports per compute unit. Returns the median over a quorum (of two nodes the lower), so that no single
   * node sets the price of a payment. Throws NoHealthyNode.
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
    const message = `only ${prices.length} of ${this.pool.nodes.length} nodes returned recent prices; ${this.pool.quorum} are needed`;
    throw new DomainError('NoHealthyNode', message);
  }

  /**
   * Lamports that one signature of a message (base64) costs, by a quorum; cached for a minute. Throws NoHealthyNode.
   */
  baseFee(message: string, priority: bigint): Promise<bigint> {
    return this.#baseFee.get('', () =>
      this.#agreedValue('fee for a signature', (node) => readBaseFee(node, message, priority)),
    );
  }

  /** Nodes whose finalized bank accepts the blockhash now. With `included`, so are nodes that fail to answer. */
  async stillTaking(blockhash: string, failed: 'included' | 'excluded' = 'excluded'): Promise<string[]> {
    const answers = await this.pool.all((node) => acceptsBlockhash(node, blockhash));
    return answers.flatMap(({ node, result }) =>
      (result.status === 'fulfilled' ? result.value : failed === 'included') ? [node] : [],
    );
  }

  /** Sends the same bytes to every node not in `busy`, the nodes with an unanswered send. */
  async send(raw: string, busy = new Set<string>()): Promise<SendAnswer[]> {
    const sendTo = (node: SolanaNode): Promise<string> => {
      busy.add(node.name);
      return rpc.sendTransaction(node, raw).finally(() => busy.delete(node.name));
    };
    const answers = await this.pool.all(sendTo, ({ name }) => !busy.has(name));
    return answers.map(({ node, result }) => ({
      node,
      error: result.status === 'fulfilled' ? null : sendError(result.reason),
      isOurFault:
        result.status === 'rejected' &&
        result.reason instanceof RpcError &&
        result.reason.reaction === 'fatal',
    }));
  }

  /** Statuses from the best node for at most 256 signatures, without history: for watching, never for proofs. */
  recentStatuses(
    signatures: readonly string[],
  ): Promise<{ node: string; observations: StatusObservation[] }> {
    return this.pool.read(async (node) => ({
      node: node.name,
      observations: await readStatuses(node, signatures, false),
    }));
  }

  /** Every node's statuses, with history. A node that fails, or has no history and returns null, is `unreadable`. */
  async statuses(
    signatures: readonly string[],
  ): Promise<{ node: string; observations: StatusObservation[] }[]> {
    const answers = await this.pool.all((node) => readStatuses(node, signatures, true));
    const withoutHistory = nodesWithoutHistory(this.pool);
    return answers.map(({ node, result }) => {
      if (result.status === 'rejected') {
        return { node, observations: signatures.map(() => unreadable(sendError(result.reason))) };
      }
      // A node without history can prove that it has a signature, never that it lacks one.
      const corrected = (observation: StatusObservation) =>
        observation.kind === 'absent' && withoutHistory.has(node)
          ? unreadable('keeps no history')
          : observation;
      return { node, observations: result.value.map(corrected) };
    });
  }

  async #agreedValue(name: string, ask: (node: SolanaNode) => Promise<bigint>): Promise<bigint> {
    const agreed = await this.pool.agreed(ask, (one, other) => one === other);
    if (agreed !== null) return agreed.answer;
    throw new DomainError('NoHealthyNode', `no quorum of nodes returns the same ${name}`);
  }
}

function unreadable(reason: string): StatusObservation {
  return { kind: 'unreadable', reason };
}

function sendError(reason: unknown): string {
  if (reason instanceof RpcError) return preflightError(reason) ?? reason.message;
  return messageOf(reason);
}
