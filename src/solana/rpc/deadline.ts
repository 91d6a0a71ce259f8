/**
 * Aborts its signal after `ms` milliseconds. Each received byte extends the deadline by `msPerByte`, but all of them
 * by at most `ms` at a time. So an answer that stalls is aborted soon, however many bytes have arrived.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #msPerByte: number;
  #timer: NodeJS.Timeout;
  #earnedMs = 0;

  constructor(ms: number, msPerByte = 0) {
    this.#ms = ms;
    this.#msPerByte = msPerByte;
    this.#timer = this.#wait(ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  addReceived(bytes: number): void {
    this.#earnedMs = Math.min(this.#ms, this.#earnedMs + bytes * this.#msPerByte);
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#wait(this.#ms);
  }

  /** Stops the deadline until {@link restart}. */
  clear(): void {
    clearTimeout(this.#timer);
  }

  #wait(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#expire(), ms).unref();
  }

  #expire(): void {
    const earnedMs = Math.floor(this.#earnedMs);
    this.#earnedMs = 0;
    if (earnedMs > 0) this.#timer = this.#wait(earnedMs);
    else this.#controller.abort(new DOMException('the answer did not arrive in time', 'TimeoutError'));
  }
}
