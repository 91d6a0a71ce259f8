import type { Word } from '../domain/word.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** What a signal to the run orders of the scan; the record decides, for this run and for all that come after it. */
export function createScanOrders({ ledger }: { readonly ledger: Ledger }) {
  return {
    /** Nothing is committed after this. A signal that says neither who nor why pauses, too. */
    recordPause: (order?: Partial<Word>) => ledger.scanPauses.begin(wordOf(order)),

    recordResume: (order?: Partial<Word>) => ledger.scanPauses.end(wordOf(order)),
  };
}

function wordOf({ who = 'a signal', why = 'no reason given' }: Partial<Word> = {}): Word {
  return { who, why };
}
