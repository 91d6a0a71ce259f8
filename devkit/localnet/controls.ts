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

/** Extensions of a new Token-2022 mint: a transfer fee in basis points, or any others by their instructions. */
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

  /** Address of the faucet, which is the authority of all mints too. */
  get authority(): string {
    return this.#faucet.address;
  }

  produceSlot(): number {
    return this.chain.produce().slot;
  }

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
   * while their blockhash is valid. Their slots are not used again. Gives the slot of the new tip.
   * Throws RangeError where a finalized block would go.
   */
  fork(blocks: number): number {
    return this.chain.fork(blocks).slot;
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

  async airdrop(address: string, lamports: bigint): Promise<string> {
    return this.#finalized(airdrop(this.chain, this.#faucet, address, lamports));
  }

  /** Mints base units to the ATA of a wallet, created where absent; resolves with the signature when finalized. */
  async mintTo(mint: string, owner: string, amount: bigint): Promise<string> {
    return this.#finalized(this.queueMintTo(mint, owner, amount));
  }

  /** Like {@link mintTo}, but only queues the transaction. */
  queueMintTo(mint: string, owner: string, amount: bigint): string {
    const { open, account, mintKey, program } = this.#ataOf(mint, owner);
    const give = createMintToInstruction(mintKey, account, this.#faucet.publicKey, amount, [], program);
    return submitSigned(this.chain, [open, give], [this.#faucet]);
  }

  /** Freezes or thaws the ATA of a wallet, created where absent, as the issuer of the mint; resolves when finalized. */
  async setFrozen(mint: string, owner: string, frozen: boolean): Promise<string> {
    return this.#finalized(this.queueFrozen(mint, owner, frozen));
  }

  /** Like {@link setFrozen}, but only queues the transaction. */
  queueFrozen(mint: string, owner: string, frozen: boolean): string {
    const { open, account, mintKey, program } = this.#ataOf(mint, owner);
    const change = frozen ? createFreezeAccountInstruction : createThawAccountInstruction;
    const instruction = change(account, mintKey, this.#faucet.publicKey, [], program);
    return submitSigned(this.chain, [open, instruction], [this.#faucet]);
  }

  queuePaused(mint: string, paused: boolean): string {
    const change = paused ? createPauseInstruction : createResumeInstruction;
    const instruction = change(new PublicKey(mint), this.#faucet.publicKey);
    return submitSigned(this.chain, [instruction], [this.#faucet]);
  }

  /** Queues the creation of a Token-2022 mint that its issuer can pause; gives its address. */
  queuePausableMint(): string {
    return this.queueMint([pausableExtension(this.#faucet)]);
  }

  /** Queues the creation of a mint: of Token-2022 with `extensions`, of the Token program without them. Gives its address. */
  queueMint(extensions?: readonly MintExtension[]): string {
    const mint = newWallet();
    const { publicKey: authority } = this.#faucet;
    const space = getMintLen(extensions?.map(({ type }) => type) ?? []);
    const programId = extensions === undefined ? TOKEN_PROGRAM_ID : TOKEN_2022_PROGRAM_ID;
    const open = SystemProgram.createAccount({
      fromPubkey: authority,
      newAccountPubkey: mint.publicKey,
      lamports: Number(this.chain.vm.rentMinimum(BigInt(space))),
      space,
      programId,
    });
    const extend = (extensions ?? []).map(({ initialize }) => initialize(mint.publicKey));
    const terms = [mint.publicKey, DECIMALS, authority, authority, programId] as const;
    const instructions = [open, ...extend, createInitializeMint2Instruction(...terms)];
    submitSigned(this.chain, instructions, [this.#faucet, mint]);
    return mint.address;
  }

  /** Creates a Token-2022 mint with 6 decimals; resolves with its address when finalized. */
  async createToken22Mint(options: Token22Options = {}): Promise<string> {
    const { transferFeeBasisPoints: basisPoints, extensions = [] } = options;
    const fee = basisPoints === undefined ? [] : [transferFeeExtension(this.#faucet, basisPoints)];
    const mint = this.queueMint([...fee, ...extensions]);
    await this.#reached(() => this.chain.account(mint, this.chain.at('finalized')) !== null);
    return mint;
  }

  /** The associated token account of a wallet, and the instruction that creates it where it is absent. */
  #ataOf(mint: string, owner: string) {
    const program = new PublicKey(this.chain.vm.account(mint)?.owner ?? TOKEN_PROGRAM_ID.toBase58());
    const [mintKey, ownerKey] = [new PublicKey(mint), new PublicKey(owner)];
    const account = getAssociatedTokenAddressSync(mintKey, ownerKey, true, program);
    const terms = [this.#faucet.publicKey, account, ownerKey, mintKey, program] as const;
    return { open: createAssociatedTokenAccountIdempotentInstruction(...terms), account, mintKey, program };
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
