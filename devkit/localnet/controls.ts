import type { Chain } from './chain/chain.ts';
import type { Fault, FaultTerms } from './faults.ts';
import {
  createToken2022Mint,
  type MintExtension,
  mintTo,
  pausableExtension,
  setFrozen,
  setPaused,
  transferFeeExtension,
} from './genesis.ts';
import type { RpcNode } from './node.ts';
import { airdrop } from './rpc/airdrop.ts';
import type { Wallet } from './wallet.ts';

/** Extensions of a new Token-2022 mint: a transfer fee in basis points, or any others by their instructions. */
export interface Token22Options {
  readonly transferFeeBasisPoints?: number;
  readonly extensions?: readonly MintExtension[];
}

/** What a test does to the chain and its nodes. */
export class Controls {
  readonly chain: Chain;
  readonly #faucet: Wallet;
  readonly #nodes: readonly RpcNode[];
  readonly #slotMs: number;

  constructor(chain: Chain, faucet: Wallet, nodes: readonly RpcNode[], slotMs: number) {
    this.chain = chain;
    this.#faucet = faucet;
    this.#nodes = nodes;
    this.#slotMs = slotMs;
  }

  /** Address of the faucet, which is the authority of all mints too. */
  get authority(): string {
    return this.#faucet.address;
  }

  /** The faucet's public key, for extension set-up. */
  get authorityKey(): Wallet['publicKey'] {
    return this.#faucet.publicKey;
  }

  /** Produces the next block now; gives its slot. */
  produceSlot(): number {
    return this.chain.produce().slot;
  }

  /** Produces that many blocks, each as {@link produceSlot} does; gives the slot of the last one. */
  produceSlots(count: number): number {
    for (let made = 0; made < count; made += 1) this.chain.produce();
    return this.chain.ledger.tip.slot;
  }

  /** Leaves the next slots without a block: slots run ahead of block heights. */
  skipSlots(count: number): void {
    this.chain.skip(count);
  }

  /**
   * Whether blocks include transactions whose fee payer cannot pay, without executing them, as clusters do since SIMD-0290.
   * Off at first. Send one without preflight to see it land with its error, no fee and no logs.
   */
  includeUnpayable(on: boolean): void {
    this.chain.includesUnpayable = on;
  }

  /**
   * Takes back the newest `blocks`: 1 takes the processed tip, 2 the confirmed block below it too, and so on down to the last one
   * above finality, which never goes back. All nodes see it, for it is one chain. Their transactions are gone, and may be sent again
   * while their blockhash lives; `requeue` does that. Their slots are not used again. Gives the slot of the new tip.
   * Throws RangeError where a finalized block would go.
   */
  fork(blocks: number, requeue = false): number {
    return this.chain.fork(blocks, requeue).slot;
  }

  /**
   * Scripts a fault of a node for a method (`*` for all), until it is cleared or as often as `terms` say (a number: that many times).
   * Subscriptions take them under `signatureSubscribe` and `slotSubscribe`, and what they tell under `signatureNotification` and
   * `slotNotification`.
   */
  setFault(node: number, method: string, fault: Fault, terms: number | FaultTerms = {}): void {
    this.#node(node).faults.add(method, fault, typeof terms === 'number' ? { times: terms } : terms);
  }

  /** Ends the faults of all nodes, or of one node, or of one of its methods (named as they were set). */
  clearFaults(node?: number, method?: string): void {
    for (const each of node === undefined ? this.#nodes : [this.#node(node)]) each.faults.clear(method);
  }

  /** How often each kind of fault was met on any node, or on one, cleared ones too. */
  faultsMet(node?: number): Partial<Record<Fault['kind'], number>> {
    const total: Partial<Record<Fault['kind'], number>> = {};
    for (const { faults } of node === undefined ? this.#nodes : [this.#node(node)])
      for (const [kind, times] of faults.met) total[kind] = (total[kind] ?? 0) + times;
    return total;
  }

  /** Gives lamports from the faucet; resolves with the signature when finalized. Where blocks come by hand, it produces them. */
  async airdrop(address: string, lamports: bigint): Promise<string> {
    return this.#finalized(airdrop(this.chain, this.#faucet, address, lamports));
  }

  /** Mints base units to the ATA of a wallet, created where absent; resolves with the signature when finalized. */
  async mintTo(mint: string, owner: string, amount: bigint): Promise<string> {
    return this.#finalized(this.queueMintTo(mint, owner, amount));
  }

  /** Like {@link mintTo}, but only queues the transaction. */
  queueMintTo(mint: string, owner: string, amount: bigint): string {
    return mintTo(this.chain, this.#faucet, mint, owner, amount);
  }

  /** Freezes or thaws the ATA of a wallet, created where absent, as the issuer of the mint; resolves when finalized. */
  async setFrozen(mint: string, owner: string, frozen: boolean): Promise<string> {
    return this.#finalized(this.queueFrozen(mint, owner, frozen));
  }

  /** Like {@link setFrozen}, but only queues the transaction. */
  queueFrozen(mint: string, owner: string, frozen: boolean): string {
    return setFrozen(this.chain, this.#faucet, mint, owner, frozen);
  }

  /** Pauses or resumes all transfers of a pausable mint, as its issuer; only queues the transaction. */
  queuePaused(mint: string, paused: boolean): string {
    return setPaused(this.chain, this.#faucet, mint, paused);
  }

  /** Queues the creation of a Token-2022 mint that its issuer can pause; gives its address. */
  queuePausableMint(): string {
    return createToken2022Mint(this.chain, this.#faucet, [pausableExtension(this.#faucet)]);
  }

  /** Creates a Token-2022 mint with 6 decimals; resolves with its address when finalized. */
  async createToken22Mint(options: Token22Options = {}): Promise<string> {
    const { transferFeeBasisPoints, extensions = [] } = options;
    const fee =
      transferFeeBasisPoints === undefined
        ? []
        : [transferFeeExtension(this.#faucet, transferFeeBasisPoints)];
    const mint = createToken2022Mint(this.chain, this.#faucet, [...fee, ...extensions]);
    await this.#reached(() => this.chain.account(mint, this.chain.at('finalized')) !== null);
    return mint;
  }

  #node(index: number): RpcNode {
    const node = this.#nodes[index];
    if (!node) throw new RangeError(`there is no node ${index}`);
    return node;
  }

  async #finalized(signature: string): Promise<string> {
    await this.#reached(() => {
      const record = this.chain.ledger.record(signature);
      return record !== undefined && record.slot <= this.chain.at('finalized').slot;
    });
    const err = this.chain.ledger.record(signature)?.meta.err ?? null;
    if (err !== null) throw new Error(`transaction ${signature} failed: ${JSON.stringify(err)}`);
    return signature;
  }

  async #reached(done: () => boolean): Promise<void> {
    const patience = this.chain.ledger.tip.height + this.chain.finalityLag + 160;
    while (!done()) {
      if (this.chain.ledger.tip.height > patience)
        throw new Error('the chain did not include the transaction');
      if (this.#slotMs === 0) this.chain.produce();
      else await this.#nextBlock();
    }
  }

  #nextBlock(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.chain.onEvent(() => {
        stop();
        resolve();
      });
    });
  }
}
