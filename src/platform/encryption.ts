import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { PLAIN_SEAL, type Seal } from '../domain/webhook.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The 32-byte AES-256-GCM keys of SLUICE_PAYLOAD_KEY: the first encrypts with a fresh nonce, all decrypt. */
export class KeyRing {
  /** Id of the encrypting key: hex of the beginning of its SHA-256. */
  readonly current: string;
  readonly #keys: ReadonlyMap<string, Uint8Array>;

  constructor(keys: readonly Uint8Array[]) {
    const [first] = keys;
    if (first === undefined) throw new Error('a key ring needs a key');
    this.#keys = new Map(keys.map((key) => [keyId(key), key]));
    this.current = keyId(first);
  }

  /** Returns nonce, ciphertext and tag under the current key. `open` needs the same `associated` data. */
  seal(data: Uint8Array, associated: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.current), nonce).setAAD(associated);
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws if the key is missing or any byte was changed. */
  open(id: string, data: Uint8Array, associated: Uint8Array): Buffer {
    const sealed = Buffer.from(data);
    if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error('an encrypted payload is cut short');
    const decipher = createDecipheriv('aes-256-gcm', this.#key(id), sealed.subarray(0, NONCE_BYTES))
      .setAAD(associated)
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  }

  #key(id: string): Uint8Array {
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new Error(`SLUICE_PAYLOAD_KEY lacks the key ${id} that a payload was encrypted with`);
    return key;
  }
}

function keyId(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

const SEALED = /^sealed:([0-9a-f]{16}):([A-Za-z0-9+/=]+)$/;

/** Encrypts with SLUICE_PAYLOAD_KEY; also reads plain text from before it was set. No keys: {@link PLAIN_SEAL}. */
export function sealOf(payloadKeys: readonly Uint8Array[]): Seal {
  if (payloadKeys.length === 0) return PLAIN_SEAL;
  const keys = new KeyRing(payloadKeys);
  return {
    seal: (text, of) => {
      const sealed = keys.seal(Buffer.from(text, 'utf8'), Buffer.from(of, 'utf8'));
      return `sealed:${keys.current}:${sealed.toString('base64')}`;
    },
    open: (sealed, of) => {
      const [, id, data] = SEALED.exec(sealed) ?? [];
      if (id === undefined || data === undefined) return PLAIN_SEAL.open(sealed, of);
      return keys.open(id, Buffer.from(data, 'base64'), Buffer.from(of, 'utf8')).toString('utf8');
    },
  };
}
