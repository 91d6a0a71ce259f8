import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { callbackify } from 'node:util';
import { Agent, request } from '../shims/undici.ts';
import { faultOfUrl, isPublicAddress } from './public-address.ts';

/** A request that could not be sent through no fault of the receiver: our resolver, network, clock or keys failed. */
export class OwnFault extends Error {
  override readonly name = 'OwnFault';
}

/** Error codes for faults of this machine. An unknown host name or a refused connection is the receiver's. */
const OURS: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_MEMORY',
  'EAI_SYSTEM',
  'ENETDOWN',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
]);

/** True for our own fault; for several addresses, only if all failed by our own fault. */
function isOwnFault(error: unknown): boolean {
  if (error instanceof OwnFault) return true;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOwnFault);
  return error instanceof Error && 'code' in error && OURS.has(error.code);
}

/** All addresses of a name, as `dns.lookup` returns them. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface SenderOptions {
  /** Allows private addresses and plain HTTP. @default false */
  readonly allowPrivate?: boolean;
  /** Milliseconds from name resolution to the last response header. @default 15_000 */
  readonly timeoutMs?: number;
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** Which addresses may be reached. @default all with `allowPrivate`, else public ones */
  readonly mayReach?: (address: string) => boolean;
}

export interface DeliveryResponse {
  readonly status: number;
  /** The Retry-After header (seconds) in milliseconds, or null. */
  readonly retryAfterMs: number | null;
  readonly date: Date | null;
}

const TIMEOUT_MS = 15_000;
/** Share of the timeout for name resolution. A slower resolver is our own fault. */
const RESOLVED_WITHIN = 2 / 3;
/** Response bodies are only drained, so that the connection can be reused. A longer one closes it. */
const DRAINED_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Posts to URLs chosen by others. A name is resolved once, every address is checked, and only those are used,
 * which prevents DNS rebinding. Redirects are not followed.
 */
export class WebhookSender {
  readonly #allowPrivate: boolean;
  readonly #timeoutMs: number;
  readonly #agent: Agent;

  constructor(options: SenderOptions = {}) {
    const { allowPrivate = false, timeoutMs = TIMEOUT_MS, resolve = resolveBySystem } = options;
    const { mayReach = allowPrivate ? () => true : isPublicAddress } = options;
    const inTime = withinTime(oneAtATime(resolve), timeoutMs * RESOLVED_WITHIN);
    this.#allowPrivate = allowPrivate;
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({
      maxHeaderSize: MAX_HEADER_BYTES,
      // With `autoSelectFamily` the caller requests all addresses, the form in which `lookup` returns them.
      autoSelectFamily: true,
      connect: {
        lookup: (hostname, _options, done) =>
          callbackify(() => judged(hostname, inTime, mayReach))((error, found) => done(error, found)),
      },
    });
  }

  /**
   * Returns the answer, whatever its status. Throws an Error with one sentence if there is none, and {@link
   * OwnFault} for a fault of our own.
   */
  async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<DeliveryResponse> {
    const fault = faultOfUrl(url, this.#allowPrivate);
    if (fault !== null) throw new Error(`the URL ${fault}`);
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'sluice' },
        body,
        dispatcher: this.#agent,
        signal: deadline,
      });
      await answer.body.dump({ limit: DRAINED_BYTES, signal: deadline }).catch(() => undefined);
      return {
        status: answer.statusCode,
        retryAfterMs: retryAfterOf(answer.headers['retry-after']),
        date: dateOf(answer.headers.date),
      };
    } catch (error) {
      if (deadline.aborted) throw new Error(`no answer in ${this.#timeoutMs} ms`, { cause: error });
      const sentence = sentenceOf(error);
      throw isOwnFault(error)
        ? new OwnFault(sentence, { cause: error })
        : new Error(sentence, { cause: error });
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** The addresses of a name, at least one. Throws if any of them is not allowed. */
async function judged(
  hostname: string,
  resolve: Resolve,
  mayReach: (address: string) => boolean,
): Promise<LookupAddress[]> {
  const found = await resolve(hostname);
  if (found.length === 0) throw new Error(`${hostname} has no address`);
  if (found.some(({ address }) => !mayReach(address)))
    throw new Error(`${hostname} has an address that is not public`);
  return [...found];
}

function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return systemLookup(hostname, { all: true });
}

/**
 * Concurrent lookups of a name share one request. A silent name server would block both resolver threads, and
 * then no other endpoint or Solana node could be resolved.
 */
function oneAtATime(resolve: Resolve): Resolve {
  const pending = new Map<string, ReturnType<Resolve>>();
  return (hostname) => {
    const answer = pending.get(hostname) ?? resolve(hostname).finally(() => pending.delete(hostname));
    pending.set(hostname, answer);
    return answer;
  };
}

/** Limits the wait for the resolver, which cannot be cancelled. Throws OwnFault. */
function withinTime(resolve: Resolve, withinMs: number): Resolve {
  return async (hostname) => {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      const fault = new OwnFault(`no DNS resolver returned an address of ${hostname} within ${withinMs} ms`);
      timer = setTimeout(() => reject(fault), withinMs);
    });
    return Promise.race([resolve(hostname), silence]).finally(() => clearTimeout(timer));
  };
}

function dateOf(header: string | string[] | undefined): Date | null {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time);
}

function retryAfterOf(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : Number.NaN;
  return Number.isNaN(seconds) ? null : seconds * 1_000;
}

/** Contains no internal address: alerts quote it, and every endpoint receives alerts. */
function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return sentenceOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if ('syscall' in error && 'code' in error) return `${String(error.syscall)} ${String(error.code)}`;
  return error.message || ('code' in error ? String(error.code) : error.name);
}
