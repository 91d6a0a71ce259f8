import { log, ParentClosePolicy, setHandler, startChild } from '@temporalio/workflow';
import { operatorNoteOf } from '../domain/operator-note.ts';
import { type RescanOrder, rescanOrderOf, rescanRun } from '../domain/rescan.ts';
import * as act from './deposit-activity-proxies.ts';
import type { depositRescan } from './deposit-rescan.ts';
import { pauseScan, rescanRange, resumeScan } from './messages.ts';

/** Stores the orders to the scan, in sequence: activities obey the database. Call it first in a run. */
export function acceptScanOrders(): void {
  let orders = Promise.resolve();
  /** A permanent failure of one order does not affect later ones. */
  const inTurn = (order: () => Promise<void>): Promise<void> => {
    orders = orders
      .then(order)
      .catch((error: unknown) => log.error('an order of the scan came to nothing', { error }));
    return orders;
  };
  setHandler(pauseScan, (order) => inTurn(() => act.recordPause(operatorNoteOf(order))));
  setHandler(resumeScan, (order) => inTurn(() => act.recordResume(operatorNoteOf(order))));
  setHandler(rescanRange, (given) => inTurn(() => begin(rescanOrderOf(given))));
}

/** Starts the rescan as an independent run. Throws if the order is invalid or a rescan of the same slots runs. */
async function begin(order: RescanOrder | null): Promise<void> {
  if (order === null) throw new Error('a rescan is {from, to, actor, reason}, with slots as decimal strings');
  const { summary: staticSummary, details: staticDetails, ...run } = rescanRun(order);
  await startChild<typeof depositRescan>('depositRescan', {
    ...run,
    staticSummary,
    staticDetails,
    parentClosePolicy: ParentClosePolicy.ABANDON,
  });
}
