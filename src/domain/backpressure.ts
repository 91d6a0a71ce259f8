/**
 * Unsent attempts that are always allowed: even at one second a signature they are signed within half the life of a
 * blockhash. If they are not, attempts die, and {@link unsentAllowed} lowers the limit.
 */
export const USUAL_UNSENT = 32;
/** Single attempts that die for other reasons, or wait for a signer for days, must not stop all others. */
const MIN_UNSENT = 2;
/** Limits how many attempts die if the signer stops. */
const MAX_UNSENT = 2_048;
/** Half the life of a blockhash. The other half is for sending. */
const SIGNING_BLOCKS = 75;
const SIGNINGS_KEPT = 32;
const MIN_SIGNINGS = 8;

/** Attempts that are prepared but not sent: `living` ones, and those `overdue` since the signer's last signature. */
export interface Unsent {
  readonly living: number;
  readonly overdue: number;
}

/** Counts among the newest ended attempts. */
export interface Ends {
  readonly ended: number;
  readonly dead: number;
}

/** Statistics of the newest signatures of one kind that this process stored. Milliseconds of one monotonic clock. */
export interface Signings {
  readonly count: number;
  /** Mean time from the insert of the attempt to its signature. */
  readonly latencyMs: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

export class SigningTimes {
  readonly #newest = new Map<string, readonly { readonly at: number; readonly tookMs: number }[]>();

  add(kind: string, at: number, tookMs: number): void {
    const signing = { at, tookMs: Math.max(1, tookMs) };
    this.#newest.set(kind, [...(this.#newest.get(kind) ?? []), signing].slice(-SIGNINGS_KEPT));
  }

  /** Null below the minimum number of samples. */
  measured(kind: string): Signings | null {
    const newest = this.#newest.get(kind) ?? [];
    const [first, last] = [newest[0], newest.at(-1)];
    const count = newest.length;
    if (first === undefined || last === undefined || count < MIN_SIGNINGS) return null;
    const latencyMs = newest.reduce((sum, { tookMs }) => sum + tookMs, 0) / count;
    return { count, latencyMs, firstAt: first.at, lastAt: last.at };
  }
}

/**
 * Number of attempts that the signer can sign within half the life of a blockhash, with blocks of `msPerBlock`.
 * Uses the better of the measured rate and of sequential signing at the mean latency; at least
 * {@link USUAL_UNSENT}. If attempts have waited for `waitedMs` without a signature, that wait is the latency.
 */
export function unsentServed(signings: Signings | null, msPerBlock: number, waitedMs: number): number {
  if (signings === null) return USUAL_UNSENT;
  const { count, latencyMs, firstAt, lastAt } = signings;
  const oneByOne = 1 / Math.max(latencyMs, waitedMs);
  const together = (count - 1) / Math.max(1, lastAt - firstAt + waitedMs);
  const served = Math.round(SIGNING_BLOCKS * msPerBlock * Math.max(oneByOne, together));
  return Math.min(MAX_UNSENT, Math.max(USUAL_UNSENT, served));
}

/** Limit of unsent attempts: `served`, reduced by the share of dead ones among the newest ended attempts. */
export function unsentAllowed({ ended, dead }: Ends, served: number): number {
  if (ended === 0) return served;
  return Math.max(MIN_UNSENT, Math.round((served * (ended - dead)) / ended));
}

/** Whether another attempt may begin. A few may always begin: they detect that the signer works again. */
export function mayBegin({ living, overdue }: Unsent, ends: Ends, served: number): boolean {
  return living < MIN_UNSENT || living + overdue < unsentAllowed(ends, served);
}
