import type { Sighting } from '../domain/attempt.ts';
import { Batcher } from './batcher.ts';
import { type LatestBlockhash, latestBlockhash, readBaseFee, takesBlockhash } from './blockhash.ts';
import { NodeFault, preflightError, RpcError } from './rpc/errors.ts';
import * as rpc from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import type { AccountInfo } from './rpc/schemas.ts';
import { forgetfulNodes, readStatuses } from './statuses.ts';
import type { TransactionError } from './transaction-error.ts';
import { TtlCache } from './ttl-cache.ts';

export type { LatestBlockhash } from './blockhash.ts';

/** How a simulation ended on `node`. */
export interface Simulation {
  readonly node: string;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint | null;
}

/** What one node said to a send; `error` null = it took the bytes, which proves nothing about a landing. */
export interface SendAnswer {
  readonly node: string;
  readonly error: string | null;
}

const BLOCKHASH_SHARED_MS = 3_000;
const RENT_SHARED_MS = 600_000;
const ACCOUNT_WINDOW_MS = 100;

type AccountAnswer = { readonly slot: bigint; readonly account: AccountInfo | null };

/** The chain as activities use it: questions of many withdrawals share calls. */
export class Chain {
  readonly pool: NodePool;
  readonly #blockhash = new TtlCache<LatestBlockhash>(BLOCKHASH_SHARED_MS);
  readonly #rent = new TtlCache<bigint>(RENT_SHARED_MS);
  readonly #epoch = new TtlCache<bigint>(5_000);
  readonly #baseFee = new TtlCache<bigint>(60_000);
  readonly #accounts: Batcher<AccountAnswer>;

  constructor(pool: NodePool) {
    this.pool = pool;
    this.#accounts = new Batcher(rpc.ACCOUNTS_PER_CALL, ACCOUNT_WINDOW_MS, (keys) =>
      this.#readAccounts(keys),
    );
  }

  /** A confirmed blockhash, shared between callers for three seconds. */
  latestBlockhash(): Promise<LatestBlockhash> {
    return this.#blockhash.get('', () => latestBlockhash(this.pool));
  }

  /** Finalized accounts, in the order asked; callers within 100 ms share one call. `slot` is the lowest that any was read at. */
  async accounts(addresses: readonly string[]): Promise<{ slot: bigint; accounts: (AccountInfo | null)[] }> {
    const answers = await Promise.all(addresses.map((address) => this.#accounts.get(address)));
    const slots = answers.map((answer) => answer.slot);
    const slot = slots.reduce((low, next) => (next < low ? next : low), slots[0] ?? 0n);
    return { slot, accounts: answers.map((answer) => answer.account) };
  }

  /** Lamports that an account of `size` data bytes must hold; read from the chain, kept for ten minutes. */
  rentMinimum(size: number): Promise<bigint> {
    return this.#rent.get(String(size), () =>
      this.pool.read((node) => rpc.getMinimumBalanceForRentExemption(node, size)),
    );
  }

  /** The present epoch: transfer fees of Token-2022 depend on it. */
  epoch(): Promise<bigint> {
    return this.#epoch.get('', async () => (await this.pool.read(rpc.getEpochInfo)).epoch);
  }

  /**
   * Run a transaction (base64, signatures not checked, blockhash replaced) without sending it, on a node that has come to
   * `minContextSlot`.
   */
  simulate(raw: string, minContextSlot: bigint): Promise<Simulation> {
    return this.pool.read((node) => simulateOn(node, raw, minContextSlot));
  }

  /** The same on a node other than `name`; null where none can. With a single node, on that. */
  async simulateElsewhere(name: string, raw: string, minContextSlot: bigint): Promise<Simulation | null> {
    const simulated = await this.pool.second(
      name,
      (node) => simulateOn(node, raw, minContextSlot),
      () => true,
    );
    return simulated?.answer ?? null;
  }

  /** Micro-lamports a compute unit that recent blocks took from transactions locking these accounts, newest slots included. */
  async prioritizationFees(accounts: readonly string[]): Promise<bigint[]> {
    const answer = await this.pool.read((node) =>
      rpc.getRecentPrioritizationFees(node, accounts.slice(0, 128)),
    );
    return answer.map((entry) => entry.prioritizationFee);
  }

  /** Lamports that the chain takes for the one signature of such a message (base64), without priority; asked once a minute. */
  baseFee(message: string, priority: bigint): Promise<bigint> {
    return this.#baseFee.get('', () => this.pool.read((node) => readBaseFee(node, message, priority)));
  }

  /** The nodes whose finalized banks take a blockhash now; one that does not say is not among them. */
  async stillTaking(blockhash: string): Promise<string[]> {
    const answers = await this.pool.all((node) => takesBlockhash(node, blockhash));
    return answers.flatMap(({ node, result }) =>
      result.status === 'fulfilled' && result.value ? [node] : [],
    );
  }

  /** Hand the same bytes to every node. Never throws: an error says nothing about what another node did. */
  async send(raw: string): Promise<SendAnswer[]> {
    const answers = await this.pool.all((node) => rpc.sendTransaction(node, raw));
    return answers.map(({ node, result }) => ({
      node,
      error: result.status === 'fulfilled' ? null : sendError(result.reason),
    }));
  }

  /** What the best node knows of these signatures (at most 256), without history: for watching, never for proofs. */
  recentStatuses(signatures: readonly string[]): Promise<{ node: string; sightings: Sighting[] }> {
    return this.pool.read(async (node) => ({
      node: node.name,
      sightings: await readStatuses(node, signatures, false),
    }));
  }

  /** What every node knows of these signatures, history included. A node that cannot say, or keeps none, is `unreadable`. */
  async statuses(signatures: readonly string[]): Promise<{ node: string; sightings: Sighting[] }[]> {
    const answers = await this.pool.all((node) => readStatuses(node, signatures, true));
    const forgetful = forgetfulNodes(this.pool);
    return answers.map(({ node, result }) => {
      if (result.status === 'rejected') {
        return { node, sightings: signatures.map(() => unreadable(sendError(result.reason))) };
      }
      // What it still remembers counts, what it does not remember says nothing.
      const said = (sighting: Sighting) =>
        sighting.kind === 'absent' && forgetful.has(node) ? unreadable('keeps no history') : sighting;
      return { node, sightings: result.value.map(said) };
    });
  }

  async #readAccounts(keys: string[]): Promise<ReadonlyMap<string, AccountAnswer>> {
    const { context, value } = await this.pool.read(async (node) => {
      const answer = await rpc.getMultipleAccounts(node, keys);
      const { length } = answer.value;
      if (length === keys.length) return answer;
      throw new NodeFault(
        node.name,
        `getMultipleAccounts: value has ${length} entries for ${keys.length} keys`,
      );
    });
    return new Map(keys.map((key, index) => [key, { slot: context.slot, account: value[index] ?? null }]));
  }
}

async function simulateOn(node: SolanaNode, raw: string, minContextSlot: bigint): Promise<Simulation> {
  const { value } = await rpc.simulateTransaction(node, raw, minContextSlot);
  return {
    node: node.name,
    error: value.err,
    logs: value.logs ?? [],
    unitsConsumed: value.unitsConsumed ?? null,
  };
}

function unreadable(why: string): Sighting {
  return { kind: 'unreadable', why };
}

function sendError(reason: unknown): string {
  if (reason instanceof RpcError) return preflightError(reason) ?? reason.message;
  return reason instanceof Error ? reason.message : String(reason);
}
