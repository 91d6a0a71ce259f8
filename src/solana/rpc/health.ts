/**
 * How well a node serves. Times are milliseconds of one clock, rates 0 to 1.
 * `lagSlots` counts behind the other nodes, at processed or finalized, whichever is worse; negative: ahead of them; null until it
 * was compared.
 */
export interface Health {
  readonly errorRate: number;
  readonly faultsInARow: number;
  readonly pause: Pause | null;
  readonly latencyMs: number | null;
  readonly lagSlots: bigint | null;
  /** Until when it counts as slow. */
  readonly slowUntil: number | null;
  /** Until when it is believed less than any other. */
  readonly falseWord: FalseWord | null;
}

/** Until when a node is asked last that has shown what a quorum denies. */
export interface FalseWord {
  readonly until: number;
  readonly reason: string;
}

/** Until when a node is avoided. One that `asked` for it (Retry-After) is not asked at all, others are asked last. */
export interface Pause {
  readonly until: number;
  readonly reason: string;
  readonly asked: boolean;
}

/** Why a node is not among the first to be asked. */
export interface Demotion {
  readonly cause: 'retry-after' | 'fault' | 'lag' | 'ahead' | 'slow' | 'false' | 'silent' | 'refused';
  readonly reason: string;
}

/** A fault as it counts here. */
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
/** It is tried again then: some questions that are asked twice tell whether it still is. */
const SLOW_MS = 60_000;
const FALSE_MS = 600_000;
/** Share of the newest answer in the error rate, and of the newest probe in the latency. */
const NEWEST = 0.1;
const NEWEST_LATENCY = 0.3;
/** The distance at which a node calls itself unhealthy since Agave 2.0. So far ahead of the others, it is hardly true. */
const DEMOTING_LAG_SLOTS = 128n;

/** After an answer that the node had no part in spoiling. A pause that it asked for goes on. */
export function afterAnswer(health: Health): Health {
  return {
    ...health,
    errorRate: health.errorRate * (1 - NEWEST),
    faultsInARow: 0,
    pause: health.pause?.asked === true ? health.pause : null,
  };
}

/** After a fault: avoided for as long as the node asked, else twice as long with each fault in a row. */
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

/** After another node, asked later, has answered sooner. */
export function afterOvertaking(health: Health, now: number): Health {
  return { ...health, slowUntil: now + SLOW_MS };
}

/** After a quorum has denied what it showed: whatever it answers meanwhile. */
export function afterFalseWord(health: Health, reason: string, now: number): Health {
  return { ...health, falseWord: { until: now + FALSE_MS, reason } };
}

/** After a probe that took so long. */
export function afterProbe(health: Health, latencyMs: number): Health {
  const before = health.latencyMs ?? latencyMs;
  return { ...health, latencyMs: before + (latencyMs - before) * NEWEST_LATENCY };
}

/**
 * 0 to 100, more is better: lag takes up to 40 points (one for 4 slots), errors up to 40, latency up to 20 (one for 250 ms).
 * So coarse that nodes which are equally good keep their order.
 */
export function scoreOf({ lagSlots, errorRate, latencyMs }: Health): number {
  const lag = Math.min(40, Math.max(0, Math.floor(Number(lagSlots ?? 0n) / 4)));
  const errors = Math.round(40 * errorRate);
  const latency = Math.min(20, Math.floor((latencyMs ?? 0) / 250));
  return 100 - lag - errors - latency;
}

/** Why a node is asked last, or not at all, now; null where nothing speaks against it. */
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
