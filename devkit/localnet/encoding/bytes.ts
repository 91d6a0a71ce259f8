import { base58 } from '@scure/base';

const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** Maximum input of the library's encoder; data in version-1 transactions can be longer. */
const MAX_ENCODER_BYTES = 2048;

function longBase58(bytes: Uint8Array): string {
  let digits = '';
  for (let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); rest > 0n; rest /= 58n)
    digits = BASE58_ALPHABET.charAt(Number(rest % 58n)) + digits;
  const zeroes = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeroes < 0 ? bytes.length : zeroes) + digits;
}

export function toBase58(bytes: Uint8Array): string {
  return bytes.length <= MAX_ENCODER_BYTES ? base58.encode(bytes) : longBase58(bytes);
}

export function fromBase58(text: string): Uint8Array | null {
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}

export function addressBytes(address: string): Uint8Array {
  const bytes = fromBase58(address);
  if (bytes?.length !== 32) throw new Error(`${address} is not an address`);
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  offset: number;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.offset = offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.offset;
  }

  bytes(length: number): Uint8Array {
    if (this.remaining < length) throw new RangeError('failed to fill whole buffer');
    this.offset += length;
    return this.#bytes.slice(this.offset - length, this.offset);
  }

  rest(): Uint8Array {
    return this.bytes(this.remaining);
  }

  u8(): number {
    this.offset += 1;
    return this.#view.getUint8(this.offset - 1);
  }

  u16(): number {
    this.offset += 2;
    return this.#view.getUint16(this.offset - 2, true);
  }

  u32(): number {
    this.offset += 4;
    return this.#view.getUint32(this.offset - 4, true);
  }

  u64(): bigint {
    this.offset += 8;
    return this.#view.getBigUint64(this.offset - 8, true);
  }

  i64(): bigint {
    this.offset += 8;
    return this.#view.getBigInt64(this.offset - 8, true);
  }

  address(): string {
    return toBase58(this.bytes(32));
  }

  /** An optional address of 32 bytes; null if all of them are zero. */
  optionalAddress(): string | null {
    const bytes = this.bytes(32);
    return bytes.every((byte) => byte === 0) ? null : toBase58(bytes);
  }

  /** A length in Solana's compact-u16 format of 1 to 3 bytes. */
  compactLength(): number {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = this.u8();
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new RangeError('length prefix too long');
  }
}
