import { once, setMaxListeners } from 'node:events';
import type { Logger } from './logging.ts';

/** Open resources of a process. They are closed in reverse order, each even if closing another one fails. */
export class Closers {
  readonly #open: { readonly name: string; readonly close: () => unknown }[] = [];

  add(name: string, close: () => unknown): void {
    this.#open.push({ name, close });
  }

  /**
   * Runs `work` now and every `intervalMs` until {@link close}, but never twice at the same time. `onFailure` receives
   * errors; the next run retries.
   */
  runPeriodically(
    name: string,
    intervalMs: number,
    work: () => Promise<void>,
    onFailure: (error: unknown) => void,
  ): void {
    let isRunning = false;
    const run = () => {
      if (isRunning) return;
      isRunning = true;
      void work()
        .catch(onFailure)
        .finally(() => {
          isRunning = false;
        });
    };
    run();
    const timer = setInterval(run, intervalMs);
    this.add(name, () => clearInterval(timer));
  }

  /** Closes all resources. Logs failures and continues. A second call closes only what was added later. */
  async close(logger?: Pick<Logger, 'error'>): Promise<void> {
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      try {
        await next.close();
      } catch (error) {
        logger?.error({ err: error }, `closing failed: ${next.name}`);
      }
    }
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * A signal that aborts at the first SIGINT or SIGTERM, with the signal's name as reason. A second one exits the
 * process.
 */
export function shutdownSignal(): AbortSignal {
  const controller = new AbortController();
  // No limit of listeners: each part of a development stack adds one, and so does each restart.
  setMaxListeners(0, controller.signal);
  for (const [name, code] of Object.entries(EXIT_CODES))
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(code);
      controller.abort(name);
    });
  return controller.signal;
}

/** Resolves when the signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
