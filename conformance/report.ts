import { inColumns } from '../src/cli/columns.ts';
import type { ConformanceReport, FileReport } from './check.ts';

/** The report for people: a line for each file, what differs, and a tally as the last line. */
export function renderReport({ files, transactions, differences }: ConformanceReport): string {
  const rows = files.map((file) => [
    file.file,
    String(file.transactions),
    String(file.failed),
    versionsOf(file.versions),
    String(file.nativeDeltas),
    String(file.tokenDeltas),
    file.refused === null ? scanOf(file) : 'refused, as it must be',
  ]);
  const head = ['file', 'transactions', 'failed', 'versions', 'native deltas', 'token deltas', 'scan'];
  const wrong = files.flatMap((file) => file.differences.map((text) => `${file.file}: ${text}`));
  const refused = files.filter((file) => file.refused !== null).length;
  return [
    ...inColumns([head, ...rows]),
    '',
    ...wrong,
    `${files.length} files, ${transactions} transactions, ${refused} refused, ${differences} differences`,
  ].join('\n');
}

function versionsOf(versions: Readonly<Record<string, number>>): string {
  return Object.entries(versions)
    .map(([version, count]) => `${version}: ${count}`)
    .join(', ');
}

function scanOf({ scan, transactions }: FileReport): string {
  if (scan === null) return '';
  const parsed =
    scan.parsed === null ? 'all, as the bytes do not show it' : `${scan.parsed} of ${transactions}`;
  return `${scan.watched} watched, parsed ${parsed}`;
}
