import {
  createInitializeTransferHookInstruction,
  ExtensionType,
  getExtraAccountMetaAddress,
} from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import type { Localnet } from '../../devkit/localnet/localnet.ts';
import { TOKEN_2022_PROGRAM } from '../../src/solana/tx/programs.ts';

const LOADER = 'BPFLoader2111111111111111111111111111111111';
const RENT_EXEMPT_EPOCH = 18446744073709551615n;
/** Accounts that Token-2022 hands to every hook that has a list: source, mint, destination, owner and the list. */
const GIVEN_ACCOUNTS = 5;

/** A hook program on the chain that lets a transfer pass only when it is called with so many accounts behind those of every hook. */
export function plantHookProgram(localnet: Localnet, extraAccounts: number): string {
  const address = Keypair.generate().publicKey.toBase58();
  plant(localnet, address, LOADER, sbpfProgram(demandAccounts(GIVEN_ACCOUNTS + extraAccounts)), true);
  return address;
}

/** A Token-2022 mint whose transfers call `program` (the default address = none). */
export async function hookedMint(localnet: Localnet, program: string): Promise<string> {
  const [hook, token2022] = [new PublicKey(program), new PublicKey(TOKEN_2022_PROGRAM)];
  const authority = Keypair.generate().publicKey;
  const initialize = (mint: PublicKey) =>
    createInitializeTransferHookInstruction(mint, authority, hook, token2022);
  return localnet.createToken22Mint({ extensions: [{ type: ExtensionType.TransferHook, initialize }] });
}

/** Writes the account list of the hook program for a mint. */
export function plantHookList(localnet: Localnet, mint: string, program: string, list: Uint8Array): void {
  const address = getExtraAccountMetaAddress(new PublicKey(mint), new PublicKey(program)).toBase58();
  plant(localnet, address, program, list, false);
}

/** An entry of 35 bytes: how to find the account, whether it signs, whether it is written. */
export interface ListEntry {
  readonly kind: number;
  readonly config: Uint8Array;
  readonly signer?: boolean;
  readonly writable?: boolean;
}

/** An account of a fixed address. */
export function fixedAccount(address: string): ListEntry {
  return { kind: 0, config: new PublicKey(address).toBytes() };
}

/** The hook's list for `Execute`: discriminator, length, count, entries. */
export function hookList(entries: readonly ListEntry[]): Buffer {
  const data = Buffer.alloc(16 + 35 * entries.length);
  data.set([105, 37, 101, 197, 75, 251, 102, 26]);
  data.writeUInt32LE(4 + 35 * entries.length, 8);
  data.writeUInt32LE(entries.length, 12);
  for (const [index, { kind, config, signer = false, writable = false }] of entries.entries()) {
    const at = 16 + 35 * index;
    data.writeUInt8(kind, at);
    data.set(config, at + 1);
    data.writeUInt8(Number(signer), at + 33);
    data.writeUInt8(Number(writable), at + 34);
  }
  return data;
}

function plant(
  localnet: Localnet,
  address: string,
  owner: string,
  data: Uint8Array,
  executable: boolean,
): void {
  const lamports = 1_000_000_000n;
  localnet.controls.chain.vm.setAccount(address, {
    lamports,
    owner,
    data,
    executable,
    rentEpoch: RENT_EXEMPT_EPOCH,
  });
}

/** sBPF code: r1 points to the input, which begins with the number of accounts (u64). */
function demandAccounts(count: number): Buffer {
  const loadCount = [0x79, 0x12, 0, 0, 0, 0, 0, 0];
  const succeed = [0xb7, 0, 0, 0, 0, 0, 0, 0];
  const skipIfEqual = [0x15, 0x02, 1, 0, count, 0, 0, 0];
  const failWithCustom1 = [0xb7, 0, 0, 0, 1, 0, 0, 0];
  const exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
  return Buffer.from([...loadCount, ...succeed, ...skipIfEqual, ...failWithCustom1, ...exit]);
}

const HEADER = 64;
const PROGRAM_HEADER = 56;
const SECTION_HEADER = 64;

/** The smallest ELF that the loader takes: one segment, and the sections `.text` and `.shstrtab`. */
function sbpfProgram(code: Buffer): Buffer {
  const names = Buffer.from('\0.text\0.shstrtab\0');
  const text = HEADER + PROGRAM_HEADER;
  const sections = text + code.length + Math.ceil(names.length / 8) * 8;
  const elf = Buffer.alloc(sections + 3 * SECTION_HEADER);
  const u64 = (values: readonly number[], at: number): void =>
    values.forEach((value, index) => elf.writeBigUInt64LE(BigInt(value), at + 8 * index));
  elf.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  // Shared object for BPF, version 1.
  elf.set([3, 0, 247, 0, 1, 0, 0, 0], 16);
  u64([text, HEADER, sections], 24);
  elf.set([HEADER, 0, PROGRAM_HEADER, 0, 1, 0, SECTION_HEADER, 0, 3, 0, 2, 0], 52);
  // Loadable, readable and executable.
  elf.set([1, 0, 0, 0, 5, 0, 0, 0], HEADER);
  u64([text, text, text, code.length, code.length, 8], HEADER + 8);
  elf.set(code, text);
  elf.set(names, text + code.length);
  const section = (index: number, head: readonly number[], body: readonly number[]): void => {
    elf.set(head, sections + index * SECTION_HEADER);
    u64(body, sections + index * SECTION_HEADER + 8);
  };
  section(1, [1, 0, 0, 0, 1], [6, text, text, code.length, 0, 8]);
  section(2, [7, 0, 0, 0, 3], [0, 0, text + code.length, names.length, 0, 1]);
  return elf;
}
