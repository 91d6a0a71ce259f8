import type { FailedTransactionMetadata } from 'litesvm/dist/internal.js';

/** A transaction error in the JSON form of Solana nodes: a name, or an object with one name. */
export type TransactionErrorJson = string | Readonly<Record<string, unknown>>;

/** As in `InstructionError(0, Custom(1))`, `InsufficientFundsForRent { account_index: 1 }` or `AccountNotFound`. */
const DEBUG_TEXT =
  /\berr: (\w+)(?:\((\d+)(?:, (\w+)(?:\(([^)]*)\))?)?\)| \{ account_index: (\d+) \})?, meta: /;

/** Reads the error from the debug text of the runtime binding: its values are numbers without the names that nodes return. */
export function transactionError(failed: FailedTransactionMetadata): TransactionErrorJson {
  const text = failed.toString();
  const [, name, index, inner, code, account] = DEBUG_TEXT.exec(text) ?? [];
  if (name === undefined) throw new TypeError(`unknown runtime error ${text.slice(0, 200)}`);
  if (account !== undefined) return { [name]: { account_index: Number(account) } };
  if (index === undefined) return name;
  if (inner === undefined) return { [name]: Number(index) };
  return { [name]: [Number(index), inner === 'Custom' ? { Custom: Number(code) } : inner] };
}

type InstructionError = readonly [index: number, cause: string | { readonly Custom: number }];

/** Texts of the runtime that are not the words of the error's name. */
const TEXTS: Readonly<Record<string, string>> = {
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  AlreadyProcessed: 'This transaction has already been processed',
  InsufficientFunds: 'insufficient funds for instruction',
};

function textOf(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return TEXTS[name] ?? words;
}

/** The sentence that a node puts into the message of a failed preflight. */
export function errorText(error: TransactionErrorJson): string {
  if (typeof error === 'string') return textOf(error);
  const instruction = error['InstructionError'] as InstructionError | undefined;
  if (instruction !== undefined) {
    const [index, cause] = instruction;
    const text =
      typeof cause === 'string' ? textOf(cause) : `custom program error: 0x${cause.Custom.toString(16)}`;
    return `Error processing Instruction ${index}: ${text}`;
  }
  const rent = error['InsufficientFundsForRent'] as { readonly account_index: number } | undefined;
  if (rent !== undefined)
    return `Transaction results in an account (${rent.account_index}) with insufficient funds for rent`;
  return JSON.stringify(error);
}
