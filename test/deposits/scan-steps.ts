import { MockActivityEnvironment } from '@temporalio/testing';
import { createDepositScan, type DepositScanDeps } from '../../src/deposits/scan/tail.ts';
import type { ScanStatus } from '../../src/domain/scan.ts';

/** Longer than any machine takes for what a test waits for. */
const LONG_SECONDS = 45;
/** Short pauses between two looks: a status is shown after the pause that follows its look. */
const PAUSES = { pollMs: 50, waitMs: 50 };

/** For {@link turnUntil}: the scan stands so. */
export function standsAs(state: ScanStatus['state']): (status: ScanStatus) => boolean {
  return (status) => status.state === state;
}

/**
 * A turn of the scan that ends as soon as `isOver` says so of how it stands, and of what has become of the record by then. Answers how
 * it stood then, or last where that never was. A turn of some seconds would do less on a slow machine.
 */
export async function turnUntil(
  deps: DepositScanDeps,
  isOver: (status: ScanStatus) => boolean | Promise<boolean>,
  since: string | null = null,
): Promise<ScanStatus> {
  const stop = new AbortController();
  let then: ScanStatus | undefined;
  const judge = async (status: ScanStatus): Promise<void> => {
    if (then !== undefined || !(await isOver(status))) return;
    then = status;
    stop.abort();
  };
  // One after the other: else a later status could overtake the first of which it is true.
  let judged = Promise.resolve();
  const failures: unknown[] = [];
  const fail = (error: unknown): void => {
    failures.push(error);
    stop.abort();
  };
  const scan = createDepositScan({
    ...PAUSES,
    ...deps,
    stop: stop.signal,
    onStatus: (status) => {
      judged = judged.then(() => judge(status)).catch(fail);
    },
  });
  const last: ScanStatus = await new MockActivityEnvironment().run(() =>
    scan.scanTail({ seconds: LONG_SECONDS, since }),
  );
  await judged;
  if (failures.length > 0) throw new Error('a status of the scan was not judged', { cause: failures[0] });
  return then ?? last;
}
