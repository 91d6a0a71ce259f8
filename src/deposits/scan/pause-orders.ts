import type { OperatorNote } from '../../domain/operator-note.ts';
import type { GivenUpRescan } from '../../domain/rescan.ts';
import { slotsOf } from '../../domain/slots.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** What runs put on record of orders to the scan: that decides, for this run and for all that come after it. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** Nothing is committed after this. */
    recordPause: (order: OperatorNote) => ledger.scanPauses.begin(order),

    recordResume: (order: OperatorNote) => ledger.scanPauses.end(order),

    /** Nobody reads it any more, and its headers may go. */
    recordRescanGivenUp: ({ trouble, ...range }: GivenUpRescan) =>
      ledger.rescans.giveUp(slotsOf(range), trouble),
  };
}
