import { base58 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { loadKeypair, type Signer } from '../../src/signing/signer.ts';
import type { Chain } from '../../src/solana/chain.ts';
import type { SignedAttempt } from '../../src/solana/proof/investigate.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import type { LandingHooks } from '../../src/solana/proof/watch.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { assembleTransaction, composeTransfer, type TokenTransfer } from '../../src/solana/tx/transfer.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';

export const PACE = { pollMs: 20, resendMs: 100, heightMs: 50 };

/** A chain of two nodes, or more, whose blocks the test makes, a funded hot wallet, and watchers with short intervals. */
export class LandingFixture {
  readonly localnet: Localnet;
  readonly pool: NodePool;
  readonly chain: Chain;
  readonly signer: Signer;
  readonly watcher: LandingWatcher;
  readonly #fees: FeePlanner;
  #salt = 0n;

  private constructor(localnet: Localnet, pool: NodePool, signer: Signer) {
    this.localnet = localnet;
    this.pool = pool;
    this.signer = signer;
    this.chain = quickChain(pool);
    this.watcher = new LandingWatcher(this.chain, PACE);
    this.#fees = new FeePlanner(this.chain, QUICK_PRICES);
  }

  static async open(own?: Signer, nodes = 2): Promise<LandingFixture> {
    const signer = own ?? (await loadKeypair(JSON.stringify([...Keypair.generate().secretKey])));
    const hotWallet = signer.address;
    const localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes, hotWallet });
    return new LandingFixture(localnet, await openNodePool(localnet.rpcUrls), signer);
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.localnet.close();
  }

  /** A watcher that soon holds an attempt while the finalized height does not grow. */
  restless(): LandingWatcher {
    return new LandingWatcher(this.chain, { ...PACE, stallMs: 200 });
  }

  /** One that soon holds an outcome that no second node shows. */
  impatient(): LandingWatcher {
    return new LandingWatcher(this.chain, { ...PACE, secondTries: 3 });
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
    const { spec, feeLamports } = await this.#fees.plan(draft, null, this.#salt);
    const { message } = composeTransfer(spec);
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
