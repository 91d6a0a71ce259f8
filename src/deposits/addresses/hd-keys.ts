import { base58 } from '@scure/base';
import { mnemonicToSeed, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { HARDENED_OFFSET, HDKey } from 'micro-key-producer/slip10.js';
import { DomainError } from '../../domain/errors.ts';
import { type AddressEntry, type AddressManifest, manifestBytes } from './address-manifest.ts';

/** Standard path of Solana wallets; account i is `m/44'/501'/i'/0'`. */
const ACCOUNTS_PATH = "m/44'/501'";
/** The purpose index is `SLUC` in ASCII, which no wallet software searches for funds. */
const MANIFEST_KEY_PATH = "m/1397511491'/0'";

/**
 * The seed (64 bytes) of an English BIP-39 mnemonic without a passphrase. The InvalidRequest error omits the mnemonic.
 */
export async function seedOf(mnemonic: string): Promise<Uint8Array> {
  const words = mnemonic.trim().toLowerCase().split(/\s+/).join(' ');
  if (!validateMnemonic(words, wordlist))
    throw new DomainError(
      'InvalidRequest',
      'the mnemonic is not a valid BIP-39 mnemonic of 12 to 24 English words',
      {
        field: 'mnemonic',
      },
    );
  return mnemonicToSeed(words);
}

/** The ed25519 key at a hardened path. Source: SLIP-0010. */
export function keyAt(seed: Uint8Array, path: string): HDKey {
  return HDKey.fromMasterSeed(seed).derive(path);
}

/** The deposit wallets that are derived from one seed, and the key that signs their manifests. */
export class DepositKeys {
  readonly #accounts: HDKey;
  readonly #manifestKey: HDKey;

  constructor(seed: Uint8Array) {
    this.#accounts = keyAt(seed, ACCOUNTS_PATH);
    this.#manifestKey = keyAt(seed, MANIFEST_KEY_PATH);
  }

  /** The public key (base58) that signs {@link manifest}. */
  get manifestKey(): string {
    return base58.encode(this.#manifestKey.publicKeyRaw);
  }

  /** The wallet of account `index` (0 to 2^31 - 1), derived as Phantom and `solana-keygen` do. */
  entry(index: number): AddressEntry {
    const key = this.#accounts.deriveChild(HARDENED_OFFSET + index).deriveChild(HARDENED_OFFSET);
    return { path: `${ACCOUNTS_PATH}/${index}'/0'`, address: base58.encode(key.publicKeyRaw) };
  }

  manifest(entries: readonly AddressEntry[]): AddressManifest {
    const unsigned = { version: 1, publicKey: this.manifestKey, entries } as const;
    return { ...unsigned, signature: base58.encode(this.#manifestKey.sign(manifestBytes(unsigned))) };
  }
}
