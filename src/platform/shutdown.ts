import { once, setMaxListeners } from 'node:events';
import type { Logger } from './logging.ts';

/** Resources of a process, closed in reverse order of opening, each even if another one fails. */
export class Closers {
  readonly #open: { readonly name: string; readonly close: () => unknown }[] = [];

  add(name: string, close: () => unknown): void {
    this.#open.push({ name, close });
  }

  /** Runs `work` now and every `everyMs` until it is closed. `onFailure` receives errors; the next round retries. */
  runPeriodically(
    name: string,
    everyMs: number,
    work: () => Promise<void>,
    onFailure: (error: unknown) => void,
  ): void {
    const round = () => void work().catch(onFailure);
    round();
    const timer = setInterval(round, everyMs);
    this.add(name, () => clearInterval(timer));
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

/** Aborts at the first SIGINT or SIGTERM, with its name as reason; the second exits. */
export function shutdownSignal(): AbortSignal {
  const controller = new AbortController();
  // Every process of a stack listens to it, and each restart adds a listener.
  setMaxListeners(0, controller.signal);
  for (const [name, code] of Object.entries(SIGNALS))
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(code);
      controller.abort(name);
    });
  return controller.signal;
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
