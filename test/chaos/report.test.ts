import { expect, it } from 'vitest';
import { renderReport } from '../../chaos/report.ts';
import type { ChaosReport } from '../../chaos/run.ts';

const REPORT: ChaosReport = {
  withdrawals: 2,
  finalized: 2,
  transfersOnChain: 2,
  duplicates: 0,
  lost: 0,
  deadAttempts: 1,
  findings: [],
  faults: { kill_worker: 1 },
  met: { kill_worker: 1 },
  deposits: { made: 3, credited: 3, duplicates: 0, missed: 0 },
};
const lastLine = (report: ChaosReport) => renderReport(report).split('\n').at(-1);

it('the report ends with whether the run passed', () => {
  expect(lastLine(REPORT)).toBe('passed: the blocks and the database agree');
  expect(lastLine({ ...REPORT, findings: ['a', 'b'] })).toMatch(/^failed: 2 findings/);
});
