import { inColumns } from '../../src/cli/columns.ts';

export interface DemoRow {
  readonly what: string;
  readonly status: string;
  readonly sent: string;
  readonly onChain: string;
  readonly note: string;
}

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{80,88}$/;
const SHORT_LENGTH = 8;

/** The rows as a table. Amounts are in base units; signatures are abbreviated. */
export function renderTable(
  headings: readonly [what: string, status: string, sent: string],
  rows: readonly DemoRow[],
): string {
  const cells = rows.map(({ what, status, sent, onChain, note }) => [
    what,
    status,
    sent,
    onChain,
    SIGNATURE.test(note) ? `${note.slice(0, SHORT_LENGTH)}…` : note,
  ]);
  return inColumns([[...headings, 'received on chain', 'transaction'], ...cells]).join('\n');
}
