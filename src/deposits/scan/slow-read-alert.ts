import { STALLED_MS } from './failure-alerts.ts';
import type { Halt, ScanProgress } from './progress-view.ts';
import { rest } from './side-loop.ts';

export interface SlowLook {
  /** Milliseconds after which a slow read is reported, and a stopped scan raises an alert. Default 60,000. */
  readonly slowMs?: number;
}

/** Awaits `work`. Until it settles, calls `tell` every `slowMs` with the time waited. */
export async function meanwhile<T>(
  work: Promise<T>,
  { slowMs = STALLED_MS }: SlowLook,
  tell: (waitedMs: number) => Promise<void>,
): Promise<T> {
  const over = new AbortController();
  const telling = (async () => {
    for (let waitedMs = slowMs; ; waitedMs += slowMs) {
      await rest(slowMs, over.signal);
      if (over.signal.aborted) return;
      await tell(waitedMs);
    }
  })();
  try {
    return await work;
  } finally {
    over.abort();
    await telling;
  }
}

export function slowProgress(
  { cursor, tip }: Pick<ScanProgress, 'cursor' | 'tip'>,
  waitedMs: number,
): ScanProgress & Halt {
  const reason = `reading the next blocks takes ${Math.round(waitedMs / 1_000)} s so far: nodes or PostgreSQL are slow`;
  return { cursor, tip, state: 'waiting', reason };
}
