import { describe, expect, it } from 'vitest';
import { TIMEOUTS } from '../../src/domain/timeouts.ts';
import { MAX_WAIT_MS } from '../../src/withdrawals/kind.ts';
import { TIMEOUTS as SHORT } from '../support/short-timeouts.ts';

describe.each([
  { of: 'production', times: TIMEOUTS },
  { of: 'the programs of tests', times: SHORT },
])('the time-outs of $of', ({ times }) => {
  it('end no activity before two of its heartbeats are missing', () => {
    expect(times.heartbeatMs).toBeGreaterThanOrEqual(3 * times.heartbeatEveryMs);
  });

  it('give a preparation more time than a database statement', () => {
    expect(times.prepareMs).toBeGreaterThan(times.recordMs);
  });
});

it('a waiting preparation in production reports its reason before its attempt ends', () => {
  expect(TIMEOUTS.prepareMs).toBeGreaterThan(MAX_WAIT_MS);
});
