import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { UsageError } from '../exit.ts';
import type { Output } from '../output.ts';

export interface GenerateOptions {
  readonly count: number;
  readonly start: number;
  readonly out: string;
  /** File with a BIP-39 mnemonic. Default: a new file beside the manifest. */
  readonly mnemonicFile?: string | undefined;
}

/** Result of {@link generate}. The mnemonic is in `mnemonicFile` and is never printed. */
export interface GenerateResult {
  readonly manifest: string;
  readonly manifestKey: string;
  readonly mnemonicFile: string;
  readonly first: string;
  readonly count: number;
}

const INDEX_COUNT = 2 ** 31;
const ENTROPY_BITS = 256;
/** Error codes for a directory that does not exist, is not a directory, or is not writable. */
const UNWRITABLE_CODES = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'EROFS'] as const;
const PROGRESS_EVERY = 1_000;

/**
 * Derives wallets and writes their signed manifest, offline. Never overwrites a file, because losing the mnemonic
 * means losing every deposit.
 *
 * @throws UsageError; DomainError InvalidRequest for an invalid mnemonic
 */
export async function generate(options: GenerateOptions, output: Output): Promise<GenerateResult> {
  const { MAX_MANIFEST_ENTRIES } = await import('../../deposits/addresses/address-manifest.ts');
  const { DepositKeys, seedOf } = await import('../../deposits/addresses/hd-keys.ts');
  const { count, start, out } = options;
  if (count > MAX_MANIFEST_ENTRIES)
    throw new UsageError(
      `--count must be at most ${MAX_MANIFEST_ENTRIES}: continue with --start in another manifest`,
    );
  if (start + count > INDEX_COUNT)
    throw new UsageError(
      `--start plus --count must not exceed ${INDEX_COUNT}: the last index is ${INDEX_COUNT - 1}`,
    );
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

/** Generates a mnemonic and syncs it to disk before any wallet is derived from it. */
async function newMnemonic(out: string, output: Output): Promise<string> {
  const { generateMnemonic } = await import('@scure/bip39');
  const { wordlist } = await import('@scure/bip39/wordlists/english.js');
  const path = `${out.replace(/\.json$/, '')}.mnemonic`;
  await write(path, `${generateMnemonic(wordlist, ENTROPY_BITS)}\n`, 0o600);
  output.progress(
    `a new mnemonic of 24 words is in ${path}: keep it offline, because it derives the keys of all these addresses`,
  );
  return path;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new UsageError(`--mnemonic-file must be a readable file, but ${path} cannot be read`);
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
    const reason = UNWRITABLE_CODES.find((one) => one === code);
    if (reason !== undefined) throw new UsageError(`${path} cannot be written: ${reason}`);
    throw error;
  }
}
