import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { KeyRing } from '../encryption.ts';

const ENCODING = 'binary/encrypted';
const ORIGINAL_PREFIX = 'inner-';

type Metadata = Record<string, Uint8Array>;

const toBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'utf8'));
const toText = (value: Uint8Array | null | undefined): string => Buffer.from(value ?? []).toString('utf8');

/** Additional authenticated data. It binds the plain metadata to the data, so that neither can be replaced alone. */
function associatedData(metadata: Metadata): Buffer {
  const names = Object.keys(metadata).sort();
  return Buffer.from(
    JSON.stringify(names.map((name) => [name, Buffer.from(metadata[name] ?? []).toString('base64')])),
  );
}

/**
 * Encrypts Temporal payloads with AES-256-GCM, a random nonce for each, and the key id in the metadata. The first key
 * encrypts; all keys decrypt, so that keys can be rotated. Payloads that are not encrypted are returned unchanged.
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
      toText(payload.metadata?.['encoding']) === ENCODING ? this.#decrypt(payload) : payload,
    );
  }

  #encrypt(payload: Payload): Payload {
    const metadata: Metadata = {
      encoding: toBytes(ENCODING),
      'encryption-key-id': toBytes(this.#keys.currentKeyId),
    };
    for (const [name, value] of Object.entries(payload.metadata ?? {}))
      metadata[ORIGINAL_PREFIX + name] = value;
    const encrypted = this.#keys.encrypt(payload.data ?? new Uint8Array(), associatedData(metadata));
    return { metadata, data: new Uint8Array(encrypted) };
  }

  #decrypt(payload: Payload): Payload {
    const metadata = (payload.metadata ?? {}) as Metadata;
    const keyId = toText(metadata['encryption-key-id']);
    const data = this.#keys.decrypt(keyId, payload.data ?? new Uint8Array(), associatedData(metadata));
    const original = Object.entries(metadata).filter(([name]) => name.startsWith(ORIGINAL_PREFIX));
    return {
      metadata: Object.fromEntries(
        original.map(([name, value]) => [name.slice(ORIGINAL_PREFIX.length), value]),
      ),
      data: new Uint8Array(data),
    };
  }
}

export function dataConverter(payloadKeys: readonly Uint8Array[]): DataConverter {
  return payloadKeys.length === 0 ? {} : { payloadCodecs: [new AesCodec(payloadKeys)] };
}
