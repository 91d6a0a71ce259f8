import type { DecodedTransaction } from '../encoding/wire.ts';
import { type Inclusion, takeSnapshot, transactionMeta, writableKeys } from './execution.ts';
import { readComputeBudget, transactionFee } from './fees.ts';
import { loadAddresses } from './lookup-tables.ts';
import { allKeys, type TransactionMeta } from './records.ts';
import type { AccountReader, StoredAccount, Vm } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** Errors of loading the accounts. The fee payer has been validated before, so that the fee is charged. */
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

/** The validators' name for an error of LiteSVM, which reports a missing program as an invalid one. */
export function validatorError(
  transaction: DecodedTransaction,
  err: TransactionErrorJson,
  read: AccountReader,
): TransactionErrorJson {
  const { instructions, keys } = transaction.message;
  const isMissing = instructions.some((item) => read(keys[item.programIdIndex] ?? '') === null);
  return err === 'InvalidProgramForExecution' && isMissing ? 'ProgramAccountNotFound' : err;
}

/** The payer after the fee; null if its balance would be negative, or above zero but below the rent minimum. */
function payFee(vm: Vm, payer: StoredAccount | null, feeLamports: bigint): StoredAccount | null {
  if (payer === null) return null;
  const lamports = payer.lamports - feeLamports;
  const isRentExempt = lamports === 0n || lamports >= vm.rentMinimum(BigInt(payer.data.length));
  return lamports >= 0n && isRentExempt ? { ...payer, lamports } : null;
}

/**
 * Includes a transaction that the runtime refused if validators include it, else returns null. If the accounts could not be loaded,
 * the fee is charged (SIMD-0082). With `includesUnpayable`, a transaction whose fee payer cannot pay is included without a fee and
 * with its unit limit as consumed units (SIMD-0290). In both cases there are no logs.
 */
export function includeUnexecuted(
  vm: Vm,
  transaction: DecodedTransaction,
  refusal: TransactionErrorJson,
  includesUnpayable: boolean,
): Inclusion | null {
  const read: AccountReader = (address) => vm.account(address);
  const { loaded, err: unresolved } = loadAddresses(transaction.message, read);
  const err = validatorError(transaction, refusal, read);
  const payer = transaction.message.keys[0] ?? '';
  const { base, priority } = transactionFee(transaction.message);
  const charged = LOADING_ERRORS.has(err) ? payFee(vm, read(payer), base + priority) : null;
  if (unresolved !== null || (charged === null && !(includesUnpayable && isUnpayable(err)))) return null;
  const keys = allKeys(transaction, loaded);
  const before = takeSnapshot(transaction, keys, read);
  const changed = new Map(writableKeys(transaction, loaded).map((key) => [key, read(key)]));
  if (charged) vm.setAccount(payer, charged);
  const after = takeSnapshot(transaction, keys, read).balances;
  const units = charged ? 0n : BigInt(readComputeBudget(transaction.message).unitLimit);
  const result = { err, logs: [], inner: [], units, returnData: null, accountsAfter: new Map() };
  const meta: TransactionMeta = {
    ...transactionMeta(transaction, loaded, before, after, result),
    ...(charged ? {} : { feeLamports: 0n, priorityFeeLamports: 0n }),
    logs: null,
    inner: null,
  };
  return { kind: 'included', meta, changed };
}
