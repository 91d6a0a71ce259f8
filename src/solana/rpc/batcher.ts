import { DomainError } from '../../domain/errors.ts';

interface Waiter<R> {
  readonly resolve: (value: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines the requests of `windowMs` milliseconds into calls with at most `size` keys. Throws NodeFault for a key
 * without an answer.
 */
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
        for (const { resolve, reject } of waiters)
          if (answer === undefined)
            reject(new DomainError('NodeFault', `no RPC node returned an answer for ${key}`));
          else resolve(answer);
      }
    } catch (error) {
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.reject(error);
    }
  }
}
