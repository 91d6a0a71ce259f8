import type { DecodedTransaction } from '../encoding/wire.ts';
import { describe, type Inclusion, takeSnapshot, writableKeys } from './execution.ts';
import { readComputeBudget, transactionFee } from './fees.ts';
import { loadAddresses } from './lookup-tables.ts';
import { allKeys, type TransactionMeta } from './records.ts';
import type { AccountReader, StoredAccount, Vm } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** Errors that come up while the accounts are loaded, after the fee payer was found good: they cost the fee. */
const LOADING_ERRORS: ReadonlySet<TransactionErrorJson> = new Set([
  'ProgramAccountNotFound',
  'InvalidProgramForExecution',
  'MaxLoadedAccountsDataSizeExceeded',
]);

const FEE_PAYER_ERRORS: ReadonlySet<TransactionErrorJson> = new Set([
  'AccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
]);

function isUnpayable(err: TransactionErrorJson): boolean {
  if (typeof err === 'string') return FEE_PAYER_ERRORS.has(err);
  const rent = err['InsufficientFundsForRent'];
  return typeof rent === 'object' && rent !== null && 'account_index' in rent && rent.account_index === 0;
}

/** The name that validators have for an error of the runtime binding, which calls a missing program an invalid one. */
export function validatorError(
  transaction: DecodedTransaction,
  err: TransactionErrorJson,
  read: AccountReader,
): TransactionErrorJson {
  const { instructions, keys } = transaction.message;
  const missing = instructions.some((item) => read(keys[item.programIdIndex] ?? '') === null);
  return err === 'InvalidProgramForExecution' && missing ? 'ProgramAccountNotFound' : err;
}

/** The payer after the fee; null if its balance would be negationOf, or above zero but below the rent minimum. */
function payFee(vm: Vm, payer: StoredAccount | null, feeLamports: bigint): StoredAccount | null {
  if (payer === null) return null;
  const lamports = payer.lamports - feeLamports;
  const sound = lamports === 0n || lamports >= vm.rentMinimum(BigInt(payer.data.length));
  return lamports >= 0n && sound ? { ...payer, lamports } : null;
}

/**
 * Includes a transaction that the runtime refused, where validators do: with its fee where its accounts could not be loaded
 * (SIMD-0082), and where `unpayable` are allowed, without one where the fee payer cannot pay (SIMD-0290: it reports all units that
 * it asked for). Neither has logs. Null keeps it out of the block.
 */
export function includeUnexecuted(
  vm: Vm,
  transaction: DecodedTransaction,
  refusal: TransactionErrorJson,
  unpayable: boolean,
): Inclusion | null {
  const read: AccountReader = (address) => vm.account(address);
  const { loaded, err: unresolved } = loadAddresses(transaction.message, read);
  const err = validatorError(transaction, refusal, read);
  const payer = transaction.message.keys[0] ?? '';
  const { base, priority } = transactionFee(transaction.message);
  const charged = LOADING_ERRORS.has(err) ? payFee(vm, read(payer), base + priority) : null;
  if (unresolved !== null || (charged === null && !(unpayable && isUnpayable(err)))) return null;
  const keys = allKeys(transaction, loaded);
  const before = takeSnapshot(transaction, keys, read);
  const changed = new Map(writableKeys(transaction, loaded).map((key) => [key, read(key)]));
  if (charged) vm.setAccount(payer, charged);
  const after = takeSnapshot(transaction, keys, read).balances;
  const units = charged ? 0n : BigInt(readComputeBudget(transaction.message).unitLimit);
  const result = { err, logs: [], inner: [], units, returnData: null, accountsAfter: new Map() };
  const meta: TransactionMeta = {
    ...describe(transaction, loaded, before, after, result),
    ...(charged ? {} : { feeLamports: 0n, priorityFeeLamports: 0n }),
    logs: null,
    inner: null,
  };
  return { kind: 'included', meta, changed };
}
