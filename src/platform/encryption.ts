import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ENCRYPTED_PREFIX, NO_ENCRYPTION, type TextCipher } from '../domain/webhook.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * The 32-byte AES-256-GCM keys of SLUICE_PAYLOAD_KEY. The first key encrypts, with a random nonce; all keys decrypt.
 */
export class KeyRing {
  /** Id of the encrypting key: the first 16 hex digits of its SHA-256. */
  readonly currentKeyId: string;
  readonly #keys: ReadonlyMap<string, Uint8Array>;

  constructor(keys: readonly Uint8Array[]) {
    const [first] = keys;
    if (first === undefined) throw new Error('a key ring needs at least one key');
    this.#keys = new Map(keys.map((key) => [keyIdOf(key), key]));
    this.currentKeyId = keyIdOf(first);
  }

  /** Returns nonce, ciphertext and tag. {@link decrypt} needs the same `associated` data. */
  encrypt(data: Uint8Array, associated: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.currentKeyId), nonce).setAAD(associated);
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws if the key is missing, or if any byte of `data` or `associated` was changed. */
  decrypt(id: string, data: Uint8Array, associated: Uint8Array): Buffer {
    const encrypted = Buffer.from(data);
    if (encrypted.length < NONCE_BYTES + TAG_BYTES)
      throw new Error('an encrypted payload is too short: it was truncated');
    const decipher = createDecipheriv('aes-256-gcm', this.#key(id), encrypted.subarray(0, NONCE_BYTES))
      .setAAD(associated)
      .setAuthTag(encrypted.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(encrypted.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  }

  #key(id: string): Uint8Array {
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new Error(
        `SLUICE_PAYLOAD_KEY lacks the key with id ${id}, which encrypted this data: add that key`,
      );
    return key;
  }
}

function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

const ENCRYPTED_TEXT = new RegExp(`^${ENCRYPTED_PREFIX}([0-9a-f]{16}):([A-Za-z0-9+/=]+)$`);

/** Warning for processes that store x402 payments; null if there is a key. */
export function plainTextWarning(payloadKeys: readonly Uint8Array[]): string | null {
  if (payloadKeys.length > 0) return null;
  return 'SLUICE_PAYLOAD_KEY is not set: the requests of x402 buyers, with their Authorization and Cookie headers, and the responses to them are stored as plain text';
}

/**
 * Encryption of columns with SLUICE_PAYLOAD_KEY. Plain text from before the key was set is still read. Without keys,
 * nothing is encrypted.
 */
export function textCipherOf(payloadKeys: readonly Uint8Array[]): TextCipher {
  if (payloadKeys.length === 0) return NO_ENCRYPTION;
  const keys = new KeyRing(payloadKeys);
  return {
    encrypt: (text, owner) => {
      const encrypted = keys.encrypt(Buffer.from(text, 'utf8'), Buffer.from(owner, 'utf8'));
      return `${ENCRYPTED_PREFIX}${keys.currentKeyId}:${encrypted.toString('base64')}`;
    },
    decrypt: (stored, owner) => {
      const [, id, data] = ENCRYPTED_TEXT.exec(stored) ?? [];
      if (id === undefined || data === undefined) return NO_ENCRYPTION.decrypt(stored, owner);
      return keys.decrypt(id, Buffer.from(data, 'base64'), Buffer.from(owner, 'utf8')).toString('utf8');
    },
  };
}
