import type { Word } from '../domain/word.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** What a signal to the run orders of the scan; the record decides, for this run and for all that come after it. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** Nothing is committed after this. */
    recordPause: (order: Word) => ledger.scanPauses.begin(order),

    recordResume: (order: Word) => ledger.scanPauses.end(order),
  };
}
