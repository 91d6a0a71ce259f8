import { setImmediate as nextTurn } from 'node:timers/promises';
import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { isAddress } from '../../domain/address.ts';
import { DomainError } from '../../domain/errors.ts';
import { classifyDestination } from '../../solana/tokens/addresses.ts';

/** A wallet whose key was derived offline. `path`: its derivation path, for example `m/44'/501'/7'/0'`. */
export interface AddressEntry {
  readonly path: string;
  readonly address: string;
}

/** A signed list of deposit wallets. The public key (32 bytes) and the signature (64 bytes) are base58. */
export interface AddressManifest {
  readonly version: 1;
  /** Public key of the signer. This key signs manifests and nothing else. */
  readonly publicKey: string;
  readonly entries: readonly AddressEntry[];
  /** Ed25519 over {@link manifestBytes}. */
  readonly signature: string;
}

/** Maximum number of wallets in a manifest, for which the check takes about a second. */
export const MAX_MANIFEST_ENTRIES = 10_000;

const HARDENED_PATH = /^m(\/(0|[1-9]\d{0,9})'){1,10}$/;
/** Entries that are checked before the event loop runs other work: a few milliseconds. */
const ENTRIES_PER_TURN = 100;

/** The signed bytes: UTF-8 lines for the format, the public key and each entry. A line feed follows each line. */
export function manifestBytes({ publicKey, entries }: Omit<AddressManifest, 'signature'>): Uint8Array {
  const lines = entries.map(({ path, address }) => `${path} ${address}`);
  return new TextEncoder().encode(`${['sluice deposit addresses 1', publicKey, ...lines].join('\n')}\n`);
}

/** The trusted signer: only `manifestKey` (base58), or any key if it is not set. On mainnet it must be set. */
export interface ManifestTrust {
  readonly manifestKey?: string | undefined;
  readonly cluster: string;
}

/** Checks the key, the signature, and that each entry is unique and on the curve. Throws ManifestRejected. */
export async function checkManifest(
  manifest: AddressManifest,
  { manifestKey: trustedKey, cluster }: ManifestTrust,
): Promise<void> {
  const { publicKey, entries } = manifest;
  if (trustedKey === undefined && cluster === 'mainnet-beta')
    throw manifestError(
      'publicKey',
      'on mainnet the API accepts the manifests of one key only: set SLUICE_ADDRESS_MANIFEST_KEY',
    );
  if (entries.length === 0) throw manifestError('entries', 'the list of addresses is empty');
  if (entries.length > MAX_MANIFEST_ENTRIES)
    throw manifestError(
      'entries',
      `it lists more than ${MAX_MANIFEST_ENTRIES} addresses: split them into several manifests`,
    );
  if (trustedKey !== undefined && publicKey !== trustedKey)
    throw manifestError(
      'publicKey',
      `it is signed by ${publicKey}, but the API accepts only manifests of ${trustedKey}: generate it from the mnemonic of that key, or set SLUICE_ADDRESS_MANIFEST_KEY of the API to ${publicKey}`,
    );
  checkUnique(entries, 'path');
  checkUnique(entries, 'address');
  for (const [index, entry] of entries.entries()) {
    checkEntry(entry, `entries.${index}`);
    if (index % ENTRIES_PER_TURN === 0) await nextTurn();
  }
  if (!hasValidSignature(manifest))
    throw manifestError('signature', `its signature is not a valid signature of ${publicKey} over this list`);
}

function checkUnique(entries: readonly AddressEntry[], name: 'path' | 'address'): void {
  const seen = new Set<string>();
  for (const [index, { [name]: value }] of entries.entries()) {
    if (seen.has(value)) throw manifestError(`entries.${index}.${name}`, `${value} occurs twice`);
    seen.add(value);
  }
}

function checkEntry({ path, address }: AddressEntry, field: string): void {
  if (!HARDENED_PATH.test(path))
    throw manifestError(
      `${field}.path`,
      `${path} is not a derivation path of hardened indexes, such as m/44'/501'/0'/0'`,
    );
  if (!isAddress(address))
    throw manifestError(`${field}.address`, `${address} is not a base58 address of 32 bytes`);
  const found = classifyDestination(address, null);
  if (found.kind === 'rejected')
    throw manifestError(`${field}.address`, `${address}: ${found.reason.message}`);
}

function hasValidSignature(manifest: AddressManifest): boolean {
  if (!isAddress(manifest.publicKey)) return false;
  try {
    const [signature, key] = [base58.decode(manifest.signature), base58.decode(manifest.publicKey)];
    // Strict verification: ZIP-215 accepts keys under which one signature is valid for every message.
    return ed25519.verify(signature, manifestBytes(manifest), key, { zip215: false });
  } catch {
    return false;
  }
}

function manifestError(field: string, reason: string): DomainError {
  return new DomainError('ManifestRejected', `the manifest of addresses: ${reason}`, {
    field: `manifest.${field}`,
  });
}
