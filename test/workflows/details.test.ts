import { describe, expect, it } from 'vitest';
import { NOTHING_AUDITED } from '../../src/domain/audit.ts';
import { WITHDRAWAL } from '../../src/domain/settlement.ts';
import { auditCard, progressCard, purposeOf } from '../../src/workflows/details.ts';

const TERMS = {
  id: 'w-1',
  asset: 'SOL',
  amount: '1500000000',
  destination: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
};
const REASON = { code: 'nodes_silent', message: 'no node answers' };

describe('the card of the Web UI', () => {
  it('begins with the state and the signature, which its frame shows without scrolling', () => {
    const view = { status: 'held', reason: REASON, signature: '5Sig', attempts: 2 } as const;
    const lines = progressCard(WITHDRAWAL, purposeOf(TERMS), view).split('  \n');
    expect(lines[0]).toBe('**held**, attempt 2: `5Sig`');
    expect(lines.slice(2)).toEqual([
      'reason: no node answers (`nodes_silent`)',
      'pays 1.5 SOL to `9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin`',
    ]);
  });

  it('has no line for a signature or a reason that is not there', () => {
    const view = { status: 'requested', reason: null, signature: null, attempts: 0 } as const;
    const lines = progressCard(WITHDRAWAL, purposeOf(TERMS), view).split('  \n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('**requested**');
  });
});

describe('the card of an audit', () => {
  const slots = { from: '1', to: '2', record: 'r', repair: true } as const;
  const ofImport = { ...slots, cause: 'import', address: 'a' } as const;

  it('says why it is, and what it came to', () => {
    const report = { ...NOTHING_AUDITED, addresses: 1, transactions: 3 };
    expect(auditCard(ofImport, report, 'done').split('  \n')).toEqual([
      'imported with a past: done',
      '1 address and 3 transactions read: chain and database agree',
    ]);
    const found = { ...report, found: 2, remaining: 0 };
    expect(auditCard(ofImport, found, 'done').split('  \n').at(-1)).toBe(
      '1 address and 3 transactions read: 2 differences found and repaired',
    );
  });

  it('says what still differs, and that it is not whole', () => {
    const report = { ...NOTHING_AUDITED, addresses: 1, transactions: 1, found: 2, remaining: 1, unread: 1 };
    const lines = auditCard(ofImport, report, 'done').split('  \n');
    expect(lines.slice(1)).toEqual([
      '1 address and 1 transaction read: **1 difference not repaired**',
      '**not whole**, nodes did not show all (1 unread): asked again by itself; alert `audit_incomplete`',
    ]);
    const asked = { ...slots, cause: 'operator', address: 'a', repair: false } as const;
    expect(auditCard(asked, report, 'done')).toMatch(/1 unread\): alert `audit_incomplete`$/);
  });
});
