import { createHash, randomBytes } from 'node:crypto';
import { toBase58 } from '../encoding/bytes.ts';
import type { DecodedTransaction } from '../encoding/wire.ts';
import { AccountVersions, type Undo } from './account-history.ts';
import { execute, type Inclusion, memoOf } from './execution.ts';
import { BlockStore } from './ledger.ts';
import { BlockhashQueue } from './lifetime.ts';
import { withAdvancedNonce } from './nonce.ts';
import { SYSTEM_PROGRAM } from './programs.ts';
import type { Block, CommitmentLevel, TransactionRecord } from './records.ts';
import { includeUnexecuted } from './unexecuted.ts';
import { type StoredAccount, Vm } from './vm.ts';

export const MAX_LAG_BLOCKS = 512;
export const SLOTS_PER_EPOCH = 432_000;
const MAX_SLOT_HASHES = 150;
const LEADER_LAMPORTS = 500_000_000_000n;
const NEW_WALLET: StoredAccount = {
  lamports: 0n,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
  rentEpoch: 18446744073709551615n,
};
const LEDGER_LIMITS = { blocks: 300_000, transactions: 150_000 };

const MAX_SENT_TRANSACTIONS = 20_000;

/** The newest signed transactions that any node has received, also those that the node then dropped. */
class SentTransactions {
  readonly #bySignature = new Map<string, DecodedTransaction>();

  add(transaction: DecodedTransaction): void {
    this.#bySignature.set(transaction.signature, transaction);
    const [oldest] = this.#bySignature.keys();
    if (this.#bySignature.size > MAX_SENT_TRANSACTIONS && oldest !== undefined)
      this.#bySignature.delete(oldest);
  }

  /** The transactions with this address among their static keys, oldest first. */
  withAccount(address: string): readonly DecodedTransaction[] {
    return [...this.#bySignature.values()].filter(({ message }) => message.keys.includes(address));
  }
}

export type ChainEvent =
  | { readonly kind: 'block'; readonly block: Block }
  | { readonly kind: 'fork'; readonly tip: Block };

/**
 * A simulated chain. The runtime holds the account states at the tip; the history holds earlier states.
 * Transactions wait for the next block, which executes them in the order in which they were submitted.
 */
export class SimulatedChain {
  readonly vm = new Vm();
  readonly ledger = new BlockStore(LEDGER_LIMITS);
  readonly lifetimes = new BlockhashQueue();
  readonly sentTransactions = new SentTransactions();
  readonly finalityLag: number;
  /** Address of the validator that produces all blocks and earns their fees. */
  readonly leader = toBase58(randomBytes(32));
  readonly #history: AccountVersions;
  readonly #seed = randomBytes(32);
  readonly #listeners = new Set<(event: ChainEvent) => void>();
  /** Whether blocks include transactions that cannot pay their fee, without executing them (SIMD-0290). */
  includesUnpayable = false;
  rolledBackCount = 0;
  #pending = new Map<string, DecodedTransaction>();
  #nextSlot = 1;
  #finalizedHeight = 0;

  constructor(finalityLag: number) {
    this.finalityLag = finalityLag;
    this.#history = new AccountVersions(finalityLag + MAX_LAG_BLOCKS);
    this.#attach(this.#createBlock(0, 0, 0, '11111111111111111111111111111111', []), new Map());
    this.#openNext();
  }

  onEvent(listener: (event: ChainEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Number of blocks between the newest block at a commitment and the tip. A fork does not reduce the finalized height. */
  depth(commitment: CommitmentLevel): number {
    if (commitment === 'finalized') return this.ledger.tip.height - this.#finalizedHeight;
    return commitment === 'processed' ? 0 : 1;
  }

  at(commitment: CommitmentLevel, lagBlocks = 0): Block {
    return this.ledger.below(this.depth(commitment) + Math.min(lagBlocks, MAX_LAG_BLOCKS));
  }

  account(address: string, block: Block): StoredAccount | null {
    const old = block === this.ledger.tip ? undefined : this.#history.at(address, block.slot);
    return old === undefined ? this.vm.account(address) : old;
  }

  changedAddresses(): Iterable<string> {
    return this.#history.changedAddresses();
  }

  programAccounts(program: string, block: Block): { address: string; account: StoredAccount }[] {
    const addresses = new Set(this.vm.programAccounts(program).map((item) => item.address));
    if (block !== this.ledger.tip)
      for (const address of this.#history.changedAddresses()) addresses.add(address);
    return [...addresses].flatMap((address) => {
      const account = this.account(address, block);
      return account?.owner === program ? [{ address, account }] : [];
    });
  }

  submit(transaction: DecodedTransaction): void {
    this.#pending.set(transaction.signature, transaction);
  }

  produce(): Block {
    const parent = this.ledger.tip;
    const slot = this.#nextSlot;
    const time = Math.floor(Date.now() / 1000);
    const undo = new Map<string, StoredAccount | null>();
    const pending = this.#pending;
    this.#pending = new Map();
    const records = this.#run([...pending.values()], { slot, time, height: parent.height }, undo);
    const reward = this.#payLeader(records, undo);
    const block = this.#createBlock(slot, parent.slot, parent.height + 1, parent.blockhash, records, reward);
    this.#attach(block, undo);
    this.#nextSlot = slot + 1;
    this.#openNext();
    this.#emit({ kind: 'block', block });
    return block;
  }

  skip(count: number): void {
    this.#nextSlot += count;
    this.#openNext();
  }

  /** Rolls back the newest `count` blocks and discards their transactions. Throws RangeError if one of them is finalized. */
  fork(count: number): Block {
    const max = this.depth('finalized') - 1;
    if (count < 1 || count > max)
      throw new RangeError(`a fork can roll back 1 to ${max} blocks now, not ${count}`);
    for (let i = 0; i < count; i += 1) {
      const block = this.ledger.pop();
      this.rolledBackCount += block.transactions.length;
      this.lifetimes.pop();
      for (const [address, before] of this.#history.pop()) this.vm.setAccount(address, before);
    }
    this.#openNext();
    this.#emit({ kind: 'fork', tip: this.ledger.tip });
    return this.ledger.tip;
  }

  /** Number of transactions in the newest `count` blocks that are not finalized: those that a fork would discard. */
  countAtStake(count: number): number {
    const blocks = Array.from({ length: Math.min(count, this.depth('finalized')) }, (_, depth) =>
      this.ledger.below(depth),
    );
    return blocks.reduce((sum, { transactions }) => sum + transactions.length, 0);
  }

  /** Number of sent transactions with this account that are in no block but can still land in the next one. */
  inFlight(address: string): number {
    const { height } = this.ledger.tip;
    const at = { height, seed: this.vm.nonceSeed(), account: (key: string) => this.vm.account(key) };
    const canLand = (transaction: DecodedTransaction) =>
      this.lifetimes.check(transaction, at).kind === 'valid';
    return this.sentTransactions.withAccount(address).filter(canLand).length;
  }

  #run(
    pending: readonly DecodedTransaction[],
    at: { slot: number; time: number; height: number },
    undo: Map<string, StoredAccount | null>,
  ): TransactionRecord[] {
    const messageHashes = new Set<string>();
    const records: TransactionRecord[] = [];
    const read = (address: string): StoredAccount | null => this.vm.account(address);
    for (const transaction of pending) {
      const seed = this.vm.nonceSeed();
      const lifetime = this.lifetimes.check(transaction, {
        height: at.height,
        seed,
        account: read,
        hashesInNextBlock: messageHashes,
      });
      if (lifetime.kind === 'refused') continue;
      const included = this.#include(transaction, lifetime.nonceAccount, seed);
      if (included === null) continue;
      for (const [address, before] of included.changed) if (!undo.has(address)) undo.set(address, before);
      messageHashes.add(transaction.messageHash);
      records.push({
        transaction,
        meta: included.meta,
        slot: at.slot,
        blockTime: at.time,
        memo: memoOf(transaction),
      });
    }
    return records;
  }

  /** Executes a transaction whose blockhash or nonce is valid; null if the block does not include it. */
  #include(transaction: DecodedTransaction, nonceAccount: string | null, seed: string): Inclusion | null {
    const executed = execute(this.vm, transaction, (address) => this.vm.account(address));
    // Including a durable-nonce transaction that did not advance its nonce would let it land a second time.
    const includesUnpayable = this.includesUnpayable && nonceAccount === null;
    const included =
      executed.kind === 'refused'
        ? includeUnexecuted(this.vm, transaction, executed.err, includesUnpayable)
        : executed;
    if (included && included.meta.err !== null && nonceAccount !== null)
      this.#advanceNonce(nonceAccount, seed);
    return included;
  }

  #payLeader(
    records: readonly TransactionRecord[],
    undo: Map<string, StoredAccount | null>,
  ): Block['reward'] {
    let lamports = 0n;
    for (const { meta } of records) {
      lamports += (meta.feeLamports - meta.priorityFeeLamports) / 2n + meta.priorityFeeLamports;
    }
    if (lamports === 0n) return null;
    const before = this.vm.account(this.leader);
    if (!undo.has(this.leader)) undo.set(this.leader, before);
    const postBalance = (before?.lamports ?? LEADER_LAMPORTS) + lamports;
    this.vm.setAccount(this.leader, { ...(before ?? NEW_WALLET), lamports: postBalance });
    return { lamports, postBalance };
  }

  /** Advances the nonce of a failed transaction, which LiteSVM does not do. */
  #advanceNonce(address: string, seed: string): void {
    const account = this.vm.account(address);
    if (account) this.vm.setAccount(address, withAdvancedNonce(account, seed));
  }

  #createBlock(
    slot: number,
    parentSlot: number,
    height: number,
    previousBlockhash: string,
    transactions: readonly TransactionRecord[],
    reward: Block['reward'] = null,
  ): Block {
    const digest = createHash('sha256').update(this.#seed).update(`${slot}/${previousBlockhash}`).digest();
    const time = transactions[0]?.blockTime ?? Math.floor(Date.now() / 1000);
    return {
      slot,
      parentSlot,
      height,
      blockhash: toBase58(digest),
      previousBlockhash,
      time,
      transactions,
      reward,
    };
  }

  #attach(block: Block, undo: Undo): void {
    this.ledger.append(block);
    this.lifetimes.append(block);
    this.#history.append(block.slot, undo);
    this.#finalizedHeight = Math.max(this.#finalizedHeight, block.height - this.finalityLag);
  }

  #openNext(): void {
    const hashes = this.ledger
      .range(this.ledger.below(MAX_SLOT_HASHES - 1).slot, Number.POSITIVE_INFINITY)
      .toReversed()
      .map((block) => ({ slot: BigInt(block.slot), hash: block.blockhash }));
    const epoch = Math.floor(this.#nextSlot / SLOTS_PER_EPOCH);
    this.vm.openBlock(this.#nextSlot, epoch, Math.floor(Date.now() / 1000), hashes);
  }

  #emit(event: ChainEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
