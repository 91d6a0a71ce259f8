import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '../src/client/client.ts';
import { isDatabaseUnavailable } from '../src/ledger/connection.ts';
import { FAULT_KINDS } from './kinds.ts';

const TRY_EVERY_MS = 500;
/** Maximum time that a process takes to start on a busy machine. */
const START_MS = 60_000;
const LONGEST_FAULT_MS =
  Math.max(...Object.values(FAULT_KINDS).map(({ seconds: [, longest] }) => longest)) * 1_000;

/** Maximum time for which a fault of the driver makes a service unavailable. */
export const LONGEST_OUTAGE_MS = LONGEST_FAULT_MS + START_MS;

const GRPC_DEADLINE_EXCEEDED = 4;
const GRPC_UNAVAILABLE = 14;
const NO_TEMPORAL = 'Failed to connect before the deadline';
const SOCKET_CLOSED = 'UND_ERR_SOCKET';

/** True where `error`, or one of its causes, says that PostgreSQL, the API, Temporal or a node is unavailable at present. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof SluiceError) return error.retryable;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return (
    isDatabaseUnavailable(error) ||
    code === GRPC_UNAVAILABLE ||
    code === GRPC_DEADLINE_EXCEEDED ||
    code === SOCKET_CLOSED ||
    error.message === NO_TEMPORAL ||
    isUnavailable(error.cause)
  );
}

/**
 * The result of `ask`, which is called again while a service is unavailable: the driver stops services itself. `ask` must be idempotent.
 * Throws every other failure at once, and the last one after the abort of `signal`.
 *
 * @param signal default: aborted after {@link LONGEST_OUTAGE_MS}
 */
export async function retryWhileUnavailable<T>(
  ask: () => Promise<T> | T,
  signal: AbortSignal = AbortSignal.timeout(LONGEST_OUTAGE_MS),
): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !isUnavailable(error)) throw error;
    }
    await sleep(TRY_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
