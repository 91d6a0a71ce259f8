import { Context } from '@temporalio/activity';
import { TIMEOUTS } from '../domain/timeouts.ts';

/** Sends heartbeats until `work` settles, so that Temporal does not retry the activity while this process is alive. */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), TIMEOUTS.heartbeatEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
