import type { OperatorNote } from '../../domain/operator-note.ts';
import type { GivenUpRescan } from '../../domain/rescan.ts';
import { slotsOf } from '../../domain/slots.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** Stores orders to the scan. The database decides, for this run and all later ones. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** After this nothing is committed. */
    recordPause: (order: OperatorNote) => ledger.scanPauses.begin(order),

    recordResume: (order: OperatorNote) => ledger.scanPauses.end(order),

    /** Ends the rescan, so that its headers may be pruned. */
    recordRescanGivenUp: ({ trouble, ...range }: GivenUpRescan) =>
      ledger.rescans.giveUp(slotsOf(range), trouble),
  };
}
