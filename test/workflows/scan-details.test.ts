import { describe, expect, it } from 'vitest';
import type { ScanStatus } from '../../src/domain/scan.ts';
import { reconciliationCard, scanCard } from '../../src/workflows/details.ts';

const POSITION = {
  cursor: { slot: '100', blockhash: 'b100', height: '90' },
  tip: '112',
  lag: '12',
  blocksPerSecond: 2.4,
  at: '2026-01-01T00:00:09.000Z',
};
const STILL = { since: '2026-01-01T00:00:00.000Z', reason: 'to see' };
const linesOf = (status: ScanStatus) => scanCard(status).split('  \n');

describe('the details of the scan in the Web UI', () => {
  it('start with the state, and show the progress', () => {
    expect(linesOf({ ...POSITION, state: 'tail' })).toEqual([
      '**tail**',
      'at slot 100, 12 slots behind, 2.4 blocks/s',
      'reported at 2026-01-01T00:00:09.000Z',
    ]);
  });

  it('show the actor, the time and the reason of a pause', () => {
    const paused = { ...POSITION, ...STILL, blocksPerSecond: null, state: 'paused', actor: 'ops' } as const;
    expect(linesOf(paused).slice(0, 2)).toEqual([
      '**paused** by ops since 2026-01-01T00:00:00.000Z: to see',
      'at slot 100, 12 slots behind',
    ]);
  });

  it('show unknown values before the first block', () => {
    const status = { ...POSITION, cursor: null, tip: null, lag: null, blocksPerSecond: null, at: null };
    expect(linesOf({ ...status, state: 'starting' })).toEqual(['**starting**', 'no block read yet']);
  });
});

const SOME = { wallets: 7, accounts: 9, differences: 0, confidential: 0, unread: 0, complete: true };

it.each([
  [SOME, '7 wallets with 9 accounts compared: chain and database agree'],
  [{ ...SOME, differences: 2 }, '7 wallets with 9 accounts compared: **2 differences**'],
  [
    { ...SOME, unread: 3 },
    '7 wallets with 9 accounts compared: chain and database agree  \n3 wallets could not be compared',
  ],
  [
    { ...SOME, complete: false },
    '7 wallets with 9 accounts compared: chain and database agree  \nstopped because the scan is behind; the next round continues',
  ],
])('the details of a reconciliation show its result %#', (report, card) => {
  expect(reconciliationCard(report)).toBe(card);
});
