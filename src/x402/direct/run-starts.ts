import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';

export interface RunStartsOptions {
  readonly concurrency?: number;
  /** Tries of one start. After the last, the schedule `restartUnfinished` starts the run. */
  readonly tries?: number;
  /** Delay before the second try, in ms. It doubles with each try. */
  readonly firstRetryMs?: number;
  /** Starts that wait or run at once. A further one is left to the schedule, for example while Temporal is down. */
  readonly maxPending?: number;
}

const LEFT_TO_SCHEDULE = 'a workflow could not be started: the schedule restartUnfinished starts it';

/** Starts workflow runs in the background, few at once, so that starts do not delay what callers wait for. */
export class RunStarts<Run> {
  readonly #start: (run: Run) => Promise<void>;
  readonly #warn: (error: unknown, message: string) => void;
  readonly #limit;
  readonly #tries: number;
  readonly #firstRetryMs: number;
  readonly #maxPending: number;
  readonly #pending = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(
    start: (run: Run) => Promise<void>,
    warn: (error: unknown, message: string) => void,
    { concurrency = 2, tries = 5, firstRetryMs = 250, maxPending = 10_000 }: RunStartsOptions = {},
  ) {
    this.#start = start;
    this.#warn = warn;
    this.#limit = pLimit(concurrency);
    this.#tries = tries;
    this.#firstRetryMs = firstRetryMs;
    this.#maxPending = maxPending;
  }

  add(run: Run): void {
    if (this.#pending.size >= this.#maxPending)
      return this.#warn(new Error(`${this.#maxPending} starts are pending`), LEFT_TO_SCHEDULE);
    const started = this.#limit(() => this.#startOrWarn(run)).finally(() => this.#pending.delete(started));
    this.#pending.add(started);
  }

  /** Resolves when every start has succeeded or has failed once more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#pending);
  }

  async #startOrWarn(run: Run): Promise<void> {
    for (let attempt = 1; ; attempt += 1)
      try {
        await this.#start(run);
        return;
      } catch (error) {
        const { signal } = this.#closing;
        if (attempt >= this.#tries || signal.aborted) return this.#warn(error, LEFT_TO_SCHEDULE);
        const delayMs = this.#firstRetryMs * 2 ** (attempt - 1);
        await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      }
  }
}
