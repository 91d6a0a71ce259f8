/**
 * Why the chain refused or failed a transaction. `text` is stable for the same error: evidence and the database keep
 * it. `instruction`: the instruction at `index` failed with `name`; `custom` is its program's own code, if any.
 * `rent`: the account at that index would be below its rent minimum. `other`: `text` is the chain's name, as
 * `BlockhashNotFound`.
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

/** A transaction error as a node sends it; null if there is none. */
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
  const [index, fault] = parts as unknown[];
  if (typeof index !== 'number') return null;
  if (typeof fault === 'string') return { kind: 'instruction', text, index, name: fault, custom: null };
  const custom = fieldOf(fault, 'Custom');
  if (typeof custom === 'number') return { kind: 'instruction', text, index, name: 'Custom', custom };
  return { kind: 'instruction', text, index, name: textOf(fault), custom: null };
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
