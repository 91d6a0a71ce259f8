/**
 * Caches values by key for `ttlMs` milliseconds after the request started, or with `answered` after it succeeded.
 * Concurrent callers share one request. Failures are not cached. Stores the `limit` newest keys.
 */
export class TtlCache<T> {
  readonly #ttlMs: number;
  readonly #limit: number;
  readonly #ttlStart: 'asked' | 'answered';
  readonly #now: () => number;
  readonly #entries = new Map<string, { at: number; value: Promise<T> }>();

  constructor(
    ttlMs: number,
    limit = 1000,
    ttlStart: 'asked' | 'answered' = 'asked',
    now: () => number = () => performance.now(),
  ) {
    this.#ttlMs = ttlMs;
    this.#limit = limit;
    this.#ttlStart = ttlStart;
    this.#now = now;
  }

  get(key: string, load: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#now() - entry.at < this.#ttlMs) return entry.value;
    const value = load();
    const fresh = { at: this.#ttlStart === 'asked' ? this.#now() : Number.POSITIVE_INFINITY, value };
    this.#entries.delete(key);
    this.#entries.set(key, fresh);
    value.then(
      () => {
        if (this.#ttlStart === 'answered') fresh.at = this.#now();
      },
      () => {
        if (this.#entries.get(key) === fresh) this.#entries.delete(key);
      },
    );
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }

  /** Removes a key. If `value` is given, removes the key only while it has that value. */
  forget(key: string, value?: Promise<T>): void {
    if (value === undefined || this.#entries.get(key)?.value === value) this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
