import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { UsageError } from '../exit.ts';
import type { Output } from '../output.ts';

export interface GenerateOptions {
  readonly count: number;
  readonly start: number;
  readonly out: string;
  /** File with BIP-39 words. A new one is created if it is not set. */
  readonly mnemonicFile?: string | undefined;
}

/** Result of the generation. The words are in `mnemonicFile` and are never printed. */
export interface Generated {
  readonly manifest: string;
  readonly manifestKey: string;
  readonly mnemonicFile: string;
  readonly first: string;
  readonly count: number;
}

const INDEXES = 2 ** 31;
const ENTROPY_BITS = 256;
/** Error codes for a directory that does not exist, is not a directory, or is not writable. */
const UNWRITABLE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'EROFS'] as const;
const PROGRESS_EVERY = 1_000;

/**
 * Derives wallets and writes their signed manifest, offline. Never overwrites a file: losing the words means losing
 * every deposit.
 *
 * @throws UsageError; DomainError InvalidRequest for invalid words
 */
export async function generate(options: GenerateOptions, output: Output): Promise<Generated> {
  const { MAX_MANIFEST_ENTRIES } = await import('../../deposits/addresses/address-manifest.ts');
  const { DepositKeys, seedOf } = await import('../../deposits/addresses/hd-keys.ts');
  const { count, start, out } = options;
  if (count > MAX_MANIFEST_ENTRIES)
    throw new UsageError(
      `--count must be at most ${MAX_MANIFEST_ENTRIES}: continue with --start in another manifest`,
    );
  if (start + count > INDEXES) throw new UsageError(`--start and --count must end at index ${INDEXES - 1}`);
  if (existsSync(out)) throw new UsageError(`--out must be a new file: ${out} exists`);
  const mnemonicFile = options.mnemonicFile ?? (await newMnemonic(out, output));
  const keys = new DepositKeys(await seedOf(await read(mnemonicFile)));
  const entries = Array.from({ length: count }, (_, at) => {
    if (at > 0 && at % PROGRESS_EVERY === 0) output.progress(`${at} of ${count} derived`);
    return keys.entry(start + at);
  });
  await write(out, `${JSON.stringify(keys.manifest(entries), null, 1)}\n`, 0o644);
  const first = entries[0]?.address ?? '';
  return { manifest: out, manifestKey: keys.manifestKey, mnemonicFile, first, count };
}

/** Generates the words and syncs them to disk before any wallet is derived from them. */
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
