import type { SimulatedChain } from '../chain/chain.ts';
import { MAX_AGE } from '../chain/lifetime.ts';
import type { Block, CommitmentLevel, TransactionRecord } from '../chain/records.ts';
import type { StoredAccount } from '../chain/vm.ts';
import { type Fault, faultOf } from '../faults.ts';
import { failures } from './errors.ts';
import { falseAccount, falseTransactions, type StatusLie } from './false-answers.ts';
import { commitmentOf, type Options, optionalNumber, type Params } from './params.ts';

export const API_VERSION = '3.0.0';

/** Slots that Agave lists blocks of at once. */
const LONGEST_LIST = 500_000;

/** What a node shows of the chain while it answers one call, with the faults that the call met. */
export class NodeView {
  readonly chain: SimulatedChain;
  /** Of the node, base58. */
  readonly identity: string;
  readonly #faults: readonly Fault[];
  readonly #onLie: (kind: Fault['kind']) => void;
  readonly #lies = new Set<Fault['kind']>();

  /** @param onLie is called once for each kind of lie in the answer that only the view can tell from the truth */
  constructor(
    chain: SimulatedChain,
    identity: string,
    faults: readonly Fault[] = [],
    onLie: (kind: Fault['kind']) => void = () => undefined,
  ) {
    this.chain = chain;
    this.identity = identity;
    this.#faults = faults;
    this.#onLie = onLie;
  }

  at(commitment: CommitmentLevel): Block {
    const block = this.chain.at(commitment, this.lagBlocks);
    const stuck = commitment === 'finalized' ? faultOf(this.#faults, 'stuck-finality') : undefined;
    return stuck && block.slot > stuck.slot ? this.chain.ledger.newestUpTo(stuck.slot) : block;
  }

  get lagBlocks(): number {
    return faultOf(this.#faults, 'lag')?.blocks ?? 0;
  }

  get firstSlot(): number {
    return Math.max(faultOf(this.#faults, 'history-from')?.slot ?? 0, this.chain.ledger.first.slot);
  }

  holds(slot: number): boolean {
    const hole = faultOf(this.#faults, 'hole');
    return slot >= this.firstSlot && !(hole && slot >= hole.from && slot <= hole.to);
  }

  heightOf(block: Block): number {
    return Math.max(0, block.height + (faultOf(this.#faults, 'height-offset')?.blocks ?? 0));
  }

  transactionsOf({ transactions }: Block): readonly TransactionRecord[] {
    const fault = faultOf(this.#faults, 'false-block');
    return fault === undefined ? transactions : falseTransactions(transactions, fault.lie);
  }

  shown(address: string, account: StoredAccount | null, block: Block): StoredAccount | null {
    const fault = faultOf(this.#faults, 'false-account');
    if (fault === undefined) return account;
    const shown = falseAccount(address, account, fault, (other) => this.chain.account(other, block));
    if (shown !== account) this.#lied('false-account');
    return shown;
  }

  /** The priority fee that the node returns for every block; null if it returns the true ones. */
  get falsePrice(): number | null {
    const fault = faultOf(this.#faults, 'false-price');
    if (fault !== undefined) this.#lied('false-price');
    return fault?.microLamports ?? null;
  }

  unitsShown(units: bigint): bigint {
    const fault = faultOf(this.#faults, 'false-units');
    if (fault === undefined) return units;
    this.#lied('false-units');
    return BigInt(fault.units);
  }

  /** The false status that the node returns for a signature; null if it returns the true one. */
  falseStatusOf(record: TransactionRecord | undefined): StatusLie | null {
    const fault = faultOf(this.#faults, 'false-status');
    if (fault === undefined || (record !== undefined && !this.#differs(record, fault.lie))) return null;
    this.#lied('false-status');
    return fault.lie;
  }

  /** True if the lie differs from the true status. A finalized transaction is only successful or failed. */
  #differs({ slot, meta }: TransactionRecord, lie: StatusLie): boolean {
    const failed = meta.err !== null;
    if (lie === 'failed') return !failed && this.commitmentOf(slot) !== 'finalized';
    return failed || (this.commitmentOf(slot) !== 'finalized' && this.commitmentOf(slot) !== lie);
  }

  /** Signatures that the node lists for an address, although no block has them. The newest first. */
  falseHistoryOf(address: string): readonly string[] {
    if (faultOf(this.#faults, 'false-history') === undefined) return [];
    const { ledger, offered } = this.chain;
    const all = offered.naming(address).map(({ signature }) => signature);
    const listed = all.filter((signature) => ledger.record(signature) === undefined).toReversed();
    if (listed.length > 0) this.#lied('false-history');
    return listed;
  }

  #lied(kind: Fault['kind']): void {
    if (!this.#lies.has(kind)) this.#onLie(kind);
    this.#lies.add(kind);
  }

  /** Heights for which a blockhash is valid on this node. */
  get blockhashAge(): number {
    return Math.min(faultOf(this.#faults, 'blockhash-age')?.heights ?? MAX_AGE, MAX_AGE);
  }

  get longestList(): number {
    return faultOf(this.#faults, 'list-limit')?.slots ?? LONGEST_LIST;
  }

  /** True if the node accepts a transaction and drops it. */
  get dropsSends(): boolean {
    return faultOf(this.#faults, 'drop-send') !== undefined;
  }

  /** The block that a config asks for; refuses when `minContextSlot` is still ahead. */
  bank(config: Options): Block {
    const block = this.at(commitmentOf(config));
    const minimum = optionalNumber(config, 'minContextSlot');
    if (minimum !== null && block.slot < minimum) throw failures.minContextSlot(block.slot);
    return block;
  }

  /** How far the node has come with a block of its history: null while it does not know the block. */
  commitmentOf(slot: number): CommitmentLevel | null {
    if (slot <= this.at('finalized').slot) return 'finalized';
    if (slot <= this.at('confirmed').slot) return 'confirmed';
    return slot <= this.at('processed').slot ? 'processed' : null;
  }
}

export function withContext<T>(
  block: Block,
  value: T,
): { context: { apiVersion: string; slot: number }; value: T } {
  return { context: { apiVersion: API_VERSION, slot: block.slot }, value };
}

export type RpcMethod = (params: Params, view: NodeView) => unknown;

export type MethodTable = Readonly<Record<string, RpcMethod>>;
