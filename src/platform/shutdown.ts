import { setMaxListeners } from 'node:events';
import type { Logger } from './logging.ts';

/** Resources of a process, closed in reverse order of opening, each even if another one fails. */
export class Closers {
  readonly #open: { readonly name: string; readonly close: () => unknown }[] = [];

  add(name: string, close: () => unknown): void {
    this.#open.push({ name, close });
  }

  /** Closes everything once. Logs failures and continues. */
  async close(logger?: Pick<Logger, 'error'>): Promise<void> {
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      try {
        await next.close();
      } catch (error) {
        logger?.error({ err: error }, `closing ${next.name} failed`);
      }
    }
  }
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Aborts at the first SIGINT or SIGTERM, with its name as reason; the second exits. `release` restores the
 * defaults.
 */
export function shutdownSignal(): { readonly signal: AbortSignal; readonly release: () => void } {
  const controller = new AbortController();
  // Every process of a stack listens to it, and each restart adds a listener.
  setMaxListeners(0, controller.signal);
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(SIGNALS[name as keyof typeof SIGNALS]);
    controller.abort(name);
  };
  const names = Object.keys(SIGNALS) as (keyof typeof SIGNALS)[];
  for (const name of names) process.on(name, onSignal);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Settles like `work`, or rejects when `signal` aborts first. The caller must stop the work itself. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const settled = new AbortController();
  const interruption = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true, signal: settled.signal });
    if (signal.aborted) giveUp();
  });
  try {
    return await Promise.race([work, interruption]);
  } finally {
    settled.abort();
  }
}
