import { type DecodedTransaction, isWritable } from '../encoding/wire.ts';
import type { Undo } from './account-history.ts';
import { readComputeBudget, transactionFee } from './fees.ts';
import { loadAddresses } from './lookup-tables.ts';
import { MEMO_PROGRAM, MEMO_V1_PROGRAM } from './programs.ts';
import {
  allKeys,
  type Balances,
  type IndexedTokenBalance,
  type LoadedAddresses,
  type TransactionMeta,
} from './records.ts';
import { readMint, readTokenAccount } from './tokens.ts';
import type { AccountReader, StoredAccount, Vm, VmResult } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** The accounts and balances of one transaction at one moment; balances are in the order of the account indexes. */
export interface Snapshot {
  readonly balances: Balances;
  readonly accounts: ReadonlyMap<string, StoredAccount | null>;
  readonly loadedBytes: bigint;
}

const BYTES_PER_ACCOUNT = 64n;
const PAGE_BYTES = 32n * 1024n;

function tokenBalance(
  index: number,
  account: StoredAccount | null,
  lookUp: (mint: string) => StoredAccount | null,
): IndexedTokenBalance | null {
  const token = readTokenAccount(account);
  const mint = token && readMint(lookUp(token.mint));
  if (!account || !token || !mint) return null;
  const { mint: address, owner, amount } = token;
  return {
    accountIndex: index,
    mint: address,
    owner,
    programId: account.owner,
    amount,
    decimals: mint.decimals,
  };
}

/** Reads the lamports and token balances of all keys. An account that the transaction calls as a program has no token balance. */
export function takeSnapshot(
  transaction: DecodedTransaction,
  keys: readonly string[],
  read: AccountReader,
): Snapshot {
  const accounts = new Map<string, StoredAccount | null>();
  const get = (address: string): StoredAccount | null => {
    const cached = accounts.get(address);
    if (cached !== undefined) return cached;
    const account = read(address);
    accounts.set(address, account);
    return account;
  };
  const programs = new Set(transaction.message.instructions.map((item) => keys[item.programIdIndex]));
  const lamports = keys.map((key) => get(key)?.lamports ?? 0n);
  const tokens = keys.flatMap((key, index) => {
    const balance = programs.has(key) ? null : tokenBalance(index, get(key), get);
    return balance ? [balance] : [];
  });
  let loadedBytes = 0n;
  for (const key of keys)
    loadedBytes += accounts.get(key) ? BYTES_PER_ACCOUNT + BigInt(accounts.get(key)?.data.length ?? 0) : 0n;
  return { balances: { lamports, tokens }, accounts, loadedBytes };
}

/** Static keys that the header marks as writable, followed by the keys that lookup tables load as writable. */
export function writableKeys(transaction: DecodedTransaction, loaded: LoadedAddresses): string[] {
  return [
    ...transaction.message.keys.filter((_key, index) => isWritable(transaction.message, index)),
    ...loaded.writable,
  ];
}

/** Cost units as Agave's scheduler counts them: signatures, write locks, instruction bytes, compute units and loaded pages. */
function costOf(
  transaction: DecodedTransaction,
  writableCount: number,
  units: bigint,
  loadedBytes: bigint,
): bigint {
  const bytes = transaction.message.instructions.reduce((sum, item) => sum + item.data.length, 0);
  const pages = (loadedBytes + PAGE_BYTES - 1n) / PAGE_BYTES;
  return (
    BigInt(720 * transaction.signatures.length + 300 * writableCount + Math.floor(bytes / 4)) +
    units +
    pages * 8n
  );
}

/** The meta of a transaction, from the balances before and after its execution. */
export function transactionMeta(
  transaction: DecodedTransaction,
  loaded: LoadedAddresses,
  before: Snapshot,
  after: Balances,
  result: VmResult,
): TransactionMeta {
  const { base, priority } = transactionFee(transaction.message);
  return {
    err: result.err,
    feeLamports: base + priority,
    priorityFeeLamports: priority,
    before: before.balances,
    after,
    logs: result.logs,
    inner: result.inner,
    units: result.units,
    costUnits: costOf(
      transaction,
      writableKeys(transaction, loaded).length,
      result.units,
      before.loadedBytes,
    ),
    returnData: result.returnData,
    loaded,
  };
}

/** A transaction that the block includes, with the earlier states of all accounts that the transaction can write. */
export interface Inclusion {
  readonly kind: 'included';
  readonly meta: TransactionMeta;
  readonly changed: Undo;
}

/** The outcome of an execution; a refused transaction has changed nothing. */
export type Execution = Inclusion | { readonly kind: 'refused'; readonly err: TransactionErrorJson };

/** Runs a transaction whose blockhash or nonce is valid. A failed transaction is included if its fee was charged. */
export function execute(vm: Vm, transaction: DecodedTransaction, read: AccountReader): Execution {
  const { loaded, err } = loadAddresses(transaction.message, read);
  if (err !== null) return { kind: 'refused', err };
  const keys = allKeys(transaction, loaded);
  const before = takeSnapshot(transaction, keys, read);
  const result = vm.execute(transaction);
  const payer = keys[0] ?? '';
  const hasPaidFee = vm.balance(payer) !== (before.balances.lamports[0] ?? 0n);
  if (result.err !== null && !hasPaidFee) return { kind: 'refused', err: result.err };
  const writable = new Set(writableKeys(transaction, loaded));
  const after = takeSnapshot(transaction, keys, (address) =>
    writable.has(address) || !before.accounts.has(address)
      ? vm.account(address)
      : (before.accounts.get(address) ?? null),
  );
  const changed = new Map([...writable].map((address) => [address, before.accounts.get(address) ?? null]));
  return {
    kind: 'included',
    meta: transactionMeta(transaction, loaded, before, after.balances, result),
    changed,
  };
}

/** The memos of a transaction as getSignaturesForAddress returns them (`[byte count] text; …`); null if there are none. */
export function memoOf(transaction: DecodedTransaction): string | null {
  const memos = transaction.message.instructions.flatMap((item) => {
    const program = transaction.message.keys[item.programIdIndex];
    return program === MEMO_PROGRAM || program === MEMO_V1_PROGRAM
      ? [`[${item.data.length}] ${new TextDecoder().decode(item.data)}`]
      : [];
  });
  return memos.length === 0 ? null : memos.join('; ');
}

export function unitPrice(transaction: DecodedTransaction): bigint {
  return readComputeBudget(transaction.message).unitPriceMicroLamports;
}
