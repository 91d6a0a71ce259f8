import { sha256 } from '@noble/hashes/sha2.js';
import { ByteReader, toBase58, toBase64 } from './bytes.ts';

export interface WireInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
}

export interface WireLookup {
  readonly accountKey: string;
  readonly writableIndexes: readonly number[];
  readonly readonlyIndexes: readonly number[];
}

/** Limits that a version-1 message carries instead of compute-budget instructions. `priorityFeeLamports` is a total. */
export interface WireConfig {
  readonly priorityFeeLamports?: bigint;
  readonly computeUnitLimit?: number;
  readonly loadedAccountsDataSizeLimit?: number;
  readonly heapSize?: number;
}

export interface WireMessage {
  readonly version: 'legacy' | 0 | 1;
  readonly header: {
    readonly signatures: number;
    readonly readonlySigned: number;
    readonly readonlyUnsigned: number;
  };
  readonly keys: readonly string[];
  readonly blockhash: string;
  readonly instructions: readonly WireInstruction[];
  readonly lookups: readonly WireLookup[];
  readonly config: WireConfig | null;
  readonly bytes: Uint8Array;
}

/** A decoded transaction. Two transactions with the same `messageHash` (base64 of SHA-256) are the same one to the chain. */
export interface DecodedTransaction {
  readonly signature: string;
  readonly signatures: readonly string[];
  readonly message: WireMessage;
  readonly messageHash: string;
  readonly raw: Uint8Array;
}

/** First byte of a version-1 message, and so of a version-1 transaction. */
export const VERSION_1_PREFIX = 0x81;
const CONFIG_BITS = 0b11111;
const HEAP_UNIT_BYTES = 1024;

function readHeader(reader: ByteReader): WireMessage['header'] {
  return { signatures: reader.u8(), readonlySigned: reader.u8(), readonlyUnsigned: reader.u8() };
}

function list<T>(count: number, read: () => T): T[] {
  return Array.from({ length: count }, read);
}

function readInstruction(reader: ByteReader): WireInstruction {
  return {
    programIdIndex: reader.u8(),
    accounts: [...reader.bytes(reader.compactLength())],
    data: reader.bytes(reader.compactLength()),
  };
}

function readLookup(reader: ByteReader): WireLookup {
  return {
    accountKey: reader.address(),
    writableIndexes: [...reader.bytes(reader.compactLength())],
    readonlyIndexes: [...reader.bytes(reader.compactLength())],
  };
}

/** The priority fee has two mask bits; either both or none must be set. */
function checkConfigMask(mask: number): void {
  const hasHalfFee = (mask & 3) === 1 || (mask & 3) === 2;
  if (hasHalfFee || (mask & ~CONFIG_BITS) !== 0) throw new RangeError(`invalid config mask ${mask}`);
}

function readConfig(reader: ByteReader, mask: number): WireConfig {
  checkConfigMask(mask);
  const config = {
    ...((mask & 3) === 3 ? { priorityFeeLamports: reader.u64() } : {}),
    ...((mask & 4) === 4 ? { computeUnitLimit: reader.u32() } : {}),
    ...((mask & 8) === 8 ? { loadedAccountsDataSizeLimit: reader.u32() } : {}),
    ...((mask & 16) === 16 ? { heapSize: reader.u32() } : {}),
  };
  if ((config.heapSize ?? 0) % HEAP_UNIT_BYTES !== 0)
    throw new RangeError(`invalid heap size ${config.heapSize}: it must be a multiple of ${HEAP_UNIT_BYTES}`);
  return config;
}

/** SIMD-0385: header, config mask, lifetime, counts, keys, config values, instruction headers, then their payloads. */
function readVersion1(reader: ByteReader, bytes: Uint8Array): WireMessage {
  const header = readHeader(reader);
  const mask = reader.u32();
  const blockhash = reader.address();
  const instructionCount = reader.u8();
  const keyCount = reader.u8();
  const keys = list(keyCount, () => reader.address());
  const config = readConfig(reader, mask);
  const headers = list(instructionCount, () => ({
    programIdIndex: reader.u8(),
    accountCount: reader.u8(),
    dataLength: reader.u16(),
  }));
  const instructions = headers.map(({ programIdIndex, accountCount, dataLength }) => ({
    programIdIndex,
    accounts: [...reader.bytes(accountCount)],
    data: reader.bytes(dataLength),
  }));
  return {
    version: 1,
    header,
    keys,
    blockhash,
    instructions,
    lookups: [],
    config,
    bytes: bytes.slice(0, reader.offset),
  };
}

/** Decodes a message of version legacy, 0 or 1. Throws RangeError if the version is unsupported or the bytes are malformed. */
export function decodeMessage(bytes: Uint8Array): WireMessage {
  const reader = new ByteReader(bytes);
  const first = bytes[0] ?? 0;
  if (first === VERSION_1_PREFIX) {
    reader.u8();
    return readVersion1(reader, bytes);
  }
  if (first > VERSION_1_PREFIX) throw new RangeError(`unsupported message version ${first & 0x7f}`);
  const version = first & 0x80 ? 0 : 'legacy';
  if (version === 0) reader.u8();
  const header = readHeader(reader);
  const keys = list(reader.compactLength(), () => reader.address());
  const blockhash = reader.address();
  const instructions = list(reader.compactLength(), () => readInstruction(reader));
  const lookups = version === 0 ? list(reader.compactLength(), () => readLookup(reader)) : [];
  return {
    version,
    header,
    keys,
    blockhash,
    instructions,
    lookups,
    config: null,
    bytes: bytes.slice(0, reader.offset),
  };
}

function splitTransaction(raw: Uint8Array): { signatures: Uint8Array[]; message: WireMessage } {
  const reader = new ByteReader(raw);
  if (raw[0] === VERSION_1_PREFIX) {
    const message = decodeMessage(raw);
    reader.offset = message.bytes.length;
    const signatures = list(message.header.signatures, () => reader.bytes(64));
    if (reader.remaining !== 0)
      throw new RangeError(`the transaction has ${reader.remaining} bytes after its last signature`);
    return { signatures, message };
  }
  const signatures = list(reader.compactLength(), () => reader.bytes(64));
  return { signatures, message: decodeMessage(reader.rest()) };
}

export function decodeTransaction(raw: Uint8Array): DecodedTransaction {
  const { signatures, message } = splitTransaction(raw);
  const encoded = signatures.map(toBase58);
  return {
    signature: encoded[0] ?? '',
    signatures: encoded,
    message,
    messageHash: toBase64(sha256(message.bytes)),
    raw,
  };
}

export function isWritable(message: WireMessage, index: number): boolean {
  const { signatures, readonlySigned, readonlyUnsigned } = message.header;
  return index < signatures
    ? index < signatures - readonlySigned
    : index < message.keys.length - readonlyUnsigned;
}
