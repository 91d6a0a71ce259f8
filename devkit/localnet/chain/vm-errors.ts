import type { FailedTransactionMetadata } from 'litesvm/dist/internal.js';

/** A transaction error in the JSON form of Solana nodes: a name, or an object whose only key is the name. */
export type TransactionErrorJson = string | Readonly<Record<string, unknown>>;

/** Matches `InstructionError(0, Custom(1))`, `InsufficientFundsForRent { account_index: 1 }` or `AccountNotFound`. */
const DEBUG_PATTERN =
  /\berr: (\w+)(?:\((\d+)(?:, (\w+)(?:\(([^)]*)\))?)?\)| \{ account_index: (\d+) \})?, meta: /;

/** Reads the error from LiteSVM's debug text, because its error values are numbers without the names that nodes return. */
export function transactionError(failed: FailedTransactionMetadata): TransactionErrorJson {
  const text = failed.toString();
  const [, name, index, inner, code, account] = DEBUG_PATTERN.exec(text) ?? [];
  if (name === undefined)
    throw new TypeError(`cannot read an error from the LiteSVM text ${text.slice(0, 200)}`);
  if (account !== undefined) return { [name]: { account_index: Number(account) } };
  if (index === undefined) return name;
  if (inner === undefined) return { [name]: Number(index) };
  return { [name]: [Number(index), inner === 'Custom' ? { Custom: Number(code) } : inner] };
}

type InstructionError = readonly [index: number, cause: string | { readonly Custom: number }];

/** Error messages that cannot be derived from the error's name. */
const MESSAGES: Readonly<Record<string, string>> = {
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  AlreadyProcessed: 'This transaction has already been processed',
  InsufficientFunds: 'insufficient funds for instruction',
};

function textOf(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return MESSAGES[name] ?? words;
}

/** The text of the error in a node's message about a failed preflight. */
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
