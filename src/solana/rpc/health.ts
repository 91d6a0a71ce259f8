/**
 * How well a node serves. Times are milliseconds of one clock, rates 0 to 1.
 * `lagSlots`: slots behind the other nodes, at processed or finalized, whichever is worse; negative if ahead; null
 * until compared.
 */
export interface Health {
  readonly errorRate: number;
  readonly faultsInARow: number;
  readonly pause: Pause | null;
  readonly latencyMs: number | null;
  readonly lagSlots: bigint | null;
  readonly slowUntil: number | null;
  readonly falseWord: DisprovedAnswer | null;
}

/** Until when a node is asked last, because a quorum contradicted its answer. */
export interface DisprovedAnswer {
  readonly until: number;
  readonly reason: string;
}

/** Until when a node is avoided. With `asked` (Retry-After) it is not asked at all, otherwise it is asked last. */
export interface Pause {
  readonly until: number;
  readonly reason: string;
  readonly asked: boolean;
}

export interface Demotion {
  readonly cause: 'retry-after' | 'fault' | 'lag' | 'ahead' | 'slow' | 'false' | 'silent' | 'refused';
  readonly reason: string;
}

export interface Fault {
  readonly reason: string;
  readonly retryAfterMs: number | null;
}

export const UNKNOWN_HEALTH: Health = {
  errorRate: 0,
  faultsInARow: 0,
  pause: null,
  latencyMs: null,
  lagSlots: null,
  slowUntil: null,
  falseWord: null,
};

const BASE_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** After this time the node is tried again: hedged requests show whether it is still slow. */
const SLOW_MS = 60_000;
const FALSE_MS = 600_000;
/** Weight of the newest answer in the error rate, and of the newest probe in the latency. */
const NEWEST = 0.1;
const NEWEST_LATENCY = 0.3;
/** The lag at which a node reports itself unhealthy since Agave 2.0. A node this far ahead is probably wrong. */
const DEMOTING_LAG_SLOTS = 128n;

/** Health after a successful answer. A pause that the node asked for continues. */
export function afterAnswer(health: Health): Health {
  return {
    ...health,
    errorRate: health.errorRate * (1 - NEWEST),
    faultsInARow: 0,
    pause: health.pause?.asked === true ? health.pause : null,
  };
}

/** Health after a fault: avoided for as long as the node asked, else twice as long with each consecutive fault. */
export function afterFault(health: Health, { reason, retryAfterMs }: Fault, now: number): Health {
  const backoff = Math.min(MAX_PAUSE_MS, BASE_PAUSE_MS * 2 ** health.faultsInARow);
  const fresh = { until: now + (retryAfterMs ?? backoff), reason, asked: retryAfterMs !== null };
  const older = health.pause;
  return {
    ...health,
    errorRate: health.errorRate * (1 - NEWEST) + NEWEST,
    faultsInARow: health.faultsInARow + 1,
    pause: older?.asked === true && older.until > fresh.until ? older : fresh,
  };
}

export function afterOvertaking(health: Health, now: number): Health {
  return { ...health, slowUntil: now + SLOW_MS };
}

/** Health after a quorum contradicted an answer of the node; later answers do not end it. */
export function afterDisprovedAnswer(health: Health, reason: string, now: number): Health {
  return { ...health, falseWord: { until: now + FALSE_MS, reason } };
}

export function afterProbe(health: Health, latencyMs: number): Health {
  const before = health.latencyMs ?? latencyMs;
  return { ...health, latencyMs: before + (latencyMs - before) * NEWEST_LATENCY };
}

/**
 * 0 to 100, higher is better. Lag takes up to 40 points (one per 4 slots), errors up to 40, latency up to 20 (one per
 * 250 ms). The steps are coarse, so that equally good nodes keep their order.
 */
export function scoreOf({ lagSlots, errorRate, latencyMs }: Health): number {
  const lag = Math.min(40, Math.max(0, Math.floor(Number(lagSlots ?? 0n) / 4)));
  const errors = Math.round(40 * errorRate);
  const latency = Math.min(20, Math.floor((latencyMs ?? 0) / 250));
  return 100 - lag - errors - latency;
}

/** Why a node is asked last, or not at all; null if it is among the first. */
export function demotionOf({ pause, lagSlots, slowUntil, falseWord }: Health, now: number): Demotion | null {
  const paused = pause !== null && pause.until > now ? pause : null;
  if (paused?.asked === true) return { cause: 'retry-after', reason: paused.reason };
  if (falseWord !== null && falseWord.until > now) return { cause: 'false', reason: falseWord.reason };
  if (paused !== null) return { cause: 'fault', reason: paused.reason };
  if (lagSlots !== null && lagSlots > DEMOTING_LAG_SLOTS) {
    return { cause: 'lag', reason: `lags ${lagSlots} slots behind` };
  }
  if (lagSlots !== null && lagSlots < -DEMOTING_LAG_SLOTS) {
    return { cause: 'ahead', reason: `claims to be ${-lagSlots} slots ahead of the others` };
  }
  if (slowUntil !== null && slowUntil > now) {
    return { cause: 'slow', reason: 'answers later than another one that is asked a second after it' };
  }
  return null;
}
