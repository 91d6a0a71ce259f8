import { describe, expect, it } from 'vitest';
import { alertFindings, type ChainAmounts } from '../../chaos/alerts.ts';
import type { Alarm } from '../../src/domain/alerts.ts';

const CHAIN: ChainAmounts = {
  arrivals: [{ signature: 's1', asset: 'mint', amount: 5n }],
  payments: [{ signature: 's2', asset: 'mint', sent: 7n }],
};
const CORRECTED: Alarm = {
  kind: 'deposit_mismatch',
  subject: 's1',
  message: 'nodes a, b report 5, but the node of the scan reported 9',
  details: { account: 'ATA', asset: 'mint', by: ['a', 'b'], stored: '9', read: '5' },
};
const KEPT: Alarm = {
  kind: 'deposit_mismatch',
  subject: 's1',
  message: 'a second read of block 3 returned 9, but the database has 5',
  details: { account: 'ATA', asset: 'mint', state: 'final', stored: '5', read: '9' },
};
const changed = (alert: Alarm, details: Alarm['details']): Alarm => ({
  ...alert,
  details: { ...alert.details, ...details },
});

describe('an alert about a false block of one node', () => {
  it.each([
    ['a deposit that a quorum corrected', CORRECTED],
    ['a deposit that kept its amount', KEPT],
    ['a payment that a quorum corrected', { ...changed(CORRECTED, { read: '7' }), subject: 's2' }],
  ])('is no failure of the run: %s', (_, alert) => {
    expect(alertFindings([alert], CHAIN)).toEqual([]);
  });

  it.each([
    ['an amount that the chain does not have', changed(CORRECTED, { read: '6' })],
    ['an asset that the chain does not have', changed(CORRECTED, { asset: 'other' })],
    ['a transaction that the chain does not have', { ...CORRECTED, subject: 's9' }],
    ['the answer of one node', changed(CORRECTED, { by: ['a'] })],
    ['a recorded amount that the chain does not have', changed(KEPT, { stored: '6' })],
    ['a deposit that was rejected', changed(KEPT, { state: 'dropped' })],
    ['another kind of alert', { ...CORRECTED, kind: 'deposit_missed' as const }],
  ])('is a failure of the run: %s', (_, alert) => {
    expect(alertFindings([alert], CHAIN)).toEqual([`${alert.kind}: ${alert.message}`]);
  });
});
