import type { SimulatedChain } from '../chain/chain.ts';
import { MAX_AGE } from '../chain/lifetime.ts';
import type { Block, CommitmentLevel, TransactionRecord } from '../chain/records.ts';
import type { StoredAccount } from '../chain/vm.ts';
import { type Fault, faultOf } from '../faults.ts';
import { failures } from './errors.ts';
import { falseAccount, falseTransactions, type StatusLie } from './false-answers.ts';
import { commitmentOf, type Options, optionalNumber, type Params } from './params.ts';

export const API_VERSION = '3.0.0';

/** Maximum number of slots in one getBlocks call to Agave. */
const MAX_LISTED_SLOTS = 500_000;

/** The chain as a node returns it in one call, with the faults of that call applied. */
export class NodeView {
  readonly chain: SimulatedChain;
  readonly identity: string;
  readonly #faults: readonly Fault[];
  readonly #onLie: (kind: Fault['kind']) => void;
  readonly #countedLies = new Set<Fault['kind']>();

  /** @param onLie is called once for each kind of fault that has changed the answer and that only the view can count */
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

  hasBlock(slot: number): boolean {
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

  reportedAccount(address: string, account: StoredAccount | null, block: Block): StoredAccount | null {
    const fault = faultOf(this.#faults, 'false-account');
    if (fault === undefined) return account;
    const reported = falseAccount(address, account, fault, (other) => this.chain.account(other, block));
    if (reported !== account) this.#countLie('false-account');
    return reported;
  }

  /** The priority fee that the node returns for every block; null if the node returns the true fees. */
  get falsePrice(): number | null {
    const fault = faultOf(this.#faults, 'false-price');
    if (fault !== undefined) this.#countLie('false-price');
    return fault?.microLamports ?? null;
  }

  reportedUnits(units: bigint): bigint {
    const fault = faultOf(this.#faults, 'false-units');
    if (fault === undefined) return units;
    this.#countLie('false-units');
    return BigInt(fault.units);
  }

  /** The false status that the node returns for a signature; null if the node returns the true status. */
  falseStatusOf(record: TransactionRecord | undefined): StatusLie | null {
    const fault = faultOf(this.#faults, 'false-status');
    if (fault === undefined || (record !== undefined && !this.#differs(record, fault.lie))) return null;
    this.#countLie('false-status');
    return fault.lie;
  }

  /** True if the lie differs from the true status. A finalized transaction keeps its commitment; only an error is hidden. */
  #differs({ slot, meta }: TransactionRecord, lie: StatusLie): boolean {
    const failed = meta.err !== null;
    if (lie === 'failed') return !failed && this.commitmentOf(slot) !== 'finalized';
    return failed || (this.commitmentOf(slot) !== 'finalized' && this.commitmentOf(slot) !== lie);
  }

  /** Signatures that the node lists for an address although no block contains them, newest first. */
  falseHistoryOf(address: string): readonly string[] {
    if (faultOf(this.#faults, 'false-history') === undefined) return [];
    const { ledger, sentTransactions } = this.chain;
    const all = sentTransactions.withAccount(address).map(({ signature }) => signature);
    const listed = all.filter((signature) => ledger.record(signature) === undefined).toReversed();
    if (listed.length > 0) this.#countLie('false-history');
    return listed;
  }

  #countLie(kind: Fault['kind']): void {
    if (!this.#countedLies.has(kind)) this.#onLie(kind);
    this.#countedLies.add(kind);
  }

  get blockhashAge(): number {
    return Math.min(faultOf(this.#faults, 'blockhash-age')?.heights ?? MAX_AGE, MAX_AGE);
  }

  get maxListedSlots(): number {
    return faultOf(this.#faults, 'list-limit')?.slots ?? MAX_LISTED_SLOTS;
  }

  get dropsSends(): boolean {
    return faultOf(this.#faults, 'drop-send') !== undefined;
  }

  /** The block at the commitment of a config. Throws if the node has not reached `minContextSlot`. */
  bank(config: Options): Block {
    const block = this.at(commitmentOf(config));
    const minimum = optionalNumber(config, 'minContextSlot');
    if (minimum !== null && block.slot < minimum) throw failures.minContextSlot(block.slot);
    return block;
  }

  /** The commitment of the block in a slot; null if the node has not processed that slot yet. */
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
