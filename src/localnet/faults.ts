/**
 * What a node does wrong. `lag` shows the chain some blocks late; `history-from` forgets what came before a slot; `no-answer` keeps
 * the connection open in silence; `lost-answer` does the work and then drops the connection; the others answer something else.
 */
export type Fault =
  | { readonly kind: 'lag'; readonly blocks: number }
  | { readonly kind: 'history-from'; readonly slot: number }
  | { readonly kind: 'no-answer' }
  | { readonly kind: 'lost-answer' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'http'; readonly status: 429 | 500 | 502 | 503; readonly retryAfterSeconds?: number }
  | { readonly kind: 'null' }
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: unknown };

interface Scripted {
  readonly fault: Fault;
  left: number;
}

/** The faults of one node by method; `*` stands for every method. Each may be limited to a number of calls. */
export class Faults {
  readonly #byMethod = new Map<string, Scripted[]>();

  add(method: string, fault: Fault, times = Number.POSITIVE_INFINITY): void {
    this.#byMethod.set(method, [...(this.#byMethod.get(method) ?? []), { fault, left: times }]);
  }

  clear(): void {
    this.#byMethod.clear();
  }

  /** The faults that a call of this method meets now, each counted once. */
  take(method: string): Fault[] {
    const met: Fault[] = [];
    for (const key of [method, '*']) {
      const scripted = this.#byMethod.get(key);
      for (const item of scripted ?? []) {
        item.left -= 1;
        met.push(item.fault);
      }
      if (scripted)
        this.#byMethod.set(
          key,
          scripted.filter((item) => item.left > 0),
        );
    }
    return met;
  }
}

/** The first fault of a kind. */
export function faultOf<K extends Fault['kind']>(
  faults: readonly Fault[],
  kind: K,
): Extract<Fault, { kind: K }> | undefined {
  return faults.find((item): item is Extract<Fault, { kind: K }> => item.kind === kind);
}
