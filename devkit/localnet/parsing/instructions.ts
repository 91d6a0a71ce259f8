import {
  ATA_PROGRAM,
  MEMO_PROGRAM,
  MEMO_V1_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../chain/programs.ts';
import { uiAmount } from '../encoding/amounts.ts';
import { ByteReader } from '../encoding/bytes.ts';
import { EXTENSIONS } from './accounts.ts';

type Info = Readonly<Record<string, unknown>>;
type Reader = (at: (index: number) => string, data: ByteReader) => Info;
/** Instruction type and reader, by the number with which the instruction data begins. */
type Readers = Readonly<Record<number, readonly [type: string, read: Reader]>>;

const SYSTEM: Readers = {
  0: [
    'createAccount',
    (at, data) => ({
      lamports: data.u64(),
      space: data.u64(),
      owner: data.address(),
      newAccount: at(1),
      source: at(0),
    }),
  ],
  2: ['transfer', (at, data) => ({ destination: at(1), lamports: data.u64(), source: at(0) })],
};

const TOKEN: Readers = {
  12: [
    'transferChecked',
    (at, data) => ({
      authority: at(3),
      destination: at(2),
      mint: at(1),
      source: at(0),
      tokenAmount: uiAmount(data.u64(), data.u8()),
    }),
  ],
  18: ['initializeAccount3', (at, data) => ({ account: at(0), mint: at(1), owner: data.address() })],
  21: ['getAccountDataSize', (at, data) => ({ mint: at(0), ...extensionTypes(data) })],
  22: ['initializeImmutableOwner', (at) => ({ account: at(0) })],
};

function extensionTypes(data: ByteReader): Info {
  const types: string[] = [];
  while (data.remaining >= 2) types.push(EXTENSIONS[data.u16()]?.name ?? 'unknown');
  return types.length > 0 ? { extensionTypes: types } : {};
}

const readCreateAta: Reader = (at) => ({
  account: at(1),
  mint: at(3),
  source: at(0),
  systemProgram: at(4),
  tokenProgram: at(5),
  wallet: at(2),
});

const PARSERS: Readonly<
  Record<string, { readonly name: string; readonly readers: Readers; readonly numberBytes: 1 | 4 }>
> = {
  [SYSTEM_PROGRAM]: { name: 'system', readers: SYSTEM, numberBytes: 4 },
  [TOKEN_PROGRAM]: { name: 'spl-token', readers: TOKEN, numberBytes: 1 },
  [TOKEN_2022_PROGRAM]: { name: 'spl-token', readers: TOKEN, numberBytes: 1 },
  [ATA_PROGRAM]: {
    name: 'spl-associated-token-account',
    readers: { 0: ['create', readCreateAta], 1: ['createIdempotent', readCreateAta] },
    numberBytes: 1,
  },
};

/**
 * The jsonParsed form of an instruction. Null for programs that nodes do not parse either (such as compute-budget), and for
 * instructions that no test needs.
 */
export function parseInstruction(programId: string, accounts: readonly string[], bytes: Uint8Array) {
  try {
    if (programId === MEMO_PROGRAM || programId === MEMO_V1_PROGRAM) {
      return { program: 'spl-memo', parsed: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
    }
    const program = PARSERS[programId];
    const data = new ByteReader(bytes);
    const [type, read] = program?.readers[program.numberBytes === 4 ? data.u32() : data.u8()] ?? [];
    if (program === undefined || read === undefined) return null;
    const at = (index: number): string => {
      const account = accounts[index];
      if (account === undefined) throw new RangeError(`instruction has no account ${index}`);
      return account;
    };
    return { program: program.name, parsed: { type, info: read(at, data) } };
  } catch {
    return null;
  }
}
