import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { callbackify } from 'node:util';
import { Agent, request } from '../shims/undici.ts';
import { isOwnFault, OwnFault } from './local-failure.ts';
import { faultOfUrl, isPublicAddress } from './public-address.ts';

/** All addresses of a name, as `dns.lookup` gives them. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface SenderOptions {
  /** Also to private addresses and by plain http. @default false */
  readonly allowPrivate?: boolean;
  /** From the first look at the name to the last header of the answer. @default 15_000 */
  readonly timeoutMs?: number;
  /** @default the system's */
  readonly resolve?: Resolve;
  /** Which addresses may be reached. @default all where `allowPrivate`, else those that are public */
  readonly mayReach?: (address: string) => boolean;
}

export interface Answer {
  readonly status: number;
  /** How long the receiver asks to be left alone, by its Retry-After in seconds; null where it does not. */
  readonly retryAfterMs: number | null;
  /** What the receiver's clock says; null where it does not tell. */
  readonly date: Date | null;
}

const TIMEOUT_MS = 15_000;
/** The part of it in which a resolver must answer: one that is silent is ours. */
const RESOLVED_WITHIN = 2 / 3;
/** An answer is not read, only drained so that its connection can serve again; what is longer costs the connection. */
const DRAINED_BYTES = 16 * 1024;
const MOST_HEADER_BYTES = 16 * 1024;

/**
 * Posts to URLs that somebody else chose. A name is resolved once, every address is judged, and the connection goes to one of those
 * very addresses: a name that means another address a moment later reaches nothing. Redirects are answers, not followed.
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
      maxHeaderSize: MOST_HEADER_BYTES,
      // Whoever selects the family asks for all addresses, the form in which they are answered.
      autoSelectFamily: true,
      connect: {
        lookup: (hostname, _options, done) =>
          callbackify(() => judged(hostname, inTime, mayReach))((error, found) => done(error, found)),
      },
    });
  }

  /**
   * The answer, whatever its status. Throws an Error with one sentence where none came in time, or where nothing may be sent, and an
   * {@link OwnFault} where that says nothing of the receiver.
   */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
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

/** The addresses of a name, at least one, all of them fit to be reached. */
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
 * Whoever asks for a name that is being asked for has that answer. A resolver is asked in one of two threads, and one that is silent
 * of one name would have both: no other endpoint, and no Solana node, would be found any more.
 */
function oneAtATime(resolve: Resolve): Resolve {
  const asked = new Map<string, ReturnType<Resolve>>();
  return (hostname) => {
    const answer = asked.get(hostname) ?? resolve(hostname).finally(() => asked.delete(hostname));
    asked.set(hostname, answer);
    return answer;
  };
}

/** The resolver, or the fault that it is silent: it cannot be asked to stop. */
function withinTime(resolve: Resolve, withinMs: number): Resolve {
  return async (hostname) => {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      const fault = new OwnFault(`no resolver tells the address of ${hostname} in ${withinMs} ms`);
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

/** Names no address of this network: alerts say it, and those are told to every endpoint. */
function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return sentenceOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if ('syscall' in error && 'code' in error) return `${String(error.syscall)} ${String(error.code)}`;
  return error.message || ('code' in error ? String(error.code) : error.name);
}
