import { base58 } from '@scure/base';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { type Signer } from '../../src/signing/signer.ts';
import type { Chain } from '../../src/solana/chain.ts';
import type { SignedAttempt } from '../../src/solana/proof/investigate.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import type { LandingHooks } from '../../src/solana/proof/watch.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { assembleTransaction, type TokenTransfer } from '../../src/solana/tx/transfer.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';
import { signerOf } from '../support/signer.ts';

export const INTERVALS = { pollMs: 20, resendMs: 100, examineIntervalMs: 50 };

/** The parts of a started fixture. */
interface Parts {
  readonly localnet: Localnet;
  readonly pool: NodePool;
  readonly chain: Chain;
  readonly signer: Signer;
  readonly watcher: LandingWatcher;
  readonly fees: FeePlanner;
}

/** A chain of two nodes, or more, whose blocks the test makes, a funded hot wallet, and watchers with short intervals. */
export class LandingFixture {
  #parts: Parts | undefined;
  #salt = 0n;

  static async open(own?: Signer, nodes?: number): Promise<LandingFixture> {
    const fixture = new LandingFixture();
    await fixture.start(own, nodes);
    return fixture;
  }

  async start(own?: Signer, nodes = 2): Promise<void> {
    const signer = own ?? (await signerOf());
    const hotWallet = signer.address;
    const localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes, hotWallet });
    const pool = await openNodePool(localnet.rpcUrls);
    const chain = quickChain(pool);
    const watcher = new LandingWatcher(chain, INTERVALS);
    this.#parts = { localnet, pool, chain, signer, watcher, fees: new FeePlanner(chain, QUICK_PRICES) };
  }

  get localnet(): Localnet {
    return this.#started().localnet;
  }

  get pool(): NodePool {
    return this.#started().pool;
  }

  get chain(): Chain {
    return this.#started().chain;
  }

  get signer(): Signer {
    return this.#started().signer;
  }

  get watcher(): LandingWatcher {
    return this.#started().watcher;
  }

  #started(): Parts {
    if (this.#parts === undefined) throw new Error('the chain starts before the first test');
    return this.#parts;
  }

  async close(): Promise<void> {
    await this.#parts?.pool.close();
    await this.#parts?.localnet.close();
  }

  /** A watcher that soon holds an attempt while the finalized height does not grow. */
  restless(): LandingWatcher {
    return new LandingWatcher(this.chain, { ...INTERVALS, stallMs: 200 });
  }

  /** One that soon holds an outcome that no second node shows. */
  impatient(): LandingWatcher {
    return new LandingWatcher(this.chain, { ...INTERVALS, maxUnconfirmedTries: 3 });
  }

  /** A signed payment of the hot wallet, not yet sent. */
  async attempt(
    destination: string,
    amount: bigint,
    token: TokenTransfer | null = null,
  ): Promise<SignedAttempt & { raw: string; message: Uint8Array; feeLamports: bigint }> {
    const life = await quickChain(this.pool).latestBlockhash();
    const asset = token?.mint ?? 'SOL';
    const source = this.signer.address;
    const draft = { asset, amount, source, destination, memo: null, token, blockhash: life.blockhash };
    this.#salt += 1n;
    const { message, feeLamports } = await this.#started().fees.plan(draft, null, this.#salt);
    const { raw, signature } = assembleTransaction(message, await this.signer.sign(message));
    return {
      raw,
      signature,
      message,
      feeLamports,
      blockhash: life.blockhash,
      blockhashSlot: life.slot,
      blockhashHeight: life.height,
      lastValidBlockHeight: life.lastValidBlockHeight,
      adoptedFrom: null,
    };
  }

  /** Blocks come every few milliseconds until the wait ends. */
  async withBlocks<T>(wait: Promise<T>, everyMs = 40): Promise<T> {
    const clock = setInterval(() => this.localnet.controls.produceSlot(), everyMs);
    return wait.finally(() => clearInterval(clock));
  }

  /** Every node accepts sends and loses them, until the faults are cleared. */
  swallow(): void {
    const lie = { kind: 'result', result: base58.encode(new Uint8Array(64).fill(1)) } as const;
    for (const node of this.localnet.rpcUrls.keys())
      this.localnet.controls.setFault(node, 'sendTransaction', lie);
  }

  async lamportsOf(address: string): Promise<bigint> {
    return (await this.chain.accounts([address])).accounts[0]?.lamports ?? 0n;
  }
}

/** {@link LandingFixture} for the tests of one file. */
export function useLandingFixture(own?: Signer, nodes?: number): LandingFixture {
  const fixture = new LandingFixture();
  beforeAll(() => fixture.start(own, nodes));
  afterEach(() => fixture.localnet.controls.clearFaults());
  afterAll(() => fixture.close());
  return fixture;
}

/** Hooks of a watch that record their calls. */
export function recordProgress() {
  const progress: string[] = [];
  const abort = new AbortController();
  const hooks: LandingHooks = {
    signal: abort.signal,
    onProgress: ({ status, reason }) => progress.push(reason === null ? status : `${status}: ${reason}`),
  };
  return { progress, hooks, abort };
}
