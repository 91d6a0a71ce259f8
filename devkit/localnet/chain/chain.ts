import { createHash, randomBytes } from 'node:crypto';
import { toBase58 } from '../encoding/bytes.ts';
import type { DecodedTransaction } from '../encoding/wire.ts';
import { AccountVersions, type Undo } from './account-history.ts';
import { execute, type Inclusion, memoOf } from './execution.ts';
import { BlockStore } from './ledger.ts';
import { BlockhashQueue } from './lifetime.ts';
import { advanced } from './nonce.ts';
import { SYSTEM_PROGRAM } from './programs.ts';
import type { Block, CommitmentLevel, TransactionRecord } from './records.ts';
import { includeUnexecuted } from './unexecuted.ts';
import { type StoredAccount, Vm } from './vm.ts';

/** Blocks that a node view may lag behind the tip. */
export const MAX_LAG_BLOCKS = 512;
export const SLOTS_PER_EPOCH = 432_000;
const SLOT_HASHES = 150;
const LEADER_LAMPORTS = 500_000_000_000n;
const NEW_WALLET: StoredAccount = {
  lamports: 0n,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
  rentEpoch: 18446744073709551615n,
};
const LEDGER_LIMITS = { blocks: 300_000, transactions: 150_000 };

const KEPT_OFFERS = 20_000;

/** The signed transactions that senders have handed to any node, dropped ones too; the newest are kept. */
class Offered {
  readonly #bySignature = new Map<string, DecodedTransaction>();

  add(transaction: DecodedTransaction): void {
    this.#bySignature.set(transaction.signature, transaction);
    const [oldest] = this.#bySignature.keys();
    if (this.#bySignature.size > KEPT_OFFERS && oldest !== undefined) this.#bySignature.delete(oldest);
  }

  /** Those that name the address, oldest first. */
  naming(address: string): readonly DecodedTransaction[] {
    return [...this.#bySignature.values()].filter(({ message }) => message.keys.includes(address));
  }
}

/** What happens to the chain, for subscriptions and waiters. */
export type ChainEvent =
  | { readonly kind: 'block'; readonly block: Block }
  | { readonly kind: 'fork'; readonly tip: Block };

/**
 * One chain of blocks over one runtime. The runtime has the state of the tip; older states are read from the history.
 * Transactions wait until the next block is produced, and are executed in it in the order of arrival.
 */
export class SimulatedChain {
  readonly vm = new Vm();
  readonly ledger = new BlockStore(LEDGER_LIMITS);
  readonly lifetimes = new BlockhashQueue();
  readonly offered = new Offered();
  readonly finalityLag: number;
  /** Address of the validator that produces all blocks and earns their fees. */
  readonly leader = toBase58(randomBytes(32));
  readonly #history: AccountVersions;
  readonly #seed = randomBytes(32);
  readonly #listeners = new Set<(event: ChainEvent) => void>();
  /** Whether blocks include transactions that cannot pay their fee, without executing them (SIMD-0290). */
  includesUnpayable = false;
  undone = 0;
  #pending = new Map<string, DecodedTransaction>();
  #nextSlot = 1;
  #finalizedHeight = 0;

  constructor(finalityLag: number) {
    this.finalityLag = finalityLag;
    this.#history = new AccountVersions(finalityLag + MAX_LAG_BLOCKS);
    this.#attach(this.#seal(0, 0, 0, '11111111111111111111111111111111', []), new Map());
    this.#openNext();
  }

  onEvent(listener: (event: ChainEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Blocks from the tip down to the newest one of a commitment. Finality never goes back, also after a fork. */
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

  /** Queues a transaction for the next block; sending the same bytes again changes nothing. */
  submit(transaction: DecodedTransaction): void {
    this.#pending.set(transaction.signature, transaction);
  }

  produce(): Block {
    const parent = this.ledger.tip;
    const slot = this.#nextSlot;
    const time = Math.floor(Date.now() / 1000);
    const undo = new Map<string, StoredAccount | null>();
    const waiting = this.#pending;
    this.#pending = new Map();
    const records = this.#run([...waiting.values()], { slot, time, height: parent.height }, undo);
    const reward = this.#payLeader(records, undo);
    const block = this.#seal(slot, parent.slot, parent.height + 1, parent.blockhash, records, reward);
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

  /** Takes back the newest `count` blocks, none of them finalized; what they held is forgotten. */
  fork(count: number): Block {
    const most = this.depth('finalized') - 1;
    if (count < 1 || count > most) throw new RangeError(`a fork takes back 1 to ${most} blocks now`);
    for (let taken = 0; taken < count; taken += 1) {
      const block = this.ledger.pop();
      this.undone += block.transactions.length;
      this.lifetimes.pop();
      for (const [address, before] of this.#history.pop()) this.vm.setAccount(address, before);
    }
    this.#openNext();
    this.#emit({ kind: 'fork', tip: this.ledger.tip });
    return this.ledger.tip;
  }

  atStake(count: number): number {
    const doomed = Array.from({ length: Math.min(count, this.depth('finalized')) }, (_, depth) =>
      this.ledger.below(depth),
    );
    return doomed.reduce((sum, { transactions }) => sum + transactions.length, 0);
  }

  /** Transactions that were handed to any node, name the address, are in no block, and could be in the next one. */
  inFlight(address: string): number {
    const { height } = this.ledger.tip;
    const at = { height, seed: this.vm.nonceSeed(), account: (one: string) => this.vm.account(one) };
    const isAlive = (one: DecodedTransaction) => this.lifetimes.check(one, at).kind === 'valid';
    return this.offered.naming(address).filter(isAlive).length;
  }

  #run(
    waiting: readonly DecodedTransaction[],
    at: { slot: number; time: number; height: number },
    undo: Map<string, StoredAccount | null>,
  ): TransactionRecord[] {
    const seen = new Set<string>();
    const records: TransactionRecord[] = [];
    const read = (address: string): StoredAccount | null => this.vm.account(address);
    for (const transaction of waiting) {
      const seed = this.vm.nonceSeed();
      const lifetime = this.lifetimes.check(transaction, {
        height: at.height,
        seed,
        account: read,
        open: seen,
      });
      if (lifetime.kind === 'refused') continue;
      const included = this.#include(transaction, lifetime.nonceAccount, seed);
      if (included === null) continue;
      for (const [address, before] of included.changed) if (!undo.has(address)) undo.set(address, before);
      seen.add(transaction.messageHash);
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

  /** Executes a transaction of valid lifetime; null keeps it out of the block. */
  #include(transaction: DecodedTransaction, nonceAccount: string | null, seed: string): Inclusion | null {
    const executed = execute(this.vm, transaction, (address) => this.vm.account(address));
    // A block never holds a durable-nonce transaction that did not use up its nonce: it could land a second time.
    const unpayable = this.includesUnpayable && nonceAccount === null;
    const included =
      executed.kind === 'refused'
        ? includeUnexecuted(this.vm, transaction, executed.err, unpayable)
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

  /** A failed transaction advances its nonce all the same; the runtime binding leaves it as it was. */
  #advanceNonce(address: string, seed: string): void {
    const account = this.vm.account(address);
    if (account) this.vm.setAccount(address, advanced(account, seed));
  }

  #seal(
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
      .range(this.ledger.below(SLOT_HASHES - 1).slot, Number.POSITIVE_INFINITY)
      .toReversed()
      .map((block) => ({ slot: BigInt(block.slot), hash: block.blockhash }));
    const epoch = Math.floor(this.#nextSlot / SLOTS_PER_EPOCH);
    this.vm.openBlock(this.#nextSlot, epoch, Math.floor(Date.now() / 1000), hashes);
  }

  #emit(event: ChainEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
