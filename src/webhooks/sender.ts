import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { callbackify } from 'node:util';
import { Agent, request } from '../shims/undici.ts';
import { faultOfUrl, isPublicAddress } from './public-address.ts';

/** A fault of this machine (its resolver, network, clock or keys), not of the receiver, which stopped a request. */
export class OwnFault extends Error {
  override readonly name = 'OwnFault';
}

/** Error codes for faults of this machine. An unknown host name or a refused connection is the receiver's fault. */
const OWN_FAULT_CODES: ReadonlySet<unknown> = new Set([
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

/** An AggregateError has one error for each address: it is our own fault only if all of them are. */
function isOwnFault(error: unknown): boolean {
  if (error instanceof OwnFault) return true;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOwnFault);
  return error instanceof Error && 'code' in error && OWN_FAULT_CODES.has(error.code);
}

/** Returns all addresses of a host name, as `dns.lookup` does. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface SenderOptions {
  /** Allows private addresses and plain HTTP. @default false */
  readonly allowPrivate?: boolean;
  /** Milliseconds from name resolution to the last response header. @default 15_000 */
  readonly timeoutMs?: number;
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** True for an address that requests may be sent to. @default all with `allowPrivate`, else public addresses */
  readonly mayReach?: (address: string) => boolean;
}

export interface DeliveryResponse {
  readonly status: number;
  /** The header Retry-After, converted from seconds; null if it is absent or is not a number. */
  readonly retryAfterMs: number | null;
  readonly date: Date | null;
}

const TIMEOUT_MS = 15_000;
/** Share of the timeout for name resolution. A slower resolver is our own fault. */
const RESOLVER_SHARE = 2 / 3;
/** Response bodies are read only so that the connection can be reused. A longer body closes the connection. */
const MAX_DRAINED_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Posts to untrusted URLs. A host name is resolved once for each connection, and the connection uses only the addresses
 * that were checked, which prevents DNS rebinding. Redirects are not followed.
 */
export class WebhookSender {
  readonly #allowPrivate: boolean;
  readonly #timeoutMs: number;
  readonly #agent: Agent;

  constructor(options: SenderOptions = {}) {
    const { allowPrivate = false, timeoutMs = TIMEOUT_MS, resolve = resolveBySystem } = options;
    const { mayReach = allowPrivate ? () => true : isPublicAddress } = options;
    const resolveInTime = withTimeout(shareLookups(resolve), timeoutMs * RESOLVER_SHARE);
    this.#allowPrivate = allowPrivate;
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({
      maxHeaderSize: MAX_HEADER_BYTES,
      // With `autoSelectFamily` the caller requests all addresses, the form in which `lookup` returns them.
      autoSelectFamily: true,
      connect: {
        lookup: (hostname, _options, done) =>
          callbackify(() => resolveAllowed(hostname, resolveInTime, mayReach))((error, found) =>
            done(error, found),
          ),
      },
    });
  }

  /**
   * Returns the response, whatever its status. Without a response, throws an Error with one sentence, or an
   * {@link OwnFault} if this machine is at fault.
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
      await answer.body.dump({ limit: MAX_DRAINED_BYTES, signal: deadline }).catch(() => undefined);
      return {
        status: answer.statusCode,
        retryAfterMs: retryAfterMsOf(answer.headers['retry-after']),
        date: dateOf(answer.headers.date),
      };
    } catch (error) {
      if (deadline.aborted) throw new Error(`no response within ${this.#timeoutMs} ms`, { cause: error });
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

/** Returns the addresses of a name, at least one. Throws if any of them is not allowed. */
async function resolveAllowed(
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
 * Concurrent lookups of a name share one request. Otherwise a silent name server could block all resolver threads, and
 * no other endpoint or Solana node could be resolved.
 */
function shareLookups(resolve: Resolve): Resolve {
  const pending = new Map<string, ReturnType<Resolve>>();
  return (hostname) => {
    const answer = pending.get(hostname) ?? resolve(hostname).finally(() => pending.delete(hostname));
    pending.set(hostname, answer);
    return answer;
  };
}

/** Limits the wait for the resolver, whose lookups cannot be cancelled. Throws OwnFault at the timeout. */
function withTimeout(resolve: Resolve, timeoutMs: number): Resolve {
  return async (hostname) => {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      const fault = new OwnFault(`no DNS resolver returned an address of ${hostname} within ${timeoutMs} ms`);
      timer = setTimeout(() => reject(fault), timeoutMs);
    });
    return Promise.race([resolve(hostname), timeout]).finally(() => clearTimeout(timer));
  };
}

function dateOf(header: string | string[] | undefined): Date | null {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time);
}

function retryAfterMsOf(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : Number.NaN;
  return Number.isNaN(seconds) ? null : seconds * 1_000;
}

/** The text has no internal address, because alerts quote it and every endpoint receives alerts. */
function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return sentenceOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if ('syscall' in error && 'code' in error) return `${String(error.syscall)} ${String(error.code)}`;
  return error.message || ('code' in error ? String(error.code) : error.name);
}
