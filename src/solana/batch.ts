interface Waiter<R> {
  readonly resolve: (value: R) => void;
  readonly reject: (error: unknown) => void;
}

/** Joins single questions of many callers within a short window into calls of at most `size` distinct keys. */
export class Batcher<R> {
  readonly #ask: (keys: string[]) => Promise<ReadonlyMap<string, R>>;
  readonly #size: number;
  readonly #windowMs: number;
  #waiting = new Map<string, Waiter<R>[]>();
  #timer: NodeJS.Timeout | null = null;

  constructor(size: number, windowMs: number, ask: (keys: string[]) => Promise<ReadonlyMap<string, R>>) {
    this.#size = size;
    this.#windowMs = windowMs;
    this.#ask = ask;
  }

  get(key: string): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiting.get(key);
      if (waiters === undefined) this.#waiting.set(key, [{ resolve, reject }]);
      else waiters.push({ resolve, reject });
      if (this.#waiting.size >= this.#size) void this.#flush();
      else this.#timer ??= setTimeout(() => void this.#flush(), this.#windowMs);
    });
  }

  async #flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = this.#waiting;
    this.#waiting = new Map();
    try {
      const answers = await this.#ask([...batch.keys()]);
      for (const [key, waiters] of batch) {
        const answer = answers.get(key);
        if (answer === undefined) throw new Error(`no answer for ${key}`);
        for (const waiter of waiters) waiter.resolve(answer);
      }
    } catch (error) {
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.reject(error);
    }
  }
}

/** A value by key, shared by all callers for `ttlMs`; failures are not kept. Holds the `limit` newest keys. */
export class Shared<T> {
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
}

/** The items in order, in pieces of at most `size`. */
export function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

/** The results of `work` in the order of `items`, at most `atOnce` under way at a time. */
export async function mapAtOnce<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const lanes = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const [index, item] of waiting) results[index] = await work(item);
  });
  await Promise.all(lanes);
  return results;
}
