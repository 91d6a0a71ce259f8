import { Context } from '@temporalio/activity';
import { TIMEOUTS } from '../domain/timeouts.ts';

/** Heartbeats until `work` ends: as long as this process lives, nobody else is asked. */
export async function beating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), TIMEOUTS.heartbeatEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}
