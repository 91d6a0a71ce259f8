import { decodeMessage } from './message.ts';
import {
  ATA_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  isTokenProgram,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
} from './programs.ts';

/**
 * Why the chain refused a transaction, or failed it. `text` is the same for the same error: evidence and record keep it.
 * `instruction`: the one at `index` failed with `name`; `custom` is its program's own code, where it gave one.
 * `rent`: the account at that index would hold too little. `other`: `text` is the chain's word, as `BlockhashNotFound`.
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

/** A transaction error as a node sends it; null where there is none. */
export function readTransactionError(err: unknown): TransactionError | null {
  if (err === null || err === undefined) return null;
  const text = typeof err === 'string' ? err : textOf(err);
  return instructionError(err, text) ?? rentError(err, text) ?? { kind: 'other', text };
}

/** The error whose text is on record. */
export function recordedError(text: string): TransactionError {
  try {
    return readTransactionError(JSON.parse(text)) ?? { kind: 'other', text };
  } catch {
    return { kind: 'other', text };
  }
}

/**
 * What a transfer that was tried and failed says: `short` = its payer lacks money, `refused` = it will never go through,
 * `passing` = the same transfer may go through a moment later. `logs` are those of the trial.
 */
export function failureKind(
  error: TransactionError,
  logs: readonly string[],
): 'short' | 'refused' | 'passing' {
  // The fee payer is the first account of every message of ours.
  if (error.kind === 'rent') return error.account === 0 ? 'short' : 'refused';
  if (error.kind === 'other') return PAYER_SHORT.has(error.text) ? 'short' : 'passing';
  const program = failedProgram(logs);
  const known = program === null ? { ...SYSTEM_ERRORS, ...TOKEN_ERRORS } : errorsOf(program);
  // Another program, as a hook, may mean anything by the same code.
  if (known === null) return 'refused';
  if (error.name === 'InsufficientFunds') return 'short';
  return (error.custom === null ? undefined : known[error.custom]?.kind) ?? 'refused';
}

/** The error of a `message` as a sentence: which instruction, which program, what its code means. The chain's text ends it. */
export function describeFailure(error: TransactionError, message: Uint8Array): string {
  if (error.kind !== 'instruction') return `the transaction failed: ${error.text}`;
  const { index, name, custom, text } = error;
  const program = decodeMessage(message).instructions[index]?.program ?? '';
  // The ATA program passes on what the token program says inside it.
  const known = errorsOf(program === ATA_PROGRAM ? TOKEN_PROGRAM : program);
  const meaning = custom === null ? name : (known?.[custom]?.means ?? `its error ${custom}`);
  return `instruction ${index + 1} (${programName(program)}) failed: ${meaning}: ${text}`;
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

/** The innermost program that failed: its line comes before those of its callers. Null where the logs do not tell. */
function failedProgram(logs: readonly string[]): string | null {
  const lines = logs.map((line) => /^Program (\w+) failed/.exec(line)?.[1]);
  return lines.find((program) => program !== undefined) ?? null;
}

function errorsOf(program: string): ProgramErrors | null {
  if (isTokenProgram(program)) return TOKEN_ERRORS;
  return program === SYSTEM_PROGRAM ? SYSTEM_ERRORS : null;
}

function programName(program: string): string {
  if (isTokenProgram(program)) return 'token program';
  return NAMES[program] ?? `program ${program}`;
}

const NAMES: Readonly<Record<string, string>> = {
  [SYSTEM_PROGRAM]: 'System program',
  [ATA_PROGRAM]: 'associated token account program',
  [MEMO_PROGRAM]: 'memo program',
  [COMPUTE_BUDGET_PROGRAM]: 'compute budget program',
};

const PAYER_SHORT: ReadonlySet<string> = new Set([
  'AccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
]);

/** By code: what a program means by it, and where that is not a refusal, what it says of a trial. */
type ProgramErrors = Readonly<
  Record<number, { readonly means: string; readonly kind?: 'short' | 'passing' } | undefined>
>;

const INSUFFICIENT_FUNDS = { means: 'insufficient funds', kind: 'short' } as const;

const SYSTEM_ERRORS: ProgramErrors = {
  0: { means: 'the account is in use already' },
  1: INSUFFICIENT_FUNDS,
};

const TOKEN_ERRORS: ProgramErrors = {
  0: { means: 'an account would not be rent exempt' },
  1: INSUFFICIENT_FUNDS,
  2: { means: 'invalid mint' },
  3: { means: 'the account belongs to another mint' },
  4: { means: 'the owner is another one' },
  9: { means: 'the account is not initialized' },
  14: { means: 'an amount overflows' },
  // What an issuer can take back passes: the accounts, read again, say what the payment waits for.
  17: { means: 'the account is frozen', kind: 'passing' },
  18: { means: 'the decimals of the mint are other ones' },
  // FeeMismatch: the epoch changed between reading the mint's fee and trying the transfer.
  32: { means: 'the transfer fee is another one', kind: 'passing' },
  67: { means: 'the mint is paused', kind: 'passing' },
};
