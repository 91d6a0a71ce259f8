import { describe, expect, it } from 'vitest';
import { progressCard } from '../../src/workflows/details.ts';

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
    const lines = progressCard(TERMS, view).split('  \n');
    expect(lines[0]).toBe('**held**, attempt 2: `5Sig`');
    expect(lines.slice(2)).toEqual([
      'reason: no node answers (`nodes_silent`)',
      'pays 1.5 SOL to `9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin`',
    ]);
  });

  it('has no line for a signature or a reason that is not there', () => {
    const view = { status: 'requested', reason: null, signature: null, attempts: 0 } as const;
    const lines = progressCard(TERMS, view).split('  \n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('**requested**');
  });
});
