import type { ScanOrder } from '../domain/scan.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** What a signal to the run orders of the scan; the record decides, for this run and for all that come after it. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** Nothing is committed after this. A signal that says neither who nor why pauses, too. */
    recordPause: (order?: Partial<ScanOrder>) => ledger.scanPauses.begin(wordOf(order)),

    recordResume: (order?: Partial<ScanOrder>) => ledger.scanPauses.end(wordOf(order)),
  };
}

function wordOf({ who = 'a signal', why = 'no reason given' }: Partial<ScanOrder> = {}): ScanOrder {
  return { who, why };
}
