/**
 * What was asked for in vain, and when to ask for it again: each time after twice as long. Kept in memory: a process that starts anew
 * asks for each once more. Times are milliseconds of one clock.
 */
export class Backoff<Key> {
  readonly #waits = new Map<Key, { readonly until: number; readonly ms: number }>();
  readonly #firstMs: number;
  readonly #longestMs: number;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  /** All that was asked for in vain. */
  get known(): readonly Key[] {
    return [...this.#waits.keys()];
  }

  /** What is to be asked for again now, what has waited longest for it first. */
  due(now: number, limit: number): readonly Key[] {
    const due = [...this.#waits].filter(([, { until }]) => until <= now);
    return due
      .toSorted(([, one], [, other]) => one.until - other.until)
      .slice(0, limit)
      .map(([key]) => key);
  }

  /** Keys in `failed` back off. If a retry succeeded and nothing failed, the cause is assumed gone and all back-offs are cleared. */
  note(asked: readonly Key[], failed: ReadonlySet<Key>, now: number): void {
    const wasAgain = asked.some((key) => this.#waits.has(key));
    for (const key of asked) {
      const before = this.#waits.get(key);
      this.#waits.delete(key);
      const ms = before === undefined ? this.#firstMs : Math.min(2 * before.ms, this.#longestMs);
      if (failed.has(key)) this.#waits.set(key, { until: now + ms, ms });
    }
    if (wasAgain && failed.size === 0) this.#waits.clear();
  }
}
