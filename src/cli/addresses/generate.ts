import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { UsageError } from '../exit.ts';
import type { Output } from '../output.ts';

/** What to derive, and where it goes. */
export interface GenerateOptions {
  readonly count: number;
  readonly start: number;
  readonly out: string;
  /** File of BIP-39 words; a new one is made where none is named. */
  readonly mnemonicFile?: string | undefined;
}

/** Where the list went and whose signature it has; the words, in `mnemonicFile`, are never shown. */
export interface Generated {
  readonly manifest: string;
  readonly manifestKey: string;
  readonly mnemonicFile: string;
  readonly first: string;
  readonly count: number;
}

const INDEXES = 2 ** 31;
const ENTROPY_BITS = 256;
/** What the system says of a folder that is not there, is none, or takes nothing from us. */
const UNWRITABLE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'EROFS'] as const;
const TOLD_EVERY = 1_000;

/**
 * Derives wallets and writes their signed manifest, without any connection. Nothing is ever overwritten: who loses the words loses
 * every deposit.
 *
 * @throws UsageError; DomainError InvalidRequest for words that are none
 */
export async function generate(options: GenerateOptions, output: Output): Promise<Generated> {
  const { MANIFEST_ENTRIES } = await import('../../deposits/addresses/address-manifest.ts');
  const { DepositKeys, seedOf } = await import('../../deposits/addresses/hd-keys.ts');
  const { count, start, out } = options;
  if (count > MANIFEST_ENTRIES)
    throw new UsageError(
      `--count must be at most ${MANIFEST_ENTRIES}: continue with --start in another manifest`,
    );
  if (start + count > INDEXES) throw new UsageError(`--start and --count must end at index ${INDEXES - 1}`);
  if (existsSync(out)) throw new UsageError(`--out must be a new file: ${out} exists`);
  const mnemonicFile = options.mnemonicFile ?? (await newMnemonic(out, output));
  const keys = new DepositKeys(await seedOf(await read(mnemonicFile)));
  const entries = Array.from({ length: count }, (_, at) => {
    if (at > 0 && at % TOLD_EVERY === 0) output.progress(`${at} of ${count} derived`);
    return keys.entry(start + at);
  });
  await write(out, `${JSON.stringify(keys.manifest(entries), null, 1)}\n`, 0o644);
  const first = entries[0]?.address ?? '';
  return { manifest: out, manifestKey: keys.manifestKey, mnemonicFile, first, count };
}

/** Makes the words and has them on the disk before anything is derived from them. */
async function newMnemonic(out: string, output: Output): Promise<string> {
  const { generateMnemonic } = await import('@scure/bip39');
  const { wordlist } = await import('@scure/bip39/wordlists/english.js');
  const path = `${out.replace(/\.json$/, '')}.mnemonic`;
  await write(path, `${generateMnemonic(wordlist, ENTROPY_BITS)}\n`, 0o600);
  output.progress(`24 new words are in ${path}: keep them offline, they are the keys of every deposit`);
  return path;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new UsageError(`--mnemonic-file must be a readable file, which ${path} is not`);
  }
}

/** A new file whose bytes have reached the disk. */
async function write(path: string, text: string, mode: number): Promise<void> {
  try {
    const file = await open(path, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'EEXIST')
      throw new UsageError(`${path} exists and is never overwritten: use it with --mnemonic-file`);
    const reason = UNWRITABLE.find((one) => one === code);
    if (reason !== undefined) throw new UsageError(`${path} cannot be written: ${reason}`);
    throw error;
  }
}
