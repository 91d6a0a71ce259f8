/** A value by key, shared by all callers for `ttlMs`; failures are not kept. Holds the `limit` newest keys. */
export class TtlCache<T> {
  readonly #ttlMs: number;
  readonly #limit: number;
  readonly #entries = new Map<string, { at: number; value: Promise<T> }>();

  constructor(ttlMs: number, limit = 1000) {
    this.#ttlMs = ttlMs;
    this.#limit = limit;
  }

  get(key: string, load: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && performance.now() - entry.at < this.#ttlMs) return entry.value;
    const value = load();
    const fresh = { at: performance.now(), value };
    this.#entries.delete(key);
    this.#entries.set(key, fresh);
    value.catch(() => {
      if (this.#entries.get(key) === fresh) this.#entries.delete(key);
    });
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }

  /** Forgets everything: what is asked for next is loaded anew. */
  clear(): void {
    this.#entries.clear();
  }
}
