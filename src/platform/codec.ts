import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';

const ENCODING = 'binary/encrypted';
const INNER = 'inner-';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type Metadata = Record<string, Uint8Array>;

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'utf8'));
const text = (value: Uint8Array | null | undefined): string => Buffer.from(value ?? []).toString('utf8');

function keyId(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

/** The plain metadata is bound to the data: neither can be exchanged alone. */
function associated(metadata: Metadata): Buffer {
  const names = Object.keys(metadata).sort();
  return Buffer.from(
    JSON.stringify(names.map((name) => [name, Buffer.from(metadata[name] ?? []).toString('base64')])),
  );
}

/**
 * Encrypts what enters a Temporal history: AES-256-GCM, a fresh nonce each, the key's id in the metadata.
 * The first key encrypts; every key decrypts, so that keys can be changed. What was never encrypted passes through.
 */
export class AesCodec implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #current: string;

  constructor(keys: readonly Uint8Array[]) {
    const [first] = keys;
    if (first === undefined) throw new Error('a codec needs a key');
    this.#keys = new Map(keys.map((key) => [keyId(key), key]));
    this.#current = keyId(first);
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => this.#encrypt(payload));
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) =>
      text(payload.metadata?.['encoding']) === ENCODING ? this.#decrypt(payload) : payload,
    );
  }

  #encrypt(payload: Payload): Payload {
    const metadata: Metadata = { encoding: bytes(ENCODING), 'encryption-key-id': bytes(this.#current) };
    for (const [name, value] of Object.entries(payload.metadata ?? {})) metadata[INNER + name] = value;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#current), nonce).setAAD(
      associated(metadata),
    );
    const sealed = Buffer.concat([
      nonce,
      cipher.update(payload.data ?? new Uint8Array()),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return { metadata, data: new Uint8Array(sealed) };
  }

  #decrypt(payload: Payload): Payload {
    const metadata = (payload.metadata ?? {}) as Metadata;
    const sealed = Buffer.from(payload.data ?? []);
    if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error('an encrypted payload is cut short');
    const key = this.#key(text(metadata['encryption-key-id']));
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(associated(metadata))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    const data = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    const inner = Object.entries(metadata).filter(([name]) => name.startsWith(INNER));
    return {
      metadata: Object.fromEntries(inner.map(([name, value]) => [name.slice(INNER.length), value])),
      data: new Uint8Array(data),
    };
  }

  #key(id: string): Uint8Array {
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new Error(`SLUICE_PAYLOAD_KEY lacks the key ${id} that a payload was encrypted with`);
    return key;
  }
}

/** The data converter of clients and workers: Temporal's own, with the codec where keys are set. */
export function dataConverter(payloadKeys: readonly Uint8Array[]): DataConverter {
  return payloadKeys.length === 0 ? {} : { payloadCodecs: [new AesCodec(payloadKeys)] };
}
