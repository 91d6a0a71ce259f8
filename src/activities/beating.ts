import { Context } from '@temporalio/activity';

/** Well within every heartbeat timeout of `workflows/options.ts`. */
const BEAT_MS = 2_000;

/** Heartbeats until `work` ends: as long as this process lives, nobody else is asked. */
export async function beating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}
