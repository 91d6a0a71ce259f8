/** One line of the table at the end of the demo. */
export interface DemoRow {
  readonly what: string;
  readonly status: string;
  readonly sent: string;
  readonly onChain: string;
  readonly note: string;
}

const HEADINGS: DemoRow = {
  what: 'withdrawal',
  status: 'status',
  sent: 'asked',
  onChain: 'on chain',
  note: '',
};

/** Columns as wide as their longest cell. */
export function renderTable(rows: readonly DemoRow[]): string {
  const all = [HEADINGS, ...rows];
  const columns = ['what', 'status', 'sent', 'onChain', 'note'] as const;
  const widths = columns.map((column) => Math.max(...all.map((row) => row[column].length)));
  return all
    .map((row) =>
      columns
        .map((column, index) => row[column].padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
