import { describe, expect, it } from 'vitest';
import { NOTHING_AUDITED } from '../../src/domain/audit.ts';
import { WITHDRAWAL } from '../../src/domain/settlement-kinds.ts';
import { backfillCard, progressCard, purposeOf } from '../../src/workflows/details.ts';

const TERMS = {
  id: 'w-1',
  asset: 'SOL',
  amount: '1500000000',
  destination: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
};
const REASON = { code: 'nodes_silent', message: 'no node answers' };

describe('the details in the Web UI', () => {
  it('start with the state and the signature, which the frame shows without scrolling', () => {
    const view = { status: 'held', reason: REASON, signature: '5Sig', attempts: 2 } as const;
    const lines = progressCard(WITHDRAWAL, purposeOf(TERMS), view).split('  \n');
    expect(lines[0]).toBe('**held**, attempt 2: `5Sig`');
    expect(lines.slice(2)).toEqual([
      'reason: no node answers (`nodes_silent`)',
      'pays 1.5 SOL to `9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin`',
    ]);
  });

  it('have no line for a missing signature or reason', () => {
    const view = { status: 'requested', reason: null, signature: null, attempts: 0 } as const;
    const lines = progressCard(WITHDRAWAL, purposeOf(TERMS), view).split('  \n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('**requested**');
  });
});

describe('the details of a backfill', () => {
  const report = { ...NOTHING_AUDITED, transactions: 3 };

  it('show the result of the audit of an address', () => {
    expect(backfillCard(report)).toBe('3 transactions read: chain and database agree');
    expect(backfillCard({ ...report, found: 2 })).toBe(
      '3 transactions read: 2 differences found and repaired',
    );
    const partly = { ...report, transactions: 1, found: 2, remaining: 1, unread: 1 };
    expect(backfillCard(partly).split('  \n')).toEqual([
      '1 transaction read: **1 difference not repaired**',
      '**not complete**: nodes did not return the whole history (1 unread); see the alert `audit_incomplete`',
    ]);
  });

  it('show the deposits found in blocks, and the slots that are not read', () => {
    const read = { blocks: 2, found: 1, unread: [{ from: '7', to: '8' }] };
    expect(backfillCard(read).split('  \n')).toEqual([
      '2 blocks read again, 1 missing deposit found and recorded; see the alerts `deposit_missed`',
      '**not complete**: of closed gaps nodes did not return slots 7 to 8',
    ]);
  });
});
