/** Exponential back-off per key in milliseconds. In memory only: a new process tries each key once more. */
export class Backoff<Key> {
  readonly #waits = new Map<Key, { readonly until: number; readonly ms: number }>();
  readonly #firstMs: number;
  readonly #longestMs: number;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  get known(): readonly Key[] {
    return [...this.#waits.keys()];
  }

  /** Keys whose wait is over, the longest waiting first. */
  due(now: number, limit: number): readonly Key[] {
    const due = [...this.#waits].filter(([, { until }]) => until <= now);
    return due
      .toSorted(([, one], [, other]) => one.until - other.until)
      .slice(0, limit)
      .map(([key]) => key);
  }

  /** Backs off the `failed` keys. If a retry succeeded and no key failed, all back-offs are cleared. */
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
