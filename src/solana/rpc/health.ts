import type { Clock } from './probe.ts';

/**
 * Causes for which a node is asked last for some time, or not at all (`retry-after`). A report names the first that
 * applies.
 */
const AVOIDANCE_CAUSES = ['retry-after', 'false', 'fault', 'slow'] as const;

type AvoidanceCause = (typeof AVOIDANCE_CAUSES)[number];

export interface Demotion {
  readonly cause: AvoidanceCause | 'lag' | 'silent' | 'refused';
  readonly reason: string;
}

const BASE_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** After this time the node is asked as usual again. A hedged request detects whether the node is still slow. */
const SLOW_NODE_PAUSE_MS = 60_000;
const FALSE_ANSWER_PAUSE_MS = 600_000;
/** Weight of the newest answer in the error rate, and of the newest probe in the latency. */
const NEWEST_RESULT_WEIGHT = 0.1;
const NEWEST_LATENCY_WEIGHT = 0.3;
/** The lag at which Agave 2.0 and later report themselves unhealthy. A node this far ahead is probably wrong. */
const MAX_LAG_SLOTS = 128n;

/** A node's score for the order of requests, and the causes for which the node is avoided. */
export class NodeHealth {
  /** Finalized slots behind the other nodes; negative if ahead; null until the first comparison. */
  lagSlots: bigint | null = null;
  /** Running share of failed requests, 0 to 1. */
  errorRate = 0;
  latencyMs: number | null = null;
  readonly #now: Clock;
  readonly #avoidances = new Map<AvoidanceCause, { readonly until: number; readonly reason: string }>();
  #consecutiveFaults = 0;

  constructor(now: Clock) {
    this.#now = now;
  }

  /** A successful answer ends only the pause after a fault. */
  recordAnswer(): void {
    this.errorRate *= 1 - NEWEST_RESULT_WEIGHT;
    this.#consecutiveFaults = 0;
    this.#avoidances.delete('fault');
  }

  /** Avoids the node for `retryAfterMs`, or else for a pause that doubles with each consecutive fault. */
  recordFault(reason: string, retryAfterMs: number | null = null): void {
    const backoff = Math.min(MAX_PAUSE_MS, BASE_PAUSE_MS * 2 ** this.#consecutiveFaults);
    this.errorRate = this.errorRate * (1 - NEWEST_RESULT_WEIGHT) + NEWEST_RESULT_WEIGHT;
    this.#consecutiveFaults += 1;
    if (retryAfterMs === null) this.#avoid('fault', reason, backoff);
    else this.#avoid('retry-after', reason, retryAfterMs);
  }

  /** Another node, which was asked later, has answered first. The node's answers are still trusted. */
  recordOvertaken(): void {
    this.#avoid(
      'slow',
      'is slower than another node, which was asked a second later and answered first',
      SLOW_NODE_PAUSE_MS,
    );
  }

  /** A quorum contradicted an answer of the node. */
  recordFalseAnswer(reason: string): void {
    this.#avoid('false', reason, FALSE_ANSWER_PAUSE_MS);
  }

  recordLatency(latencyMs: number): void {
    const before = this.latencyMs ?? latencyMs;
    this.latencyMs = before + (latencyMs - before) * NEWEST_LATENCY_WEIGHT;
  }

  /**
   * 0 to 100, higher is better. Lag takes up to 40 points (one per 4 slots), errors up to 40, latency up to 20 (one
   * per 250 ms). The steps are coarse, so that equally good nodes keep their order.
   */
  get score(): number {
    const lag = Math.min(40, Math.max(0, Math.floor(Number(this.lagSlots ?? 0n) / 4)));
    const errors = Math.round(40 * this.errorRate);
    const latency = Math.min(20, Math.floor((this.latencyMs ?? 0) / 250));
    return 100 - lag - errors - latency;
  }

  /** Why the node is asked last, or not at all; null if its score alone decides. */
  get demotion(): Demotion | null {
    const now = this.#now();
    for (const cause of AVOIDANCE_CAUSES) {
      const avoided = this.#avoidances.get(cause);
      if (avoided !== undefined && avoided.until > now) return { cause, reason: avoided.reason };
    }
    const lag = this.lagSlots ?? 0n;
    if (lag > MAX_LAG_SLOTS) return { cause: 'lag', reason: `is ${lag} slots behind the other nodes` };
    if (lag >= -MAX_LAG_SLOTS) return null;
    return { cause: 'lag', reason: `reports ${-lag} slots more than the other nodes` };
  }

  /** Never shortens a pause with the same cause. */
  #avoid(cause: AvoidanceCause, reason: string, forMs: number): void {
    const until = this.#now() + forMs;
    if ((this.#avoidances.get(cause)?.until ?? 0) <= until) this.#avoidances.set(cause, { until, reason });
  }
}
