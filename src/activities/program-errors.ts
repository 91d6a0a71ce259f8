import { decodeMessage } from '../solana/message.ts';
import {
  ATA_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  isTokenProgram,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
} from '../solana/programs.ts';

/**
 * A transaction error (JSON text, as the chain gives it) as a sentence: which instruction of `message`, which program, and what its
 * code means. The text of the chain stands at its end.
 */
export function describeFailure(error: string, message: Uint8Array): string {
  const failed = instructionError(error);
  if (failed === null) return `the transaction failed: ${error}`;
  const { index, kind, custom } = failed;
  const program = decodeMessage(message).instructions[index]?.program ?? '';
  const meaning = custom === null ? kind : (customMeaning(program, custom) ?? `its error ${custom}`);
  return `instruction ${index + 1} (${programName(program)}) failed: ${meaning}: ${error}`;
}

interface InstructionFault {
  readonly index: number;
  readonly kind: string;
  readonly custom: number | null;
}

function instructionError(error: string): InstructionFault | null {
  const named = /^\{"InstructionError":\[([0-9]+),"(\w+)"\]\}$/.exec(error);
  if (named !== null) return { index: Number(named[1]), kind: named[2] ?? '', custom: null };
  const custom = /^\{"InstructionError":\[([0-9]+),\{"Custom":([0-9]+)\}\]\}$/.exec(error);
  return custom === null ? null : { index: Number(custom[1]), kind: 'Custom', custom: Number(custom[2]) };
}

function programName(program: string): string {
  if (isTokenProgram(program)) return 'token program';
  return NAMES[program] ?? `program ${program}`;
}

function customMeaning(program: string, code: number): string | undefined {
  // The ATA program passes on what the token program says inside it.
  if (isTokenProgram(program) || program === ATA_PROGRAM) return TOKEN_ERRORS[code];
  return program === SYSTEM_PROGRAM ? SYSTEM_ERRORS[code] : undefined;
}

const NAMES: Readonly<Record<string, string>> = {
  [SYSTEM_PROGRAM]: 'System program',
  [ATA_PROGRAM]: 'associated token account program',
  [MEMO_PROGRAM]: 'memo program',
  [COMPUTE_BUDGET_PROGRAM]: 'compute budget program',
};

const SYSTEM_ERRORS: Readonly<Record<number, string>> = {
  0: 'the account is in use already',
  1: 'insufficient funds',
};

const TOKEN_ERRORS: Readonly<Record<number, string>> = {
  0: 'an account would not be rent exempt',
  1: 'insufficient funds',
  2: 'invalid mint',
  3: 'the account belongs to another mint',
  4: 'the owner is another one',
  9: 'the account is not initialized',
  14: 'an amount overflows',
  17: 'the account is frozen',
  18: 'the decimals of the mint are other ones',
  32: 'the transfer fee is another one',
};
