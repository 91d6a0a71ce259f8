import type { StoredOrder } from '../../domain/backfill.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { slotsOf } from '../../domain/slots.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** Stores orders to the scan. The database decides, for this run and all later ones. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** After this nothing is committed. */
    recordPause: (order: OperatorNote) => ledger.scanPauses.begin(order),

    recordResume: (order: OperatorNote) => ledger.scanPauses.end(order),

    /** Ends the backfill, so that headers may be pruned. */
    recordBackfillGivenUp: (order: StoredOrder, trouble: string) =>
      ledger.backfills.giveUp({ ...order, ...slotsOf(order) }, trouble),
  };
}
