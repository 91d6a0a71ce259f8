import { setTimeout as sleep } from 'node:timers/promises';
import type { Sighting } from '../domain/attempt.ts';
import { DomainError } from '../domain/errors.ts';
import { Batcher, Shared } from './batch.ts';
import { errorText, preflightError, RpcError } from './rpc/errors.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import type { AccountInfo, TransactionAnswer } from './rpc/schemas.ts';
import * as shape from './rpc/schemas.ts';

/** A blockhash to sign with. `height` and `slot` are those of the block that carries it. */
export interface LatestBlockhash {
  readonly blockhash: string;
  readonly slot: bigint;
  readonly height: bigint;
  readonly lastValidBlockHeight: bigint;
}

/** How a simulation ended. */
export interface Simulation {
  readonly error: string | null;
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
const ACCOUNTS_PER_CALL = 100;
const HIGHEST_READABLE_VERSION = 1;

type AccountAnswer = { readonly slot: bigint; readonly account: AccountInfo | null };

/** The chain as activities use it: questions of many withdrawals share calls. */
export class Chain {
  readonly pool: NodePool;
  readonly #blockhash = new Shared<LatestBlockhash>(BLOCKHASH_SHARED_MS);
  readonly #rent = new Shared<bigint>(RENT_SHARED_MS);
  readonly #epoch = new Shared<bigint>(5_000);
  readonly #baseFee = new Shared<bigint>(60_000);
  readonly #accounts: Batcher<AccountAnswer>;

  constructor(pool: NodePool) {
    this.pool = pool;
    this.#accounts = new Batcher(ACCOUNTS_PER_CALL, ACCOUNT_WINDOW_MS, (keys) => this.#readAccounts(keys));
  }

  /** A confirmed blockhash, shared between callers for three seconds. */
  latestBlockhash(): Promise<LatestBlockhash> {
    return this.#blockhash.get('', () => this.pool.read(readLatestBlockhash));
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
      this.pool.read((node) => node.call('getMinimumBalanceForRentExemption', [size], shape.u64)),
    );
  }

  /** The present epoch: transfer fees of Token-2022 depend on it. */
  epoch(): Promise<bigint> {
    return this.#epoch.get('', async () => (await this.pool.read(readEpochInfo)).epoch);
  }

  /** Run a transaction (base64, signatures not checked, blockhash replaced) without sending it. */
  async simulate(raw: string): Promise<Simulation> {
    const options = {
      encoding: 'base64',
      sigVerify: false,
      replaceRecentBlockhash: true,
      commitment: 'confirmed',
    };
    const { value } = await this.pool.read((node) =>
      node.call('simulateTransaction', [raw, options], shape.simulationAnswer),
    );
    return {
      error: errorText(value.err),
      logs: value.logs ?? [],
      unitsConsumed: value.unitsConsumed ?? null,
    };
  }

  /** Micro-lamports a compute unit that recent blocks took from transactions locking these accounts, newest slots included. */
  async prioritizationFees(accounts: readonly string[]): Promise<bigint[]> {
    const answer = await this.pool.read((node) =>
      node.call('getRecentPrioritizationFees', [accounts.slice(0, 128)], shape.prioritizationFeesAnswer),
    );
    return answer.map((entry) => entry.prioritizationFee);
  }

  /** Lamports that a message costs (base64), or null where its blockhash is not valid. */
  async feeForMessage(message: string): Promise<bigint | null> {
    const ask = (node: SolanaNode) =>
      node.call('getFeeForMessage', [message, { commitment: 'confirmed' }], shape.feeForMessageAnswer);
    return (await this.pool.read(ask)).value;
  }

  /** Lamports that the chain takes for the one signature of such a message (base64), without priority; asked once a minute. */
  baseFee(message: string, priority: bigint): Promise<bigint> {
    return this.#baseFee.get('', async () => {
      const whole = await this.feeForMessage(message);
      if (whole === null)
        throw new DomainError('NodeFault', 'getFeeForMessage: value is null for a new blockhash');
      return whole - priority;
    });
  }

  /** Hand the same bytes to every node. Never throws: an error says nothing about what another node did. */
  async send(raw: string): Promise<SendAnswer[]> {
    const options = {
      encoding: 'base64',
      skipPreflight: true,
      preflightCommitment: 'confirmed',
      maxRetries: 0,
    };
    const answers = await this.pool.all((node) =>
      node.call('sendTransaction', [raw, options], shape.textAnswer),
    );
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

  /** What every node knows of these signatures, history included. A node that cannot say is `unreadable`. */
  async statuses(signatures: readonly string[]): Promise<{ node: string; sightings: Sighting[] }[]> {
    const answers = await this.pool.all((node) => readStatuses(node, signatures, true));
    return answers.map(({ node, result }) => ({
      node,
      sightings:
        result.status === 'fulfilled'
          ? result.value
          : signatures.map(() => ({ kind: 'unreadable', why: sendError(result.reason) })),
    }));
  }

  /** A finalized transaction as the best node has it; null proves nothing. */
  transaction(signature: string): Promise<TransactionAnswer> {
    return this.pool.read((node) => readTransaction(node, signature));
  }

  async #readAccounts(keys: string[]): Promise<ReadonlyMap<string, AccountAnswer>> {
    const options = { encoding: 'base64', commitment: 'finalized' };
    const { context, value } = await this.pool.read((node) =>
      node.call('getMultipleAccounts', [keys, options], shape.accountsAnswer),
    );
    if (value.length !== keys.length) {
      throw new DomainError(
        'NodeFault',
        `getMultipleAccounts: value has ${value.length} entries for ${keys.length} keys`,
      );
    }
    return new Map(keys.map((key, index) => [key, { slot: context.slot, account: value[index] ?? null }]));
  }
}

/** One finalized transaction from one node; null proves nothing. */
export function readTransaction(node: SolanaNode, signature: string): Promise<TransactionAnswer> {
  const options = {
    encoding: 'base64',
    commitment: 'finalized',
    maxSupportedTransactionVersion: HIGHEST_READABLE_VERSION,
  };
  return node.call('getTransaction', [signature, options], shape.transactionAnswer);
}

async function readStatuses(
  node: SolanaNode,
  signatures: readonly string[],
  history: boolean,
): Promise<Sighting[]> {
  const params = [signatures, ...(history ? [{ searchTransactionHistory: true }] : [])];
  const { value } = await node.call('getSignatureStatuses', params, shape.statusesAnswer);
  if (value.length !== signatures.length) {
    throw new DomainError(
      'NodeFault',
      `${node.name} getSignatureStatuses: value has ${value.length} entries`,
    );
  }
  return value.map((entry): Sighting => {
    if (entry === null) return { kind: 'absent' };
    const finalized = entry.confirmations === null || entry.confirmations === undefined;
    const commitment = entry.confirmationStatus ?? (finalized ? 'finalized' : 'processed');
    return { kind: 'seen', commitment, slot: entry.slot, error: errorText(entry.err) };
  });
}

function readEpochInfo(node: SolanaNode) {
  return node.call('getEpochInfo', [{ commitment: 'confirmed' }], shape.epochInfoAnswer);
}

// The block itself tells the height: lastValidBlockHeight minus a constant would be a guess about the node.
async function readLatestBlockhash(node: SolanaNode): Promise<LatestBlockhash> {
  const { context, value } = await node.call(
    'getLatestBlockhash',
    [{ commitment: 'confirmed' }],
    shape.blockhashAnswer,
  );
  const options = {
    commitment: 'confirmed',
    transactionDetails: 'none',
    rewards: false,
    maxSupportedTransactionVersion: HIGHEST_READABLE_VERSION,
  };
  for (let round = 0; ; round += 1) {
    const block = await node
      .call('getBlock', [Number(context.slot), options], shape.blockAnswer)
      .catch((error: unknown) => {
        if (error instanceof RpcError && error.reaction === 'later' && round < 10) return null;
        throw error;
      });
    if (block !== null && block.blockhash === value.blockhash && block.blockHeight !== null) {
      return { ...value, slot: context.slot, height: block.blockHeight };
    }
    if (block !== null || round >= 10) {
      throw new DomainError(
        'NodeFault',
        `${node.name} getLatestBlockhash: block ${context.slot} does not carry it`,
      );
    }
    await sleep(50);
  }
}

function sendError(reason: unknown): string {
  if (reason instanceof RpcError) return preflightError(reason) ?? reason.message;
  return reason instanceof Error ? reason.message : String(reason);
}
