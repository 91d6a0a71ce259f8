/**
 * Ends what takes too long: after `ms`, and where more is given for each byte that has come, when that is used up, too. What comes fast
 * earns no more than `ms` at a time, so that an answer which stops coming is ended soon, however long it is.
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

  /** So many bytes have come. */
  came(bytes: number): void {
    this.#earnedMs = Math.min(this.#ms, this.#earnedMs + bytes * this.#msPerByte);
  }

  /** Begins anew, as at first. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#wait(this.#ms);
  }

  /** Ends nothing any more, unless it is begun anew. */
  clear(): void {
    clearTimeout(this.#timer);
  }

  #wait(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#ring(), ms).unref();
  }

  #ring(): void {
    const earnedMs = Math.floor(this.#earnedMs);
    this.#earnedMs = 0;
    if (earnedMs > 0) this.#timer = this.#wait(earnedMs);
    else this.#controller.abort(new DOMException('it has not come in time', 'TimeoutError'));
  }
}
