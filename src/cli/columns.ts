import { stripVTControlCharacters } from 'node:util';

/** Formats rows as aligned lines. Color codes do not count in the width. */
export function inColumns(rows: readonly (readonly string[])[], gap = '  '): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
      .join(gap)
      .trimEnd(),
  );
}

function width(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
