/**
 * Number of unsent attempts that needs no measurement: at one second for each signature, all are signed within half the
 * validity window of a blockhash. If the signer is slower, attempts end as dead, and {@link maxUnsentAttempts} lowers
 * the limit.
 */
export const DEFAULT_SIGNER_CAPACITY = 32;
/**
 * At least two, so that a single attempt that ends as dead, or waits for its signer for days, does not stop all others.
 */
const MIN_UNSENT = 2;
/** Limits the number of attempts that end as dead if the signer stops. */
const MAX_UNSENT = 2_048;
/** Half the validity window of a blockhash. The other half is left for sending. */
const SIGNING_BLOCKS = 75;
const MAX_SAMPLES = 32;
const MIN_SAMPLES = 8;

/**
 * Numbers of prepared attempts that are not sent: `living` ones can still land, `overdue` ones expired without a
 * signature.
 */
export interface UnsentCounts {
  readonly living: number;
  readonly overdue: number;
}

/** Of the attempts that ended most recently: the number of all, and of dead ones. */
export interface EndedCounts {
  readonly ended: number;
  readonly dead: number;
}

/** Statistics of the newest signatures of one settlement kind in this process. Times are ms of one monotonic clock. */
export interface SigningStatistics {
  readonly count: number;
  /** Mean time from the insert of the attempt to its signature. */
  readonly latencyMs: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

export class SigningTimes {
  readonly #samples = new Map<string, readonly { readonly at: number; readonly tookMs: number }[]>();

  add(kind: string, at: number, tookMs: number): void {
    const signing = { at, tookMs: Math.max(1, tookMs) };
    this.#samples.set(kind, [...(this.#samples.get(kind) ?? []), signing].slice(-MAX_SAMPLES));
  }

  /** Statistics of a settlement kind; null below the minimum number of samples. */
  measured(kind: string): SigningStatistics | null {
    const samples = this.#samples.get(kind) ?? [];
    const [first, last] = [samples[0], samples.at(-1)];
    const count = samples.length;
    if (first === undefined || last === undefined || count < MIN_SAMPLES) return null;
    const latencyMs = samples.reduce((sum, { tookMs }) => sum + tookMs, 0) / count;
    return { count, latencyMs, firstAt: first.at, lastAt: last.at };
  }
}

/**
 * Number of attempts that the signer can sign within half the validity window of a blockhash; at least
 * {@link DEFAULT_SIGNER_CAPACITY}. Uses the better of two rates: the measured one, and one signature after another at
 * the mean latency. `waitedMs`: how long attempts have waited for the next signature, which lowers both rates.
 */
export function signerCapacityOf(
  signings: SigningStatistics | null,
  msPerBlock: number,
  waitedMs: number,
): number {
  if (signings === null) return DEFAULT_SIGNER_CAPACITY;
  const { count, latencyMs, firstAt, lastAt } = signings;
  const sequentialRate = 1 / Math.max(latencyMs, waitedMs);
  const parallelRate = (count - 1) / Math.max(1, lastAt - firstAt + waitedMs);
  const signerCapacity = Math.round(SIGNING_BLOCKS * msPerBlock * Math.max(sequentialRate, parallelRate));
  return Math.min(MAX_UNSENT, Math.max(DEFAULT_SIGNER_CAPACITY, signerCapacity));
}

/**
 * Maximum number of unsent attempts: `signerCapacity`, scaled down by the share of dead attempts among the newest
 * ended.
 */
export function maxUnsentAttempts({ ended, dead }: EndedCounts, signerCapacity: number): number {
  if (ended === 0) return signerCapacity;
  return Math.max(MIN_UNSENT, Math.round((signerCapacity * (ended - dead)) / ended));
}

/** Whether another attempt may begin. Two may always begin, so that Sluice detects when the signer works again. */
export function mayBeginAttempt(
  { living, overdue }: UnsentCounts,
  ends: EndedCounts,
  signerCapacity: number,
): boolean {
  return living < MIN_UNSENT || living + overdue < maxUnsentAttempts(ends, signerCapacity);
}
