import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { KeyRing } from '../encryption.ts';

const ENCODING = 'binary/encrypted';
const INNER = 'inner-';

type Metadata = Record<string, Uint8Array>;

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'utf8'));
const text = (value: Uint8Array | null | undefined): string => Buffer.from(value ?? []).toString('utf8');

/** Additional authenticated data: binds the plain metadata to the data, so that neither can be replaced alone. */
function associated(metadata: Metadata): Buffer {
  const names = Object.keys(metadata).sort();
  return Buffer.from(
    JSON.stringify(names.map((name) => [name, Buffer.from(metadata[name] ?? []).toString('base64')])),
  );
}

/**
 * Encrypts Temporal payloads: AES-256-GCM, a fresh nonce each, the key id in the metadata. The first key encrypts;
 * every key decrypts, so that keys can be rotated. Unencrypted payloads are returned unchanged.
 */
export class AesCodec implements PayloadCodec {
  readonly #keys: KeyRing;

  constructor(keys: readonly Uint8Array[]) {
    this.#keys = new KeyRing(keys);
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
    const metadata: Metadata = {
      encoding: bytes(ENCODING),
      'encryption-key-id': bytes(this.#keys.current),
    };
    for (const [name, value] of Object.entries(payload.metadata ?? {})) metadata[INNER + name] = value;
    const sealed = this.#keys.seal(payload.data ?? new Uint8Array(), associated(metadata));
    return { metadata, data: new Uint8Array(sealed) };
  }

  #decrypt(payload: Payload): Payload {
    const metadata = (payload.metadata ?? {}) as Metadata;
    const keyId = text(metadata['encryption-key-id']);
    const data = this.#keys.open(keyId, payload.data ?? new Uint8Array(), associated(metadata));
    const inner = Object.entries(metadata).filter(([name]) => name.startsWith(INNER));
    return {
      metadata: Object.fromEntries(inner.map(([name, value]) => [name.slice(INNER.length), value])),
      data: new Uint8Array(data),
    };
  }
}

export function dataConverter(payloadKeys: readonly Uint8Array[]): DataConverter {
  return payloadKeys.length === 0 ? {} : { payloadCodecs: [new AesCodec(payloadKeys)] };
}
