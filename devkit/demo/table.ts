import { inColumns } from '../../src/cli/columns.ts';

/** One line of a table at the end of the demo: a withdrawal or a deposit. */
export interface DemoRow {
  readonly what: string;
  readonly status: string;
  readonly sent: string;
  readonly onChain: string;
  readonly note: string;
}

/** A line a row, in columns. `headings` are of what, its status, and the amount that was sent. */
export function renderTable(
  headings: readonly [what: string, status: string, sent: string],
  rows: readonly DemoRow[],
): string {
  const cells = rows.map(({ what, status, sent, onChain, note }) => [what, status, sent, onChain, note]);
  return inColumns([[...headings, 'on chain', ''], ...cells]).join('\n');
}
