import {
  ATA_PROGRAM,
  MEMO_PROGRAM,
  MEMO_V1_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../chain/programs.ts';
import { parseAta } from './ata.ts';
import { parseSystem } from './system.ts';
import { parseToken } from './token.ts';

/** A readable instruction. */
export interface Parsed {
  readonly type: string;
  readonly info: Readonly<Record<string, unknown>>;
}

/** Reads one instruction of a program; null or a throw means that it cannot be read. */
export type InstructionParser = (accounts: readonly string[], data: Uint8Array) => Parsed | null;

const PARSERS: Readonly<Record<string, { readonly program: string; readonly parse: InstructionParser }>> = {
  [SYSTEM_PROGRAM]: { program: 'system', parse: parseSystem },
  [TOKEN_PROGRAM]: { program: 'spl-token', parse: parseToken },
  [TOKEN_2022_PROGRAM]: { program: 'spl-token', parse: parseToken },
  [ATA_PROGRAM]: { program: 'spl-associated-token-account', parse: parseAta },
};

/** The jsonParsed form of an instruction; null for programs that nodes do not parse either, compute-budget among them. */
export function parseInstruction(
  programId: string,
  accounts: readonly string[],
  data: Uint8Array,
): { readonly program: string; readonly parsed: Parsed | string } | null {
  try {
    if (programId === MEMO_PROGRAM || programId === MEMO_V1_PROGRAM) {
      return { program: 'spl-memo', parsed: new TextDecoder('utf-8', { fatal: true }).decode(data) };
    }
    const known = PARSERS[programId];
    const parsed = known?.parse(accounts, data) ?? null;
    return known && parsed ? { program: known.program, parsed } : null;
  } catch {
    return null;
  }
}
