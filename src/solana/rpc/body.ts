import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import type { Dispatcher } from '../../shims/undici.ts';
import type { Deadline } from './deadline.ts';

/** The answer is larger than `maxBytes`; its remaining bytes were not read. */
export class OversizedAnswer extends Error {
  override readonly name = 'OversizedAnswer';
  /** True if no honest node can return an answer of this size. */
  readonly isImplausible: boolean;

  constructor(maxBytes: number, isImplausible: boolean) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.isImplausible = isImplausible;
  }
}

const inflate = promisify(gunzip);
const BUFFER_TOO_LARGE = 'ERR_BUFFER_TOO_LARGE';
const PART_BYTES = 256 * 1_024;

export class Body {
  readonly #body: Dispatcher.ResponseData['body'];
  readonly #rest: AsyncIterator<Uint8Array>;
  readonly #isCompressed: boolean;
  readonly #deadline: Deadline;
  #bufferedParts: Uint8Array[] = [];

  constructor({ headers, body }: Dispatcher.ResponseData, deadline: Deadline) {
    // The reader receives errors from the iterator. Without a listener, an error would end the process.
    this.#body = body.on('error', () => undefined);
    this.#rest = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    this.#isCompressed = headers['content-encoding'] === 'gzip';
    this.#deadline = deadline;
  }

  /**
   * The whole body, decompressed; null if longer than `maxBytes`. The deadline then stops until {@link parts} is read.
   */
  async whole(maxBytes: number): Promise<Buffer | null> {
    const bytes = await this.#whole(maxBytes);
    if (bytes === null) this.#deadline.clear();
    return bytes;
  }

  /**
   * The decompressed body in parts, including those that {@link whole} has read. Throws {@link OversizedAnswer} beyond
   * `maxBytes`.
   */
  async *parts(maxBytes: number): AsyncGenerator<Uint8Array> {
    let size = 0;
    this.#deadline.restart();
    const compressed = this.#parts();
    for await (const part of this.#isCompressed ? decompressed(compressed) : compressed) {
      size += part.length;
      if (size > maxBytes) throw new OversizedAnswer(maxBytes, true);
      yield part;
    }
  }

  /** Stops reading. Closes the connection unless the whole body has arrived. */
  drop(): void {
    this.#body.destroy();
  }

  async #whole(maxBytes: number): Promise<Buffer | null> {
    let size = 0;
    for (let part = await this.#next(); part !== null; part = await this.#next()) {
      this.#bufferedParts.push(part);
      size += part.length;
      if (size > maxBytes) return null;
    }
    const bytes = Buffer.concat(this.#bufferedParts);
    this.#bufferedParts = [bytes];
    return this.#isCompressed ? decompress(bytes, maxBytes) : bytes;
  }

  async *#parts(): AsyncGenerator<Uint8Array> {
    for (let part = this.#bufferedParts.shift(); part !== undefined; part = this.#bufferedParts.shift())
      yield part;
    for (let part = await this.#next(); part !== null; part = await this.#next()) yield part;
  }

  async #next(): Promise<Uint8Array | null> {
    const { done, value } = await this.#rest.next();
    if (done === true) return null;
    this.#deadline.addReceived(value.length);
    return value;
  }
}

async function decompress(bytes: Buffer, maxBytes: number): Promise<Buffer | null> {
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === BUFFER_TOO_LARGE) return null;
    throw error;
  }
}

function decompressed(parts: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const gunzipStream = createGunzip({ chunkSize: PART_BYTES });
  // The reader receives errors from the iterator, so the callback ignores them.
  pipeline(parts, gunzipStream, () => undefined);
  return gunzipStream;
}
