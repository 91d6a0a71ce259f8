import { PublicKey, SystemProgram } from '@solana/web3.js';
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createFreezeAccountInstruction,
  createInitializeMint2Instruction,
  createMintToInstruction,
  createPauseInstruction,
  createResumeInstruction,
  createThawAccountInstruction,
  getAssociatedTokenAddressSync,
  getMintLen,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '../../src/shims/spl-token.ts';
import type { SimulatedChain } from './chain/chain.ts';
import type { Fault, FaultTerms } from './faults.ts';
import { DECIMALS, type MintExtension, pausableExtension, transferFeeExtension } from './genesis.ts';
import type { RpcNode } from './node.ts';
import { airdrop, newWallet, submitSigned, type Wallet } from './wallet.ts';

/** Extensions of a new Token-2022 mint: a transfer fee in basis points, and any others with the instructions that initialize them. */
interface Token22Options {
  readonly transferFeeBasisPoints?: number;
  readonly extensions?: readonly MintExtension[];
}

export class Controls {
  readonly chain: SimulatedChain;
  readonly #faucet: Wallet;
  readonly #nodes: readonly RpcNode[];
  readonly #slotMs: number;

  constructor(chain: SimulatedChain, faucet: Wallet, nodes: readonly RpcNode[], slotMs: number) {
    this.chain = chain;
    this.#faucet = faucet;
    this.#nodes = nodes;
    this.#slotMs = slotMs;
  }

  /** Address of the faucet, which is also the mint and freeze authority of every mint. */
  get authority(): string {
    return this.#faucet.address;
  }

  produceSlot(): number {
    return this.chain.produce().slot;
  }

  produceSlots(count: number): number {
    for (let i = 0; i < count; i += 1) this.chain.produce();
    return this.chain.ledger.tip.slot;
  }

  /** Skips the next slots: they get no block, so that slot numbers grow faster than block heights. */
  skipSlots(count: number): void {
    this.chain.skip(count);
  }

  /**
   * Sets whether blocks include transactions whose fee payer cannot pay the fee; default: no. With SIMD-0290 clusters include them
   * without executing them. Such a transaction, sent without preflight, lands with an error, without a fee and without logs.
   */
  includeUnpayable(enabled: boolean): void {
    this.chain.includesUnpayable = enabled;
  }

  /**
   * Rolls the newest `blocks` back on all nodes and returns the slot of the new tip. 1 removes the processed tip, 2 also the confirmed
   * block below it. The transactions of removed blocks can be sent again while their blockhash is valid; the slots are not used again.
   * Throws RangeError if a finalized block would be removed.
   */
  fork(blocks: number): number {
    return this.chain.fork(blocks).slot;
  }

  /**
   * Adds a fault to a method of a node (`*` for every method). It applies until it is cleared; `terms` can limit it (a number is a
   * maximum number of calls). Requests for subscriptions have the methods `signatureSubscribe`, `slotSubscribe` and
   * `slotsUpdatesSubscribe`; their messages have the methods `signatureNotification`, `slotNotification` and `slotsUpdatesNotification`.
   */
  setFault(node: number, method: string, fault: Fault, terms: number | FaultTerms = {}): void {
    this.#node(node).faults.add(method, fault, typeof terms === 'number' ? { times: terms } : terms);
  }

  /** Removes the faults of all nodes, of one node, or of one method of a node (the same name as in {@link setFault}). */
  clearFaults(node?: number, method?: string): void {
    for (const each of node === undefined ? this.#nodes : [this.#node(node)]) each.faults.clear(method);
  }

  /** How often each kind of fault has applied, on all nodes or on one. Includes cleared faults. */
  faultsMet(node?: number): Partial<Record<Fault['kind'], number>> {
    const total: Partial<Record<Fault['kind'], number>> = {};
    for (const { faults } of node === undefined ? this.#nodes : [this.#node(node)])
      for (const [kind, times] of faults.met) total[kind] = (total[kind] ?? 0) + times;
    return total;
  }

  async airdrop(address: string, lamports: bigint): Promise<string> {
    return this.#waitUntilFinalized(airdrop(this.chain, this.#faucet, address, lamports));
  }

  /** Mints base units to the wallet's ATA, which is created if it does not exist; resolves with the signature when finalized. */
  async mintTo(mint: string, owner: string, amount: bigint): Promise<string> {
    return this.#waitUntilFinalized(this.queueMintTo(mint, owner, amount));
  }

  queueMintTo(mint: string, owner: string, amount: bigint): string {
    const { create, account, mintKey, program } = this.#ataOf(mint, owner);
    const mintTokens = createMintToInstruction(mintKey, account, this.#faucet.publicKey, amount, [], program);
    return submitSigned(this.chain, [create, mintTokens], [this.#faucet]);
  }

  /** As the freeze authority, freezes or thaws the wallet's ATA, which is created if it does not exist; resolves when finalized. */
  async setFrozen(mint: string, owner: string, frozen: boolean): Promise<string> {
    return this.#waitUntilFinalized(this.queueFrozen(mint, owner, frozen));
  }

  queueFrozen(mint: string, owner: string, frozen: boolean): string {
    const { create, account, mintKey, program } = this.#ataOf(mint, owner);
    const createInstruction = frozen ? createFreezeAccountInstruction : createThawAccountInstruction;
    const instruction = createInstruction(account, mintKey, this.#faucet.publicKey, [], program);
    return submitSigned(this.chain, [create, instruction], [this.#faucet]);
  }

  queuePaused(mint: string, paused: boolean): string {
    const createInstruction = paused ? createPauseInstruction : createResumeInstruction;
    const instruction = createInstruction(new PublicKey(mint), this.#faucet.publicKey);
    return submitSigned(this.chain, [instruction], [this.#faucet]);
  }

  queuePausableMint(): string {
    return this.queueMint([pausableExtension(this.#faucet)]);
  }

  /** Queues the creation of a mint and returns its address. With `extensions` it is a Token-2022 mint, else a Token program mint. */
  queueMint(extensions?: readonly MintExtension[]): string {
    const mint = newWallet();
    const { publicKey: authority } = this.#faucet;
    const space = getMintLen(extensions?.map(({ type }) => type) ?? []);
    const programId = extensions === undefined ? TOKEN_PROGRAM_ID : TOKEN_2022_PROGRAM_ID;
    const create = SystemProgram.createAccount({
      fromPubkey: authority,
      newAccountPubkey: mint.publicKey,
      lamports: Number(this.chain.vm.rentMinimum(BigInt(space))),
      space,
      programId,
    });
    const initializeExtensions = (extensions ?? []).map(({ initialize }) => initialize(mint.publicKey));
    const mintArguments = [mint.publicKey, DECIMALS, authority, authority, programId] as const;
    const initializeMint = createInitializeMint2Instruction(...mintArguments);
    const instructions = [create, ...initializeExtensions, initializeMint];
    submitSigned(this.chain, instructions, [this.#faucet, mint]);
    return mint.address;
  }

  /** Creates a Token-2022 mint with 6 decimals; resolves with its address when finalized. */
  async createToken22Mint(options: Token22Options = {}): Promise<string> {
    const { transferFeeBasisPoints: basisPoints, extensions = [] } = options;
    const fee = basisPoints === undefined ? [] : [transferFeeExtension(this.#faucet, basisPoints)];
    const mint = this.queueMint([...fee, ...extensions]);
    await this.#waitUntil(() => this.chain.account(mint, this.chain.at('finalized')) !== null);
    return mint;
  }

  /** The associated token account of a wallet, and the instruction that creates it if it does not exist. */
  #ataOf(mint: string, owner: string) {
    const program = new PublicKey(this.chain.vm.account(mint)?.owner ?? TOKEN_PROGRAM_ID.toBase58());
    const [mintKey, ownerKey] = [new PublicKey(mint), new PublicKey(owner)];
    const account = getAssociatedTokenAddressSync(mintKey, ownerKey, true, program);
    const addresses = [this.#faucet.publicKey, account, ownerKey, mintKey, program] as const;
    const create = createAssociatedTokenAccountIdempotentInstruction(...addresses);
    return { create, account, mintKey, program };
  }

  #node(index: number): RpcNode {
    const node = this.#nodes[index];
    if (!node)
      throw new RangeError(`node ${index} does not exist; the nodes are 0 to ${this.#nodes.length - 1}`);
    return node;
  }

  async #waitUntilFinalized(signature: string): Promise<string> {
    await this.#waitUntil(() => {
      const record = this.chain.ledger.record(signature);
      return record !== undefined && record.slot <= this.chain.at('finalized').slot;
    });
    const err = this.chain.ledger.record(signature)?.meta.err ?? null;
    if (err !== null) throw new Error(`transaction ${signature} failed: ${JSON.stringify(err)}`);
    return signature;
  }

  async #waitUntil(condition: () => boolean): Promise<void> {
    const lastHeight = this.chain.ledger.tip.height + this.chain.finalityLag + 160;
    while (!condition()) {
      if (this.chain.ledger.tip.height > lastHeight)
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
