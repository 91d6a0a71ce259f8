import {
  Keypair,
  type PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { resume } from '../ledger/support.ts';
import { quickChain } from '../support/quick-chain.ts';

/** A chain of `nodes` with a hot wallet for the tests of one file. */
export class HotWalletFixture {
  readonly #key = Keypair.generate();
  readonly address = this.#key.publicKey.toBase58();
  readonly #nodes: number;
  #localnet: Localnet | undefined;
  #pool: NodePool | undefined;

  constructor(nodes: number) {
    this.#nodes = nodes;
  }

  get localnet(): Localnet {
    if (this.#localnet === undefined) throw new Error('the chain starts before the first test');
    return this.#localnet;
  }

  get pool(): NodePool {
    if (this.#pool === undefined) throw new Error('the pool opens before the first test');
    return this.#pool;
  }

  async start(): Promise<void> {
    const terms = { slotMs: 0, finalityLag: 2, nodes: this.#nodes, hotWallet: this.address };
    this.#localnet = await startLocalnet(terms);
    this.#pool = await openNodePool(this.#localnet.rpcUrls);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
    await this.#localnet?.close();
  }

  /** A check by a process that has just started. */
  check(ledger: Ledger, hotWallet = this.address): Promise<void> {
    return new WalletWatch({ ledger, chain: quickChain(this.pool), hotWallet }).check();
  }

  /** A final transfer that the wallet, or another one, signs without Sluice; returns the signature. */
  async spend(destination: PublicKey = Keypair.generate().publicKey, key = this.#key): Promise<string> {
    const transfer = { fromPubkey: key.publicKey, toPubkey: destination, lamports: 3_000_000 };
    return this.sign([SystemProgram.transfer(transfer)], [], key);
  }

  /** Any final transaction that the wallet signs without Sluice; returns the signature. */
  async sign(
    instructions: TransactionInstruction[],
    signers: Keypair[] = [],
    payer = this.#key,
  ): Promise<string> {
    const { blockhash } = await quickChain(this.pool).latestBlockhash();
    const payerKey = payer.publicKey;
    const message = new TransactionMessage({ payerKey, recentBlockhash: blockhash, instructions });
    const transaction = new VersionedTransaction(message.compileToV0Message());
    transaction.sign([payer, ...signers]);
    const raw = Buffer.from(transaction.serialize()).toString('base64');
    const signature = await this.pool.read((node) => sendTransaction(node, raw));
    this.localnet.controls.produceSlots(4);
    return signature;
  }
}

/** {@link HotWalletFixture} that starts with the tests of a file and is looked at once, when nothing has happened yet. */
export function useHotWallet(nodes: number, use: { readonly ledger: Ledger }): HotWalletFixture {
  const hot = new HotWalletFixture(nodes);
  beforeAll(async () => {
    await hot.start();
    await hot.check(use.ledger);
  });
  afterEach(async () => {
    hot.localnet.controls.clearFaults();
    await resume(use.ledger);
  });
  afterAll(() => hot.close());
  return hot;
}
