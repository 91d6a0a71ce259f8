import type { TransactionError } from './error.ts';
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
 * What a failure means for the next try of the same payment. `short`: the payer lacks funds. `refused`: it will never
 * succeed. `passing`: it may succeed later, because an issuer, an account or a limit of ours can change. Unknown
 * causes are `passing`: composing again reads the accounts anew, and a payment that keeps failing is held for an
 * operator.
 */
export type FailureKind = 'short' | 'refused' | 'passing';

interface Cause {
  readonly means: string;
  readonly kind: FailureKind;
}

type Causes = Readonly<Record<number | string, Cause | undefined>>;

const passing = (means: string): Cause => ({ means, kind: 'passing' });
const INSUFFICIENT_FUNDS: Cause = { means: 'insufficient funds', kind: 'short' };

/** Errors of a whole transaction that mean that its fee payer lacks funds. */
const PAYER_SHORT: ReadonlySet<string> = new Set([
  'AccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
]);

/** Errors that the runtime and every program share, by name. */
const INSTRUCTION_ERRORS: Causes = {
  InsufficientFunds: INSUFFICIENT_FUNDS,
  InvalidAccountData: passing('an account is closed, or not what the program expects'),
  UninitializedAccount: passing('an account is not initialized'),
  IllegalOwner: passing('an account has another owner'),
  InvalidAccountOwner: passing('an account has another owner'),
  IncorrectProgramId: passing('an account belongs to another program'),
  AccountNotRentExempt: passing('an account would not be rent exempt'),
  ComputationalBudgetExceeded: passing('too few compute units'),
  ProgramFailedToComplete: passing('the program did not complete, as with too few compute units'),
};

const SYSTEM_ERRORS: Causes = {
  0: passing('the account is in use already'),
  1: INSUFFICIENT_FUNDS,
};

/** Both token programs: Token-2022 extends the codes of the Token program. Source: spl-token-2022 `TokenError`. */
const TOKEN_ERRORS: Causes = {
  0: passing('an account would not be rent exempt'),
  1: INSUFFICIENT_FUNDS,
  2: passing('invalid mint'),
  3: passing('the account belongs to another mint'),
  4: passing('the owner is another one'),
  9: passing('the account is not initialized'),
  14: passing('an amount overflows'),
  17: passing('the account is frozen'),
  18: passing('the decimals of the mint are other ones'),
  // The epoch changed between reading the mint's fee and the transfer.
  32: passing('the transfer fee is another one'),
  36: passing('the receiver requires a memo'),
  // A mint has this extension from its creation or never.
  37: { means: 'the token is not transferable', kind: 'refused' },
  49: passing('the receiver accepts confidential transfers only'),
  67: passing('the mint is paused'),
};

/** What a failed simulation means. `logs` are those of the simulation. */
export function failureKind(error: TransactionError, logs: readonly string[]): FailureKind {
  const kind = kindOf(error, innermostFailed(logs));
  return kind === 'refused' && callsForeign(logs) ? 'passing' : kind;
}

/** False if a transaction that failed in a block can never succeed. Its logs are not stored: see `message`. */
export function mayPass(error: TransactionError, message: Uint8Array): boolean {
  return kindOf(error, onlyProgramOf(error, message)) !== 'refused';
}

/** True if more compute units may be all that the transaction needed. */
export function mayLackUnits(error: TransactionError): boolean {
  return (
    error.kind === 'instruction' &&
    ['ComputationalBudgetExceeded', 'ProgramFailedToComplete'].includes(error.name)
  );
}

/** The error of a `message` as a sentence: instruction, program, meaning of its code; the chain's text last. */
export function describeFailure(error: TransactionError, message: Uint8Array): string {
  if (error.kind !== 'instruction') return `the transaction failed: ${error.text}`;
  const { index, name, custom, text } = error;
  const program = decodeMessage(message).instructions[index]?.program ?? '';
  // The ATA program returns the codes of the token program that it calls.
  const known = causesOf(program === ATA_PROGRAM ? TOKEN_PROGRAM : program);
  const cause = custom === null ? INSTRUCTION_ERRORS[name] : known?.[custom];
  const meaning = cause?.means ?? (custom === null ? name : `its error ${custom}`);
  return `instruction ${index + 1} (${programName(program)}) failed: ${meaning}: ${text}`;
}

/** `program`: the one that failed. Null if unknown: it may be a transfer hook, whose codes can mean anything. */
function kindOf(error: TransactionError, program: string | null): FailureKind {
  // The fee payer is the first account of every message of ours.
  if (error.kind === 'rent') return error.account === 0 ? 'short' : 'passing';
  if (error.kind === 'other') return PAYER_SHORT.has(error.text) ? 'short' : 'passing';
  const known = program === null ? { ...SYSTEM_ERRORS, ...TOKEN_ERRORS } : causesOf(program);
  if (known === null) return 'passing';
  const cause = error.custom === null ? INSTRUCTION_ERRORS[error.name] : known[error.custom];
  if (cause === undefined || (program === null && cause.kind === 'refused')) return 'passing';
  return cause.kind;
}

/** The innermost program that failed: its log line precedes those of its callers. Null if the logs lack it. */
function innermostFailed(logs: readonly string[]): string | null {
  const lines = logs.map((line) => /^Program (\w+) failed/.exec(line)?.[1]);
  return lines.find((program) => program !== undefined) ?? null;
}

/** True if an unknown program ran, as a hook does. A known program that it calls says nothing about the payment. */
function callsForeign(logs: readonly string[]): boolean {
  return logs.some((line) => {
    const program = /^Program (\w+) invoke \[/.exec(line)?.[1];
    return program !== undefined && !(program in NAMES) && !isTokenProgram(program);
  });
}

/** Source, mint, destination and owner: a token transfer with more accounts calls a hook. */
const TRANSFER_ACCOUNTS = 4;

/** The program of the failed instruction; null if that program may have called another. */
function onlyProgramOf(error: TransactionError, message: Uint8Array): string | null {
  if (error.kind !== 'instruction') return null;
  const instruction = decodeMessage(message).instructions[error.index];
  if (instruction === undefined || causesOf(instruction.program) === null) return null;
  const { program, accounts } = instruction;
  return isTokenProgram(program) && accounts.length > TRANSFER_ACCOUNTS ? null : program;
}

function causesOf(program: string): Causes | null {
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
