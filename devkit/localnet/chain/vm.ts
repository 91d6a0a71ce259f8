import {
  Account,
  Clock,
  FailedTransactionMetadata,
  LiteSvm,
  type TransactionMetadata,
} from 'litesvm/dist/internal.js';
import { addressBytes, toBase58 } from '../encoding/bytes.ts';
import type { DecodedTransaction } from '../encoding/wire.ts';
import { type TransactionErrorJson, transactionError } from './vm-errors.ts';

/** An account as the chain stores it. `owner` is base58. */
export interface StoredAccount {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
  readonly rentEpoch: bigint;
}

export type AccountReader = (address: string) => StoredAccount | null;

/** An instruction that a program invoked. Its indexes count all account keys of the transaction. */
export interface InnerInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
  readonly stackHeight: number;
}

export interface VmResult {
  readonly err: TransactionErrorJson | null;
  readonly logs: readonly string[];
  readonly inner: readonly (readonly InnerInstruction[])[];
  readonly units: bigint;
  readonly returnData: { readonly programId: string; readonly data: Uint8Array } | null;
  readonly accountsAfter: ReadonlyMap<string, StoredAccount>;
}

const RENT_EXEMPT_EPOCH = 18446744073709551615n;
const EMPTY_DATA = new Uint8Array(0);
const SYSTEM_PROGRAM = '11111111111111111111111111111111';

function fromVm(account: Account): StoredAccount {
  return {
    lamports: account.lamports(),
    owner: toBase58(account.owner()),
    data: account.data(),
    executable: account.executable(),
    rentEpoch: account.rentEpoch(),
  };
}

function readMeta(meta: TransactionMetadata): Omit<VmResult, 'err' | 'accountsAfter'> {
  const returned = meta.returnData();
  const data = returned.data();
  return {
    logs: meta.logs(),
    inner: meta.innerInstructions().map((group) =>
      group.map((item) => {
        const compiled = item.instruction();
        return {
          programIdIndex: compiled.programIdIndex(),
          accounts: [...compiled.accounts()],
          data: compiled.data(),
          stackHeight: item.stackHeight(),
        };
      }),
    ),
    units: meta.computeUnitsConsumed(),
    returnData: data.length === 0 ? null : { programId: toBase58(returned.programId()), data },
  };
}

/** LiteSVM as the runtime of the chain. Blockhash checks and transaction history are off: the chain has its own. */
export class Vm {
  readonly #svm: LiteSvm;
  /** Programs are large, and no program on this chain changes, so that they can be cached. */
  readonly #programs = new Map<string, StoredAccount>();

  constructor() {
    const svm = new LiteSvm();
    svm.setBlockhashCheck(false);
    svm.setTransactionHistory(0n);
    svm.withNativeMints();
    this.#svm = svm;
  }

  account(address: string): StoredAccount | null {
    const program = this.#programs.get(address);
    if (program) return program;
    const found = this.#svm.getAccount(addressBytes(address));
    if (found === null || found.lamports() === 0n) return null;
    const account = fromVm(found);
    if (account.executable) this.#programs.set(address, account);
    return account;
  }

  balance(address: string): bigint {
    return this.#svm.getBalance(addressBytes(address)) ?? 0n;
  }

  programAccounts(program: string): { address: string; account: StoredAccount }[] {
    return this.#svm
      .getProgramAccounts(addressBytes(program))
      .map((item) => ({ address: toBase58(item.address), account: fromVm(item.account()) }));
  }

  /** Sets an account without a transaction; null deletes it. */
  setAccount(address: string, account: StoredAccount | null): void {
    const { lamports, data, owner, executable, rentEpoch } = account ?? {
      lamports: 0n,
      data: EMPTY_DATA,
      owner: SYSTEM_PROGRAM,
      executable: false,
      rentEpoch: RENT_EXEMPT_EPOCH,
    };
    this.#svm.setAccount(
      addressBytes(address),
      new Account(lamports, data, addressBytes(owner), executable, rentEpoch),
    );
  }

  rentMinimum(size: bigint): bigint {
    return this.#svm.minimumBalanceForRentExemption(size);
  }

  /** The hash from which durable nonces are derived in the block being produced. */
  nonceSeed(): string {
    return this.#svm.latestBlockhash();
  }

  openBlock(
    slot: number,
    epoch: number,
    unixSeconds: number,
    hashes: readonly { slot: bigint; hash: string }[],
  ): void {
    this.#svm.expireBlockhash();
    this.#svm.setClock(new Clock(BigInt(slot), 0n, BigInt(epoch), BigInt(epoch + 1), BigInt(unixSeconds)));
    this.#svm.setSlotHashes([...hashes]);
  }

  execute(transaction: DecodedTransaction): VmResult {
    const result =
      transaction.message.version === 'legacy'
        ? this.#svm.sendLegacyTransaction(transaction.raw)
        : this.#svm.sendVersionedTransaction(transaction.raw);
    if (result instanceof FailedTransactionMetadata) {
      return { ...readMeta(result.meta()), err: transactionError(result), accountsAfter: new Map() };
    }
    return { ...readMeta(result), err: null, accountsAfter: new Map() };
  }

  /** Runs a transaction without changing any account and without verifying its signatures. */
  simulate(transaction: DecodedTransaction): VmResult {
    this.#svm.setSigverify(false);
    try {
      const result =
        transaction.message.version === 'legacy'
          ? this.#svm.simulateLegacyTransaction(transaction.raw)
          : this.#svm.simulateVersionedTransaction(transaction.raw);
      if (result instanceof FailedTransactionMetadata) {
        return { ...readMeta(result.meta()), err: transactionError(result), accountsAfter: new Map() };
      }
      const after = result
        .postAccounts()
        .map((item) => [toBase58(item.address), fromVm(item.account())] as const);
      return { ...readMeta(result.meta()), err: null, accountsAfter: new Map(after) };
    } finally {
      this.#svm.setSigverify(true);
    }
  }
}
