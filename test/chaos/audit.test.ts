import { describe, expect, it } from 'vitest';
import { audit, type Outcome } from '../../chaos/audit.ts';
import type { ChainPayment } from '../../src/localstack/chain-truth.ts';

const paid: Outcome = {
  terms: { id: 'a', asset: 'SOL', amount: '5', destination: 'W' },
  status: 'finalized',
  reason: null,
  amountReceived: null,
  signatures: ['s0', 's1'],
  workflow: 'COMPLETED',
};
const transfer: ChainPayment = { signature: 's1', slot: 9, wallet: 'W', asset: 'SOL', received: 5n };

describe('the audit of a chaos run', () => {
  it('is content with one exact transfer for each withdrawal', () => {
    const clean = { withdrawals: 1, finalized: 1, transfersOnChain: 1, duplicates: 0, lost: 0, findings: [] };
    expect(audit([paid], [transfer], 0n)).toEqual(clean);
  });

  it('counts a second attempt that also landed', () => {
    const report = audit([paid], [transfer, { ...transfer, signature: 's0' }], 0n);
    expect(report.duplicates).toBe(1);
    expect(report.findings).toHaveLength(1);
  });

  it('counts a transfer that no withdrawal has', () => {
    const report = audit([paid], [transfer, { ...transfer, signature: 'foreign' }], 0n);
    expect(report).toMatchObject({ duplicates: 1, lost: 0 });
  });

  it.each([
    ['is missing', []],
    ['has another amount', [{ ...transfer, received: 4n }]],
    ['went to another wallet', [{ ...transfer, wallet: 'V' }]],
    ['is of another asset', [{ ...transfer, asset: 'mint' }]],
  ])('calls a finalized withdrawal lost whose transfer %s', (_, payments) => {
    expect(audit([paid], payments, 0n)).toMatchObject({ lost: 1 });
  });

  it('tells of a transfer for a withdrawal that is not finalized', () => {
    const { findings } = audit([{ ...paid, status: 'held', workflow: 'RUNNING' }], [transfer], 0n);
    expect(findings).toHaveLength(2);
  });

  it('tells of money still reserved, and of a workflow that disagrees', () => {
    const { findings } = audit([{ ...paid, workflow: 'TERMINATED' }], [transfer], 7n);
    expect(findings).toEqual([
      'a is finalized, its workflow is TERMINATED',
      '7 base units are still reserved',
    ]);
  });
});
