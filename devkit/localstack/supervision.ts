import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../src/platform/shutdown.ts';
import type { ManagedProcess } from './process.ts';
import type { Stack } from './stack.ts';

/** A process. `loss` is the data that is lost when it ends; null if the next run continues from the same state. */
export interface SupervisedProcess {
  readonly process: ManagedProcess;
  readonly loss: string | null;
}

const RETRY_DELAY_MS = 2_000;

/** Every process that `stack` started. Localnet, and Temporal without a `dbFile`, have their data only in memory. */
export function processesOf(stack: Stack): readonly SupervisedProcess[] {
  const { temporalServer, dbFile, chain, chainKind, postgres, signer, worker, api, x402 } = stack;
  const all = [
    { process: temporalServer, loss: dbFile === null ? 'all workflows were in its memory' : null },
    { process: chain, loss: chainKind === 'validator' ? null : 'all blocks were in its memory' },
    ...[postgres, signer, worker, api, x402].map((process) => ({ process, loss: null })),
  ];
  return all.flatMap(({ process, loss }) => (process === null ? [] : [{ process, loss }]));
}

/**
 * Reports each process that ends unexpectedly, and restarts the process unless its data is lost. Resolves when `signal` is aborted;
 * abort it before stopping the processes.
 */
export async function supervise(
  processes: readonly SupervisedProcess[],
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(processes.map((each) => superviseOne(each, say, signal)));
}

async function superviseOne(
  { process, loss }: SupervisedProcess,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const stopped = untilAborted(signal);
  while (!signal.aborted) {
    await Promise.race([process.exited, stopped]);
    if (signal.aborted) return;
    const action = loss === null ? 'it is restarted; ' : '';
    say(`${process.name} ended (${process.ending}); ${action}its log is ${process.logFile}`);
    if (loss !== null) {
      say(`${process.name} is not restarted, because ${loss}: press Ctrl-C and run this command again`);
      return;
    }
    await restart(process, say, signal);
  }
}

async function restart(
  process: ManagedProcess,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await process.start(signal);
      say(`${process.name} is running again`);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
      say(`${reason} The start is retried`);
      await sleep(RETRY_DELAY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
