/**
 * Values by key, shared by all callers for `ttlMs` after the request started. With `answered`, they are shared until
 * `ttlMs` after the answer. Failures are not kept. Keeps the `limit` newest keys.
 */
export class TtlCache<T> {
  readonly #ttlMs: number;
  readonly #limit: number;
  readonly #startsWhen: 'asked' | 'answered';
  readonly #now: () => number;
  readonly #entries = new Map<string, { at: number; value: Promise<T> }>();

  constructor(
    ttlMs: number,
    limit = 1000,
    since: 'asked' | 'answered' = 'asked',
    now: () => number = () => performance.now(),
  ) {
    this.#ttlMs = ttlMs;
    this.#limit = limit;
    this.#startsWhen = since;
    this.#now = now;
  }

  get(key: string, load: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#now() - entry.at < this.#ttlMs) return entry.value;
    const value = load();
    const fresh = { at: this.#startsWhen === 'asked' ? this.#now() : Number.POSITIVE_INFINITY, value };
    this.#entries.delete(key);
    this.#entries.set(key, fresh);
    value.then(
      () => {
        if (this.#startsWhen === 'answered') fresh.at = this.#now();
      },
      () => {
        if (this.#entries.get(key) === fresh) this.#entries.delete(key);
      },
    );
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }

  /** Removes the value of a key; with `value`, only that one. */
  forget(key: string, value?: Promise<T>): void {
    if (value === undefined || this.#entries.get(key)?.value === value) this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
