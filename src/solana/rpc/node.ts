import type { z } from 'zod';
import { envelope, inParts, isWholeResult, MAX_PARSED_BYTES, parseJson, requestLimitOf } from './answer.ts';
import { OversizedAnswer } from './body.ts';
import { type FaultDetails, isMethodMissing, NodeFault, RpcError } from './errors.ts';
import { RateLimitTimeout } from './rate-limiter.ts';
import { HttpRefusal, type ReadParts, Wire, type WireOptions } from './wire.ts';

export interface NodeOptions extends WireOptions {
  /** Name for logs and evidence. Default: the host, without path and query, which contain providers' API keys. */
  readonly name?: string;
  /** The highest accepted transaction version; a node refuses a newer transaction or its block (-32015). Default 1. */
  readonly maxTransactionVersion?: number;
}

/** An answer read in parts. `envelope`: the answer without the parts that were read, parsed like any other answer. */
export interface StreamedAnswer {
  readonly envelope: Buffer;
}

const HIGHEST_TRANSACTION_VERSION = 1;

const SHOWN_CHARACTERS = 40;
/** Factor on the timeout for a very long answer that did not start in time at its last request. */
const PATIENCE = 6;
const LATE_KEPT = 64;
/** How long a node is not asked after an answer of impossible size: reading it blocks the whole process. */
const OVERSIZED_PAUSE_MS = 300_000;

export class SolanaNode {
  readonly url: string;
  readonly name: string;
  readonly maxTransactionVersion: number;
  /** Requests sent since the start, without probes. */
  callCount = 0;
  /** Probe requests sent since the start. */
  probeCount = 0;
  readonly #wire: Wire;
  readonly #missing = new Set<string>();
  readonly #late = new Set<string>();
  #nextId = 1;

  constructor(url: string, options: NodeOptions = {}) {
    const parsed = new URL(url);
    this.url = url;
    this.name = options.name ?? parsed.host;
    this.maxTransactionVersion = options.maxTransactionVersion ?? HIGHEST_TRANSACTION_VERSION;
    this.#wire = new Wire(parsed, options);
  }

  /** The methods that this node reported as missing (-32601). */
  get missingMethods(): readonly string[] {
    return [...this.#missing].toSorted();
  }

  /**
   * One JSON-RPC call whose result matches `schema`.
   * Throws RpcError for an error object. Throws NodeFault for transport faults, request limits and answers of another
   * shape, and if `over` aborts.
   */
  call<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>, over?: AbortSignal): Promise<T> {
    this.callCount += 1;
    return this.#ask(method, params, schema, over);
  }

  /** Like {@link call}, for probes. */
  probe<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Promise<T> {
    this.probeCount += 1;
    return this.#ask(method, params, schema);
  }

  /**
   * Like {@link call}, for a result too large to parse into objects: the bytes of the whole answer; null for a null
   * result. An answer too large for memory is passed to `read` in parts. So is one above 8 MiB that only a parse
   * could check. The result, or error, of `read` then takes the place of the bytes.
   */
  async bytes<Long extends StreamedAnswer>(
    method: string,
    params: readonly unknown[],
    read: ReadParts<Long>,
    over?: AbortSignal,
  ): Promise<Uint8Array | Long | null> {
    this.callCount += 1;
    const id = this.#nextId++;
    const held = await this.#stream(id, method, params, read, over);
    const isCostly = Buffer.isBuffer(held) && held.length > MAX_PARSED_BYTES && !isWholeResult(held, id);
    const answer = isCostly ? await read(inParts(held)) : held;
    if (!Buffer.isBuffer(answer)) {
      this.#open(answer.envelope, id, method);
      return answer;
    }
    if (!isWholeResult(answer, id)) {
      const result = this.#open(answer, id, method);
      if (result === undefined) throw this.#fault(method, 'result: is absent', { field: 'result' });
      return result === null ? null : answer;
    }
    this.#missing.delete(method);
    return answer;
  }

  /** Closes the connections; pending calls fail. */
  close(): Promise<void> {
    return this.#wire.close();
  }

  async #ask<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    over?: AbortSignal,
  ): Promise<T> {
    const id = this.#nextId++;
    const result = this.#open(await this.#post(id, method, params, over), id, method);
    return this.#read(schema, result, method, 'result');
  }

  #open(bytes: Buffer, id: number, method: string): unknown {
    const parsed = this.#parse(bytes, method);
    const limit = requestLimitOf(parsed);
    if (limit !== null) throw this.#fault(method, `refused by a request limit: ${limit}`);
    const answer = this.#read(envelope, parsed, method, '');
    // A node that could not parse the request answers with the id null.
    if (answer.id !== id && !(answer.error !== undefined && answer.id === null)) {
      throw this.#fault(method, `id: is ${JSON.stringify(answer.id)}, not that of the request`, {
        field: 'id',
      });
    }
    if (answer.error !== undefined) throw this.#refusal(answer.error, method);
    this.#missing.delete(method);
    return answer.result;
  }

  #refusal(error: { code: number; message: string; data?: unknown }, method: string): RpcError {
    const refusal = new RpcError(error, this.name, method);
    if (isMethodMissing(refusal)) this.#missing.add(method);
    else this.#missing.delete(method);
    return refusal;
  }

  async #post(
    id: number,
    method: string,
    params: readonly unknown[],
    over: AbortSignal | undefined,
  ): Promise<Buffer> {
    try {
      const lane = method === 'sendTransaction' ? 'send' : 'read';
      return await this.#wire.post(textOf(id, method, params), lane, over);
    } catch (error) {
      throw this.#failed(method, error, over);
    }
  }

  /** Keeps errors of `read` apart from errors of the transport. */
  async #stream<Long>(
    id: number,
    method: string,
    params: readonly unknown[],
    read: ReadParts<Long>,
    over: AbortSignal | undefined,
  ): Promise<Buffer | Long> {
    const settled = async (parts: AsyncIterable<Uint8Array>) => {
      const [result] = await Promise.allSettled([read(this.#withNodeFault(method, parts, over))]);
      return result;
    };
    const question = `${method} ${String(params[0])}`;
    const patience = this.#late.has(question) ? PATIENCE : 1;
    const answer = await this.#wire
      .stream(textOf(id, method, params), settled, patience, over)
      .catch((error: unknown) => {
        if (over?.aborted !== true && isTimeout(error)) this.#noteLate(question);
        throw this.#failed(method, error, over);
      });
    this.#late.delete(question);
    if (Buffer.isBuffer(answer)) return answer;
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  }

  #noteLate(question: string): void {
    this.#late.add(question);
    const [oldest] = this.#late;
    if (this.#late.size > LATE_KEPT && oldest !== undefined) this.#late.delete(oldest);
  }

  async *#withNodeFault(
    method: string,
    parts: AsyncIterable<Uint8Array>,
    over: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* parts;
    } catch (error) {
      throw this.#failed(method, error, over);
    }
  }

  #failed(method: string, error: unknown, over: AbortSignal | undefined): NodeFault {
    if (over?.aborted === true)
      return this.#fault(method, 'every caller has cancelled the request', { asked: false, cause: error });
    const reason = error instanceof Error ? error.message : 'no answer';
    return this.#fault(method, reason, { ...refusalOf(error), cause: error });
  }

  #parse(bytes: Buffer, method: string): unknown {
    const text = bytes.toString('utf8');
    try {
      return parseJson(text);
    } catch (error) {
      const start = JSON.stringify(text.slice(0, SHOWN_CHARACTERS));
      throw this.#fault(method, `the answer is not JSON: it begins with ${start}`, { cause: error });
    }
  }

  #read<T>(schema: z.ZodType<T>, value: unknown, method: string, root: string): T {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    const field = [root, ...(issue?.path ?? []).map(String)].filter((part) => part !== '').join('.');
    throw this.#fault(method, `${field || 'answer'}: ${issue?.message ?? 'unreadable'}`, { field });
  }

  #fault(method: string, reason: string, details: FaultDetails = {}): NodeFault {
    return new NodeFault(this.name, `${method}: ${reason}`, { method, ...details });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

function textOf(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** When to ask again. The node is paused only if users of the chain cannot make an answer so large. */
function refusalOf(error: unknown): FaultDetails {
  if (error instanceof RateLimitTimeout) return { asked: false };
  if (error instanceof HttpRefusal) return { status: error.status, retryAfterMs: error.retryAfterMs };
  const isBeyondReason = error instanceof OversizedAnswer && error.isBeyondReason;
  return isBeyondReason ? { retryAfterMs: OVERSIZED_PAUSE_MS } : {};
}
