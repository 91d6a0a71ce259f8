import { describe, expect, it } from 'vitest';
import { audit, type Outcome } from '../../chaos/audit.ts';
import type { Books } from '../../devkit/localstack/books.ts';
import type { ChainPayment } from '../../devkit/localstack/chain-truth.ts';

const paid: Outcome = {
  terms: { id: 'a', asset: 'SOL', amount: '5', destination: 'W' },
  status: 'finalized',
  reason: null,
  amountReceived: '5',
  signatures: ['s0', 's1'],
  workflow: 'finalized',
};
const transfer: ChainPayment = {
  signature: 's1',
  slot: 9,
  wallet: 'W',
  asset: 'SOL',
  received: 5n,
  sent: 5n,
};

const books: Books = {
  chain: { s1: 7n },
  fees: { s1: 5_002n },
  record: { s1: 7n },
  live: 0,
  dead: 2,
  openReservations: 0n,
};
const judged = (
  outcomes: readonly Outcome[],
  payments: readonly ChainPayment[],
  other: Partial<Books> = {},
) => audit({ outcomes, payments, books: { ...books, ...other }, alarms: [] });

describe('the audit of a chaos run', () => {
  it('passes with one exact transfer per withdrawal', () => {
    const clean = {
      withdrawals: 1,
      finalized: 1,
      transfersOnChain: 1,
      duplicates: 0,
      lost: 0,
      deadAttempts: 2,
      findings: [],
    };
    expect(judged([paid], [transfer])).toEqual(clean);
  });

  it('counts a second attempt that also landed', () => {
    const report = judged([paid], [transfer, { ...transfer, signature: 's0' }]);
    expect(report.duplicates).toBe(1);
    expect(report.findings).toHaveLength(1);
  });

  it('counts a transfer without a withdrawal', () => {
    const report = judged([paid], [transfer, { ...transfer, signature: 'foreign' }]);
    expect(report).toMatchObject({ duplicates: 1, lost: 0 });
  });

  it.each([
    ['is missing', []],
    ['debited another amount', [{ ...transfer, sent: 6n }]],
    ['has another amount', [{ ...transfer, received: 4n }]],
    ['went to another wallet', [{ ...transfer, wallet: 'V' }]],
    ['is of another asset', [{ ...transfer, asset: 'mint' }]],
  ])('reports a finalized withdrawal as lost when its transfer %s', (_, payments) => {
    expect(judged([paid], payments)).toMatchObject({ lost: 1 });
  });

  it('reports a transfer for a withdrawal that is not finalized', () => {
    const { findings } = judged([{ ...paid, status: 'held', workflow: 'RUNNING' }], [transfer]);
    expect(findings).toHaveLength(2);
  });

  it('reports money still reserved, and a workflow that disagrees', () => {
    const { findings } = judged([{ ...paid, workflow: 'TERMINATED' }], [transfer], { openReservations: 7n });
    expect(findings).toEqual([
      'a is finalized, its workflow is TERMINATED',
      '7 base units are still reserved',
    ]);
  });

  it('compares the on-chain cost of every transaction with the database, including failed ones', () => {
    const { findings } = judged([paid], [transfer], { chain: { s1: 7n, s9: 5_000n }, record: { s1: 8n } });
    expect(findings).toEqual([
      's1 cost 7 lamports on chain, 8 lamports in the database',
      's9 cost 5000 lamports on chain, nothing in the database',
    ]);
  });

  it('reports a fee above that of an idle chain, with the allowed increase for later attempts', () => {
    const { findings } = judged([paid], [transfer], { fees: { s0: 7_700n, s1: 5_500n, foreign: 9_000n } });
    expect(findings).toEqual(['a paid a fee of 7700 lamports for s0, more than 5250 on an idle chain']);
  });

  it('uses the requested amount, not the received amount in the database', () => {
    const short = { ...transfer, received: 4n, sent: 4n };
    expect(judged([{ ...paid, amountReceived: '4' }], [short])).toMatchObject({ lost: 1 });
  });
});
