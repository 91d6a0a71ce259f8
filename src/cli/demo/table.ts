import { inColumns } from '../columns.ts';

/** One line of the table at the end of the demo. */
export interface DemoRow {
  readonly what: string;
  readonly status: string;
  readonly sent: string;
  readonly onChain: string;
  readonly note: string;
}

const HEADINGS = ['withdrawal', 'status', 'asked', 'on chain', ''];

/** A line a withdrawal, in columns. */
export function renderTable(rows: readonly DemoRow[]): string {
  const cells = rows.map(({ what, status, sent, onChain, note }) => [what, status, sent, onChain, note]);
  return inColumns([HEADINGS, ...cells]).join('\n');
}
