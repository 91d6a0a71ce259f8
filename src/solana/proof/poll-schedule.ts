import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfirmedSlots } from '../rpc/confirmed-slots.ts';
import { STATUSES_PER_CALL } from './statuses.ts';
import type { Watch } from './watch.ts';

export interface PollScheduleOptions {
  readonly pollMs: number;
  /** Poll interval while a caller waits for `confirmed`, unless `slots` are live. */
  readonly awaitedPollMs: number;
  /** While they are live, attempts that callers wait for are polled when a slot is confirmed. Default: none. */
  readonly slots?: Pick<ConfirmedSlots, 'listen' | 'isLive' | 'openSlot'> | undefined;
}

/** Time that a node takes after a notification to report the statuses of the slot. */
const NOTIFICATION_LAG_MS = 5;
/** Factor on the poll interval of awaited attempts while notifications arrive, which are about as frequent as polls. */
const NOTIFIED_INTERVAL_FACTOR = 2;
/** A false node can send any number of notifications. */
const MIN_NOTIFIED_INTERVAL_MS = 100;
/** Factor on the poll interval of a confirmed attempt that is too young to be final. */
const YOUNG_INTERVAL_FACTOR = 5;
/** An attempt is too young to be final for this share of the time that the previous attempt took. */
const YOUNG_TIME_SHARE = 0.8;

/** Decides when the statuses of watched attempts are polled. Times are on the clock of `performance.now()`. */
export class PollSchedule {
  readonly #options: PollScheduleOptions;
  /** A watch that begins later is first polled with the others, or as early as if it had begun now. */
  #begunAt = 0;
  #notifiedAt = 0;
  #confirmedSlot = 0;
  /** Time from the start of a watch to the poll that reported the attempt as finalized, for the newest such attempt. */
  #finalAfterMs = 0;
  #waitAbort = new AbortController();

  constructor(options: PollScheduleOptions) {
    this.#options = options;
  }

  /** The first slot in which a transaction that is sent now can land; 0 if it is unknown. */
  get openSlot(): number {
    return this.#options.slots?.openSlot ?? 0;
  }

  /** Runs `polls` while notifications of confirmed slots wake {@link untilDue}. */
  async during(polls: () => Promise<void>): Promise<void> {
    this.#begunAt = performance.now();
    const stopListening = this.#options.slots?.listen((slot) => {
      this.#notifiedAt = performance.now();
      this.#confirmedSlot = slot;
      this.wake();
    });
    await polls().finally(() => stopListening?.());
  }

  /** Recalculates the end of a running {@link untilDue}, for example after a watch was added. */
  wake(): void {
    this.#waitAbort.abort();
  }

  recordFinal(watch: Watch): void {
    this.#finalAfterMs = performance.now() - watch.startedAt;
  }

  /**
   * Waits until a poll can report a change of one of `watches`, and returns those that are due. If the last call of the
   * poll has room, others are returned too, except awaited ones: they are due next. None if there are no watches.
   */
  async untilDue(watches: ReadonlySet<Watch>): Promise<readonly Watch[]> {
    while (watches.size > 0) {
      let dueAt = Number.POSITIVE_INFINITY;
      for (const watch of watches) dueAt = Math.min(dueAt, this.#dueAt(watch));
      const waitMs = dueAt - performance.now();
      if (waitMs <= 0) break;
      this.#waitAbort = new AbortController();
      await sleep(waitMs, undefined, { signal: this.#waitAbort.signal }).catch(() => undefined);
    }
    const now = performance.now();
    const timed = [...watches].map((watch) => ({ watch, dueAt: this.#dueAt(watch) }));
    const calls = Math.ceil(timed.filter(({ dueAt }) => dueAt <= now).length / STATUSES_PER_CALL);
    const polled = timed
      .filter(({ watch, dueAt }) => dueAt <= now || !watch.isAwaited)
      .toSorted((one, other) => one.dueAt - other.dueAt)
      .slice(0, calls * STATUSES_PER_CALL)
      .map(({ watch }) => watch);
    for (const watch of polled) watch.polledAt = now;
    return polled;
  }

  #dueAt(watch: Watch): number {
    const { pollMs } = this.#options;
    if (watch.isAwaited) return this.#awaitedDueAt(watch);
    const isYoung =
      watch.isIncluded && performance.now() - watch.startedAt < YOUNG_TIME_SHARE * this.#finalAfterMs;
    return (watch.polledAt ?? this.#begunAt) + (isYoung ? YOUNG_INTERVAL_FACTOR * pollMs : pollMs);
  }

  #awaitedDueAt({ startedAt, polledAt, fromSlot }: Watch): number {
    const { pollMs, awaitedPollMs, slots } = this.#options;
    const isLive = slots?.isLive === true;
    const intervalMs = isLive ? NOTIFIED_INTERVAL_FACTOR * pollMs : Math.min(pollMs, awaitedPollMs);
    const intervalAt = (polledAt ?? startedAt) + intervalMs;
    const lastAt = polledAt ?? Number.NEGATIVE_INFINITY;
    const reportedAt = this.#notifiedAt + NOTIFICATION_LAG_MS;
    const isNotified = reportedAt > lastAt && this.#notifiedAt > startedAt && this.#confirmedSlot >= fromSlot;
    return isNotified
      ? Math.min(intervalAt, Math.max(reportedAt, lastAt + MIN_NOTIFIED_INTERVAL_MS))
      : intervalAt;
  }
}
