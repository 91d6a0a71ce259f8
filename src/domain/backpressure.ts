/**
 * So many may be unsent whatever is measured: they are signed within half the life of a blockhash even where each takes a second. Where they
 * are not, attempts die, and {@link unsentAllowed} lowers it.
 */
export const USUAL_UNSENT = 32;
/** One that dies for other reasons must not stop all; nor must as many as there may be that wait for their signer for days. */
const FEWEST_UNSENT = 2;
/** A bound of what dies with a signer that stops at once. */
const MOST_UNSENT = 2_048;
/** Half a life of a blockhash: the other half is for sending. */
const SIGNING_BLOCKS = 75;
const SIGNINGS_KEPT = 32;
const FEWEST_SIGNINGS = 8;

/** Attempts that are prepared and not on their way: `living`, and `overdue` ones since the signer has last signed any. */
export interface Unsent {
  readonly living: number;
  readonly overdue: number;
}

/** The newest attempts that have ended. */
export interface Ends {
  readonly ended: number;
  readonly dead: number;
}

/** The newest signatures of one kind that this process has stored. Times are milliseconds of one monotonic clock. */
export interface Signings {
  readonly count: number;
  /** Mean time from the row of the attempt to its signature. */
  readonly latencyMs: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Keeps the newest signings of each kind of settlement. */
export class SigningTimes {
  readonly #newest = new Map<string, readonly { readonly at: number; readonly tookMs: number }[]>();

  add(kind: string, at: number, tookMs: number): void {
    const signing = { at, tookMs: Math.max(1, tookMs) };
    this.#newest.set(kind, [...(this.#newest.get(kind) ?? []), signing].slice(-SIGNINGS_KEPT));
  }

  /** Null while there are too few to go by. */
  measured(kind: string): Signings | null {
    const newest = this.#newest.get(kind) ?? [];
    const [first, last] = [newest[0], newest.at(-1)];
    const count = newest.length;
    if (first === undefined || last === undefined || count < FEWEST_SIGNINGS) return null;
    const latencyMs = newest.reduce((sum, { tookMs }) => sum + tookMs, 0) / count;
    return { count, latencyMs, firstAt: first.at, lastAt: last.at };
  }
}

/**
 * How many attempts get signed within half a life of a blockhash, of blocks of `msPerBlock`: by the rate at which they were signed, and at least one
 * after the other by the latency of one. {@link USUAL_UNSENT} at least. While attempts have waited for `waitedMs` and none was signed, that wait is the latency.
 */
export function unsentServed(signings: Signings | null, msPerBlock: number, waitedMs: number): number {
  if (signings === null) return USUAL_UNSENT;
  const { count, latencyMs, firstAt, lastAt } = signings;
  const oneByOne = 1 / Math.max(latencyMs, waitedMs);
  const together = (count - 1) / Math.max(1, lastAt - firstAt + waitedMs);
  const served = Math.round(SIGNING_BLOCKS * msPerBlock * Math.max(oneByOne, together));
  return Math.min(MOST_UNSENT, Math.max(USUAL_UNSENT, served));
}

/**
 * How many attempts may be prepared and not yet sent, of `served` ones, by the newest that have ended: the more of them died, the fewer get on
 * their way in time, and the fewer are begun. With as many as land it grows again.
 */
export function unsentAllowed({ ended, dead }: Ends, served: number): number {
  if (ended === 0) return served;
  return Math.max(FEWEST_UNSENT, Math.round((served * (ended - dead)) / ended));
}

/** Whether another attempt may begin. A few may always live: else nobody would learn that the signer signs again. */
export function mayBegin({ living, overdue }: Unsent, ends: Ends, served: number): boolean {
  return living < FEWEST_UNSENT || living + overdue < unsentAllowed(ends, served);
}
