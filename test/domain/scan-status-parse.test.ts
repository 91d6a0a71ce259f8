import { describe, expect, it } from 'vitest';
import { type ScanProgress, statusOf } from '../../src/deposits/scan/progress-view.ts';
import { parseScanStatus } from '../../src/domain/scan-status-parse.ts';

const AT = new Date('2026-01-01T00:00:00.000Z');
const still = { cursor: { slot: 7n, blockhash: 'h7', height: 5n }, tip: 9n } as const;

const STANDS: readonly ScanProgress[] = [
  { state: 'starting', cursor: null, tip: null },
  { ...still, state: 'tail' },
  { ...still, state: 'catch-up' },
  { ...still, state: 'waiting', reason: 'no node answers' },
  { ...still, state: 'stopped', reason: 'another chain' },
  { ...still, state: 'paused', actor: 'ops', reason: 'maintenance', since: AT },
  { ...still, state: 'gap', gap: { from: '8', to: '8' }, reason: 'no node shows it' },
];

/** What a worker reports, as it comes to a run or to the worker after it. */
function reportOf(stand: ScanProgress): Record<string, unknown> {
  return JSON.parse(JSON.stringify(statusOf(stand, { blocks: 3, seconds: 2 }, null, AT)));
}

describe('a report of the scan', () => {
  it.each(STANDS)('is a status where it says all of one: $state', (stand) => {
    expect(parseScanStatus(reportOf(stand))).toEqual(reportOf(stand));
  });

  it.each(STANDS)('is none where anything of one is missing, or is something else: $state', (stand) => {
    const report = reportOf(stand);
    for (const field of Object.keys(report)) {
      const { [field]: _missing, ...rest } = report;
      for (const odd of [rest, { ...rest, [field]: {} }, { ...rest, [field]: 'odd' }])
        expect([field, isText(field, odd) ? null : parseScanStatus(odd)]).toEqual([field, null]);
    }
  });

  it.each([undefined, null, 'tail', [], { state: 'tail' }, { state: 'waiting', since: AT.toISOString() }])(
    'is none where it is %j',
    (report) => {
      expect(parseScanStatus(report)).toBeNull();
    },
  );
});

/** Every text does for these. */
function isText(field: string, report: Record<string, unknown>): boolean {
  return ['reason', 'actor'].includes(field) && report[field] === 'odd';
}
