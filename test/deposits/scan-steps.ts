import { setTimeout as sleep } from 'node:timers/promises';
import { createDepositScan, type DepositScanDeps } from '../../src/deposits/scan/tail.ts';
import type { ScanStatus } from '../../src/domain/scan.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { runActivity } from '../support/activity.ts';

/** Longer than any machine needs for the awaited state. */
const LONG_SECONDS = 45;
const PAUSES = { pollMs: 50, waitMs: 50 };

/** For {@link scanUntil}: the scan has this state. */
export function hasState(state: ScanStatus['state']): (status: ScanStatus) => boolean {
  return (status) => status.state === state;
}

/**
 * Runs a turn of the scan until `isOver` accepts a status that the turn stored. Returns that status, or the last one.
 * A turn of some seconds would do less on a slow machine.
 */
export async function scanUntil(
  deps: DepositScanDeps,
  isOver: (status: ScanStatus) => boolean | Promise<boolean>,
): Promise<ScanStatus> {
  const stop = new AbortController();
  const { scanStatus } = deps.ledger;
  const { at: before } = await scanStatus.read();
  const scan = createDepositScan({ ...PAUSES, ...deps, shutdownSignal: stop.signal });
  let hasEnded = false;
  const turn = runActivity(() => scan.scanTail({ seconds: LONG_SECONDS })).finally(() => {
    hasEnded = true;
  });
  try {
    for (;;) {
      const status = await scanStatus.read();
      if (hasEnded || (status.at !== before && (await isOver(status)))) return status;
      await sleep(20);
    }
  } finally {
    stop.abort();
    await turn;
  }
}

/** Sets the start of the standstill to this time. */
export async function setStandstillStart({ db }: Ledger, since: Date): Promise<void> {
  await db.updateTable('scanStatus').set({ since }).where('since', 'is not', null).execute();
}
