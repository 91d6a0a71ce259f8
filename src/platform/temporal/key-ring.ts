import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The keys of SLUICE_PAYLOAD_KEY, 32 bytes each: the first encrypts, every one decrypts. AES-256-GCM, a fresh nonce each time. */
export class KeyRing {
  /** Id of the key that encrypts: hex of the beginning of its SHA-256. */
  readonly current: string;
  readonly #keys: ReadonlyMap<string, Uint8Array>;

  constructor(keys: readonly Uint8Array[]) {
    const [first] = keys;
    if (first === undefined) throw new Error('a key ring needs a key');
    this.#keys = new Map(keys.map((key) => [keyId(key), key]));
    this.current = keyId(first);
  }

  /** Nonce, ciphertext and tag, by the current key. `associated` must be the same to open it again. */
  seal(data: Uint8Array, associated: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.current), nonce).setAAD(associated);
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws where the key is not here, and where anything was changed. */
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
