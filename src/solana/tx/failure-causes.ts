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
 * Consequence of a failure for the next attempt of the same payment. `short`: the fee payer lacks funds. `refused`: no
 * attempt can ever succeed. `passing`: a later attempt can succeed, because an issuer, an account or one of our limits
 * can change. Unknown causes are `passing`: the next attempt reads the accounts again, and a payment that fails
 * repeatedly is held for an operator.
 */
export type FailureKind = 'short' | 'refused' | 'passing';

interface Cause {
  readonly meaning: string;
  readonly kind: FailureKind;
}

type Causes = Readonly<Record<number | string, Cause | undefined>>;

const passingCause = (meaning: string): Cause => ({ meaning, kind: 'passing' });
const INSUFFICIENT_FUNDS: Cause = { meaning: 'insufficient funds', kind: 'short' };

/** Errors of a whole transaction whose fee payer lacks funds. */
const FEE_PAYER_SHORT_ERRORS: ReadonlySet<string> = new Set([
  'AccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
]);

/** By name, the instruction errors of the runtime, which every program can return. */
const INSTRUCTION_ERRORS: Causes = {
  InsufficientFunds: INSUFFICIENT_FUNDS,
  InvalidAccountData: passingCause('an account is closed, or its data is not what the program expects'),
  UninitializedAccount: passingCause('an account is not initialized'),
  IllegalOwner: passingCause('an account has a different owner'),
  InvalidAccountOwner: passingCause('an account has a different owner'),
  IncorrectProgramId: passingCause('an account belongs to a different program'),
  AccountNotRentExempt: passingCause('an account would not be rent exempt'),
  ComputationalBudgetExceeded: passingCause('the compute unit limit is too low'),
  ProgramFailedToComplete: passingCause(
    'the program did not complete; the compute unit limit can be too low',
  ),
};

const SYSTEM_ERRORS: Causes = {
  0: passingCause('the account to create already exists'),
  1: INSUFFICIENT_FUNDS,
};

/** Both token programs: Token-2022 extends the codes of the Token program. Source: spl-token-2022 `TokenError`. */
const TOKEN_ERRORS: Causes = {
  0: passingCause('an account would not be rent exempt'),
  1: INSUFFICIENT_FUNDS,
  2: passingCause('invalid mint'),
  3: passingCause('the token account belongs to a different mint'),
  4: passingCause('the token account has a different owner'),
  9: passingCause('the token account is not initialized'),
  14: passingCause('an amount overflows'),
  17: passingCause('the token account is frozen'),
  18: passingCause('the mint has a different number of decimals'),
  // The epoch has changed after the mint's fee was read.
  32: passingCause('the transfer fee has changed'),
  36: passingCause('the receiver requires a memo'),
  // A mint cannot gain or lose this extension after its creation.
  37: { meaning: 'the token is not transferable', kind: 'refused' },
  49: passingCause('the receiver accepts only confidential transfers'),
  67: passingCause('the mint is paused'),
};

/** Kind of a failed simulation's error. `logs` come from that simulation. */
export function failureKind(error: TransactionError, logs: readonly string[]): FailureKind {
  const kind = kindOf(error, innermostFailed(logs));
  return kind === 'refused' && ranUnknownProgram(logs) ? 'passing' : kind;
}

/** False if a transaction that failed in a block can never succeed. Uses `message`, because logs are not stored. */
export function canSucceedLater(error: TransactionError, message: Uint8Array): boolean {
  return kindOf(error, failedProgramOf(error, message)) !== 'refused';
}

/** True if a higher compute unit limit can make the transaction succeed. */
export function mayLackUnits(error: TransactionError): boolean {
  return (
    error.kind === 'instruction' &&
    ['ComputationalBudgetExceeded', 'ProgramFailedToComplete'].includes(error.name)
  );
}

/** The error of a `message` as a sentence: instruction, program and meaning, then `error.text`. */
export function describeFailure(error: TransactionError, message: Uint8Array): string {
  if (error.kind !== 'instruction') return `the transaction failed: ${error.text}`;
  const { index, name, custom, text } = error;
  const program = decodeMessage(message).instructions[index]?.program ?? '';
  // The ATA program returns the codes of the token program that it calls.
  const causes = causesOf(program === ATA_PROGRAM ? TOKEN_PROGRAM : program);
  const cause = custom === null ? INSTRUCTION_ERRORS[name] : causes?.[custom];
  const meaning = cause?.meaning ?? (custom === null ? name : `its custom error ${custom}`);
  return `instruction ${index + 1} (${programName(program)}) failed: ${meaning}: ${text}`;
}

/** `program`: the program that failed. Null if unknown: it can be a hook, whose error codes can mean anything. */
function kindOf(error: TransactionError, program: string | null): FailureKind {
  // Account 0 is the fee payer.
  if (error.kind === 'rent') return error.account === 0 ? 'short' : 'passing';
  if (error.kind === 'other') return FEE_PAYER_SHORT_ERRORS.has(error.text) ? 'short' : 'passing';
  const causes = program === null ? { ...SYSTEM_ERRORS, ...TOKEN_ERRORS } : causesOf(program);
  if (causes === null) return 'passing';
  const cause = error.custom === null ? INSTRUCTION_ERRORS[error.name] : causes[error.custom];
  if (cause === undefined || (program === null && cause.kind === 'refused')) return 'passing';
  return cause.kind;
}

/** The innermost program that failed, whose log line precedes those of its callers. Null if the logs lack it. */
function innermostFailed(logs: readonly string[]): string | null {
  const failedPrograms = logs.map((line) => /^Program (\w+) failed/.exec(line)?.[1]);
  return failedPrograms.find((program) => program !== undefined) ?? null;
}

/** True if an unknown program ran, such as a hook: the error can then come from a call that this program made. */
function ranUnknownProgram(logs: readonly string[]): boolean {
  return logs.some((line) => {
    const program = /^Program (\w+) invoke \[/.exec(line)?.[1];
    return program !== undefined && !(program in PROGRAM_NAMES) && !isTokenProgram(program);
  });
}

/** Source, mint, destination and owner. A token transfer with more accounts calls a hook. */
const PLAIN_TRANSFER_ACCOUNT_COUNT = 4;

/** The program of the failed instruction; null if the error can come from a program that it called. */
function failedProgramOf(error: TransactionError, message: Uint8Array): string | null {
  if (error.kind !== 'instruction') return null;
  const instruction = decodeMessage(message).instructions[error.index];
  if (instruction === undefined || causesOf(instruction.program) === null) return null;
  const { program, accounts } = instruction;
  return isTokenProgram(program) && accounts.length > PLAIN_TRANSFER_ACCOUNT_COUNT ? null : program;
}

function causesOf(program: string): Causes | null {
  if (isTokenProgram(program)) return TOKEN_ERRORS;
  return program === SYSTEM_PROGRAM ? SYSTEM_ERRORS : null;
}

function programName(program: string): string {
  if (isTokenProgram(program)) return 'token program';
  return PROGRAM_NAMES[program] ?? `program ${program}`;
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  [SYSTEM_PROGRAM]: 'System program',
  [ATA_PROGRAM]: 'associated token account program',
  [MEMO_PROGRAM]: 'memo program',
  [COMPUTE_BUDGET_PROGRAM]: 'compute budget program',
};
