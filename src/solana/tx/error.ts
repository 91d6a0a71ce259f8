/**
 * Error of a transaction that the chain rejected, or that failed in a block. `text` identifies the error and is
 * stored in evidence and in the database. `instruction`: the instruction at `index` failed with error `name`;
 * `custom` is the program's own code, if any. `rent`: the account at index `account` would be below its rent minimum.
 * `other`: any other error of the runtime, such as `BlockhashNotFound`.
 */
export type TransactionError =
  | {
      readonly kind: 'instruction';
      readonly text: string;
      readonly index: number;
      readonly name: string;
      readonly custom: number | null;
    }
  | { readonly kind: 'rent'; readonly text: string; readonly account: number }
  | { readonly kind: 'other'; readonly text: string };

/** Reads the `err` field of a node's answer; null if the field is null or missing. */
export function readTransactionError(err: unknown): TransactionError | null {
  if (err === null || err === undefined) return null;
  const text = typeof err === 'string' ? err : textOf(err);
  return instructionError(err, text) ?? rentError(err, text) ?? { kind: 'other', text };
}

export function recordedError(text: string): TransactionError {
  try {
    return readTransactionError(JSON.parse(text)) ?? { kind: 'other', text };
  } catch {
    return { kind: 'other', text };
  }
}

function textOf(err: unknown): string {
  return JSON.stringify(err, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

function instructionError(err: unknown, text: string): TransactionError | null {
  const parts = fieldOf(err, 'InstructionError');
  if (!Array.isArray(parts)) return null;
  const [index, cause] = parts as unknown[];
  if (typeof index !== 'number') return null;
  if (typeof cause === 'string') return { kind: 'instruction', text, index, name: cause, custom: null };
  const custom = fieldOf(cause, 'Custom');
  if (typeof custom === 'number') return { kind: 'instruction', text, index, name: 'Custom', custom };
  return { kind: 'instruction', text, index, name: textOf(cause), custom: null };
}

function rentError(err: unknown, text: string): TransactionError | null {
  const account = fieldOf(fieldOf(err, 'InsufficientFundsForRent'), 'account_index');
  return typeof account === 'number' ? { kind: 'rent', text, account } : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : null;
}
