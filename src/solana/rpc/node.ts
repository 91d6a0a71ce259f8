import type { z } from 'zod';
import { envelope, inParts, isWholeResult, MAX_PARSED_BYTES, parseJson, requestLimitOf } from './answer.ts';
import { OversizedAnswer } from './body.ts';
import { type FaultDetails, isMethodMissing, NodeFault, RpcError } from './errors.ts';
import { RateLimitTimeout } from './rate-limiter.ts';
import { HttpRefusal, type ReadParts, Wire, type WireOptions } from './wire.ts';

export interface NodeOptions extends WireOptions {
  /** Name in logs and evidence. Default: the host; path and query are omitted, because they can contain API keys. */
  readonly name?: string;
  /** Highest accepted transaction version. For a higher one, nodes return an error (-32015). Default 1. */
  readonly maxTransactionVersion?: number;
}

/** The result of reading an answer in parts. `envelope`: the answer's JSON without the parts that were read. */
export interface StreamedAnswer {
  readonly envelope: Buffer;
}

const DEFAULT_MAX_TRANSACTION_VERSION = 1;

const MAX_QUOTED_CHARACTERS = 40;
/** Factor on the timeout of a streamed request whose previous answer did not start in time. */
const LATE_ANSWER_TIMEOUT_FACTOR = 6;
const MAX_LATE_REQUESTS = 64;
/** Pause of a node after an implausibly large answer, because reading such an answer blocks the whole process. */
const OVERSIZED_ANSWER_PAUSE_MS = 300_000;

export class SolanaNode {
  readonly url: string;
  readonly name: string;
  readonly maxTransactionVersion: number;
  /** Number of requests since the start, without probes. */
  callCount = 0;
  /** Number of probes since the start. */
  probeCount = 0;
  readonly #wire: Wire;
  readonly #missingMethods = new Set<string>();
  readonly #lateRequests = new Set<string>();
  #nextId = 1;

  constructor(url: string, options: NodeOptions = {}) {
    const parsed = new URL(url);
    this.url = url;
    this.name = options.name ?? parsed.host;
    this.maxTransactionVersion = options.maxTransactionVersion ?? DEFAULT_MAX_TRANSACTION_VERSION;
    this.#wire = new Wire(parsed, options);
  }

  /** Methods for which the node's last answer was -32601. */
  get missingMethods(): readonly string[] {
    return [...this.#missingMethods].toSorted();
  }

  /**
   * Calls a JSON-RPC method and returns its result as `schema` parses it. Throws RpcError for an error object. Throws
   * NodeFault for a transport fault, a request limit or a result that does not match, and if `signal` aborts.
   */
  call<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    this.callCount += 1;
    return this.#ask(method, params, schema, signal);
  }

  /** Like {@link call}, but counted as a probe. */
  probe<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Promise<T> {
    this.probeCount += 1;
    return this.#ask(method, params, schema);
  }

  /**
   * Like {@link call}, for a result too large to parse into objects. Returns the bytes of the whole answer, or null for
   * a null result. An answer too large for memory is passed to `read` in parts, and the result of `read` is returned.
   * The same applies to an answer above {@link MAX_PARSED_BYTES} that only parsing could check.
   */
  async bytes<Long extends StreamedAnswer>(
    method: string,
    params: readonly unknown[],
    read: ReadParts<Long>,
    signal?: AbortSignal,
  ): Promise<Uint8Array | Long | null> {
    this.callCount += 1;
    const id = this.#nextId++;
    const received = await this.#stream(id, method, params, read, signal);
    const isTooLargeToParse =
      Buffer.isBuffer(received) && received.length > MAX_PARSED_BYTES && !isWholeResult(received, id);
    const answer = isTooLargeToParse ? await read(inParts(received)) : received;
    if (!Buffer.isBuffer(answer)) {
      this.#resultIn(answer.envelope, id, method);
      return answer;
    }
    if (!isWholeResult(answer, id)) {
      const result = this.#resultIn(answer, id, method);
      if (result === undefined) throw this.#fault(method, 'the answer has no result', { field: 'result' });
      return result === null ? null : answer;
    }
    this.#missingMethods.delete(method);
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
    signal?: AbortSignal,
  ): Promise<T> {
    const id = this.#nextId++;
    const result = this.#resultIn(await this.#post(id, method, params, signal), id, method);
    return this.#checked(schema, result, method, 'result');
  }

  #resultIn(bytes: Buffer, id: number, method: string): unknown {
    const parsed = this.#parse(bytes, method);
    const limit = requestLimitOf(parsed);
    if (limit !== null)
      throw this.#fault(method, `the node refused the request because of a request limit: ${limit}`);
    const answer = this.#checked(envelope, parsed, method, '');
    // A node that cannot parse a request answers with an error and the id null.
    if (answer.id !== id && !(answer.error !== undefined && answer.id === null)) {
      throw this.#fault(
        method,
        `the answer has id ${JSON.stringify(answer.id)} instead of the request's id`,
        {
          field: 'id',
        },
      );
    }
    if (answer.error !== undefined) throw this.#rpcErrorOf(answer.error, method);
    this.#missingMethods.delete(method);
    return answer.result;
  }

  #rpcErrorOf(error: { code: number; message: string; data?: unknown }, method: string): RpcError {
    const refusal = new RpcError(error, this.name, method);
    if (isMethodMissing(refusal)) this.#missingMethods.add(method);
    else this.#missingMethods.delete(method);
    return refusal;
  }

  async #post(
    id: number,
    method: string,
    params: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<Buffer> {
    try {
      const lane = method === 'sendTransaction' ? 'send' : 'read';
      return await this.#wire.post(requestText(id, method, params), lane, signal);
    } catch (error) {
      throw this.#faultOf(method, error, signal);
    }
  }

  /** Throws errors of `read` unchanged, and errors of the transport as NodeFault. */
  async #stream<Long>(
    id: number,
    method: string,
    params: readonly unknown[],
    read: ReadParts<Long>,
    signal: AbortSignal | undefined,
  ): Promise<Buffer | Long> {
    const readSettled = async (parts: AsyncIterable<Uint8Array>) => {
      const [result] = await Promise.allSettled([read(this.#withNodeFault(method, parts, signal))]);
      return result;
    };
    const requestName = `${method} ${String(params[0])}`;
    const timeoutFactor = this.#lateRequests.has(requestName) ? LATE_ANSWER_TIMEOUT_FACTOR : 1;
    const answer = await this.#wire
      .stream(requestText(id, method, params), readSettled, timeoutFactor, signal)
      .catch((error: unknown) => {
        if (signal?.aborted !== true && isTimeout(error)) this.#noteLate(requestName);
        throw this.#faultOf(method, error, signal);
      });
    this.#lateRequests.delete(requestName);
    if (Buffer.isBuffer(answer)) return answer;
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  }

  #noteLate(requestName: string): void {
    this.#lateRequests.add(requestName);
    const [oldest] = this.#lateRequests;
    if (this.#lateRequests.size > MAX_LATE_REQUESTS && oldest !== undefined)
      this.#lateRequests.delete(oldest);
  }

  async *#withNodeFault(
    method: string,
    parts: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* parts;
    } catch (error) {
      throw this.#faultOf(method, error, signal);
    }
  }

  #faultOf(method: string, error: unknown, signal: AbortSignal | undefined): NodeFault {
    if (signal?.aborted === true)
      return this.#fault(method, 'the request was cancelled because no caller needs it', {
        asked: false,
        cause: error,
      });
    const reason = error instanceof Error ? error.message : 'the node did not answer';
    return this.#fault(method, reason, { ...faultDetailsOf(error), cause: error });
  }

  #parse(bytes: Buffer, method: string): unknown {
    const text = bytes.toString('utf8');
    try {
      return parseJson(text);
    } catch (error) {
      const start = JSON.stringify(text.slice(0, MAX_QUOTED_CHARACTERS));
      throw this.#fault(method, `the answer is not JSON: it begins with ${start}`, { cause: error });
    }
  }

  #checked<T>(schema: z.ZodType<T>, value: unknown, method: string, root: string): T {
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

function requestText(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** An oversized answer pauses the node only if it is implausible: users of the chain can cause other large answers. */
function faultDetailsOf(error: unknown): FaultDetails {
  if (error instanceof RateLimitTimeout) return { asked: false };
  if (error instanceof HttpRefusal) return { status: error.status, retryAfterMs: error.retryAfterMs };
  const isImplausible = error instanceof OversizedAnswer && error.isImplausible;
  return isImplausible ? { retryAfterMs: OVERSIZED_ANSWER_PAUSE_MS } : {};
}
