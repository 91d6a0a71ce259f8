import { describe, expect, it } from 'vitest';
import { TIMEOUTS } from '../../src/domain/timeouts.ts';
import { LONGEST_WAITS_MS } from '../../src/withdrawals/kind.ts';
import { TIMEOUTS as SHORT } from '../support/short-timeouts.ts';

describe.each([
  { of: 'production', times: TIMEOUTS },
  { of: 'the programs of tests', times: SHORT },
])('the time-outs of $of', ({ times }) => {
  it('miss no activity before two of its heartbeats have failed to come', () => {
    expect(times.heartbeatMs).toBeGreaterThanOrEqual(3 * times.heartbeatEveryMs);
  });

  it('leave a preparation more time than a step of the record', () => {
    expect(times.prepareMs).toBeGreaterThan(times.recordMs);
  });
});

it('in production a preparation that waits says why before its try ends', () => {
  expect(TIMEOUTS.prepareMs).toBeGreaterThan(LONGEST_WAITS_MS);
});
