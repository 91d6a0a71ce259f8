import { describe, expect, it } from 'vitest';
import { auditDeposits, type DepositEvidence } from '../../chaos/deposits/audit.ts';
import type { IncomingTransfer } from '../../devkit/localstack/chain-truth.ts';
import type { Deposit, DepositEvent } from '../../src/client/client.ts';
import type { BlockHeader } from '../../src/domain/deposit.ts';

const arrival: IncomingTransfer = {
  signature: 's1',
  slot: 9,
  blockhash: 'h9',
  account: 'W',
  wallet: 'W',
  asset: 'SOL',
  amount: 5n,
};

const fake: IncomingTransfer = { ...arrival, signature: 's2', account: 'ATA', asset: 'other', amount: 7n };

const credit: Deposit = {
  id: '1',
  signature: 's1',
  slot: '9',
  blockhash: 'h9',
  blockTime: null,
  account: 'W',
  wallet: 'W',
  userRef: 'user',
  asset: 'SOL',
  amount: '5',
  state: 'final',
  reason: null,
  explorerUrl: '',
};

const refused: Deposit = {
  ...credit,
  id: '2',
  signature: 's2',
  account: 'ATA',
  asset: 'other',
  amount: '7',
  state: 'not_credited',
  reason: 'unknown_mint',
};

const event = (sequence: number, deposit: Deposit): DepositEvent => ({
  sequence: String(sequence),
  kind: deposit.state,
  at: '',
  deposit,
});

const header = (slot: number, parent: number): BlockHeader => ({
  slot: BigInt(slot),
  blockhash: `h${slot}`,
  parentSlot: BigInt(parent),
  previousBlockhash: `h${parent}`,
  height: BigInt(slot === 10 ? 9 : slot),
  time: null,
});

/** Slot 8 is skipped by the chain, and the scan began at 6. */
const blocks = [5, 6, 7, 9, 10].map((slot) => ({
  slot,
  blockhash: `h${slot}`,
  previousBlockhash: `h${slot === 9 ? 7 : slot - 1}`,
}));
const headers = [header(6, 5), header(7, 6), { ...header(9, 7), height: 8n }, header(10, 9)];
const feed = [event(1, { ...credit, state: 'pending' }), event(2, refused), event(3, credit)];

const clean: DepositEvidence = {
  paid: [{ signature: 's1', wallet: 'W', asset: 'SOL', userRef: 'user' }],
  arrivals: [arrival, fake],
  blocks,
  assets: new Map([['SOL', { minimum: 3n }]]),
  accountOf: (wallet, asset) => (asset === 'SOL' ? wallet : 'ATA'),
  deposits: [credit, refused],
  feed,
  followed: feed,
  headers,
  cursor: { slot: 10n, blockhash: 'h10' },
  openGaps: 0,
};

const judged = (change: Partial<DepositEvidence>) => auditDeposits({ ...clean, ...change });

describe('the audit of deposits', () => {
  it('passes with one exact credit per deposit, and none for a fake', () => {
    expect(judged({})).toEqual({
      deposits: { made: 1, credited: 1, duplicates: 0, missed: 0 },
      findings: [],
    });
  });

  it('allows an announced deposit that is withdrawn', () => {
    const dropped: Deposit = { ...credit, id: '3', signature: 's3', blockhash: 'forked', state: 'dropped' };
    const events = [...feed, event(4, dropped)];
    expect(judged({ deposits: [credit, refused, dropped], feed: events, followed: events }).findings).toEqual(
      [],
    );
  });

  it.each<[string, Partial<Deposit>]>([
    ['another amount', { amount: '4' }],
    ['another slot', { slot: '8' }],
    ['another block', { blockhash: 'forked' }],
    ['another wallet', { wallet: 'V' }],
    ['another user', { userRef: 'other' }],
  ])('reports a deposit as missed when its credit has %s', (_, change) => {
    const { deposits, findings } = judged({ deposits: [{ ...credit, ...change }, refused] });
    expect(deposits).toMatchObject({ credited: 0, missed: 1, duplicates: 1 });
    expect(findings.length).toBeGreaterThan(0);
  });

  it.each<[string, readonly Deposit[]]>([
    ['is not recorded', [refused]],
    ['is still pending', [{ ...credit, state: 'pending' }, refused]],
    ['is refused', [{ ...credit, state: 'not_credited', reason: 'internal' }, refused]],
  ])('reports a deposit as missed when it %s', (_, deposits) => {
    expect(judged({ deposits }).deposits).toEqual({ made: 1, credited: 0, duplicates: 0, missed: 1 });
  });

  it.each<[string, Deposit]>([
    ['a second credit for a deposit', { ...credit, id: '3' }],
    ['a credit for a transfer that no block contains', { ...credit, id: '3', signature: 'failed' }],
    ['a credit for a fake', { ...refused, id: '3', state: 'final', reason: null }],
  ])('counts %s', (_, extra) => {
    expect(judged({ deposits: [credit, refused, extra] }).deposits).toMatchObject({ duplicates: 1 });
  });

  it.each<[string, Partial<DepositEvidence>]>([
    [
      'a fake with the wrong reason for its refusal',
      { deposits: [credit, { ...refused, reason: 'internal' }] },
    ],
    ['a fake that is not recorded', { deposits: [credit] }],
    ['an uncredited row for a transfer that no block contains', { arrivals: [arrival] }],
    [
      'a deposit that its payer has and the blocks do not',
      { paid: [...clean.paid, { signature: 's9', wallet: 'W', asset: 'SOL', userRef: 'user' }] },
    ],
    ['a deposit without a payer', { paid: [] }],
    ['a credited deposit below the minimum', { assets: new Map([['SOL', { minimum: 6n }]]) }],
    ['an account that is not the associated one', { accountOf: () => 'elsewhere' }],
  ])('reports %s', (_, change) => {
    expect(judged(change).findings).not.toEqual([]);
  });

  it.each<[string, Partial<DepositEvidence>]>([
    ['leaves a number out', { feed: [event(1, credit), event(3, refused)] }],
    ['repeats a number', { feed: [event(1, credit), event(1, refused)] }],
    ['does not begin with 1', { feed: [event(2, credit), event(3, refused)] }],
    [
      'has another end than the deposit',
      { feed: [event(1, { ...credit, state: 'pending' }), event(2, refused)] },
    ],
    ['has another amount', { feed: [event(1, { ...credit, amount: '6' }), event(2, refused)] }],
    ['lacks a deposit', { feed: [event(1, credit)] }],
    ['has a deposit final twice', { feed: [event(1, credit), event(2, refused), event(3, credit)] }],
    [
      'reverses a credit and repeats it',
      {
        feed: [
          event(1, credit),
          event(2, { ...credit, state: 'dropped' }),
          event(3, credit),
          event(4, refused),
        ],
      },
    ],
  ])('reports a feed that %s', (_, change) => {
    expect(judged({ ...change, followed: change.feed ?? [] }).findings).not.toEqual([]);
  });

  it('reports a follower that read other events than the feed now has', () => {
    expect(judged({ followed: feed.slice(0, 2) }).findings).toHaveLength(1);
    const other = [feed[0], event(2, credit), feed[2]].flatMap((one) => one ?? []);
    expect(judged({ followed: other }).findings).toHaveLength(1);
    expect(judged({ followed: [feed[0], feed[2]].flatMap((one) => one ?? []) }).findings).not.toEqual([]);
  });

  it.each<[string, Partial<DepositEvidence>]>([
    ['never began', { headers: [], cursor: null }],
    ['lacks a block', { headers: headers.filter(({ slot }) => slot !== 7n) }],
    [
      'holds a block of a fork',
      { headers: headers.map((one) => (one.slot === 7n ? { ...one, blockhash: 'fork' } : one)) },
    ],
    [
      'holds a block that the chain skipped',
      { headers: headers.flatMap((one) => (one.slot === 9n ? [header(8, 7), one] : [one])) },
    ],
    [
      'has another parent than the chain',
      { headers: headers.map((one) => (one.slot === 7n ? { ...one, previousBlockhash: 'x' } : one)) },
    ],
    [
      'has a wrong height',
      { headers: headers.map((one) => (one.slot === 10n ? { ...one, height: 10n } : one)) },
    ],
    [
      'has a wrong parent slot',
      { headers: headers.map((one) => (one.slot === 9n ? { ...one, parentSlot: 8n } : one)) },
    ],
    ['has a cursor below its last block', { cursor: { slot: 9n, blockhash: 'h9' } }],
    ['names a block of a fork', { cursor: { slot: 10n, blockhash: 'fork' } }],
    [
      'follows a fork to its end',
      {
        headers: headers.map((one) => (one.slot === 10n ? { ...one, blockhash: 'fork' } : one)),
        cursor: { slot: 10n, blockhash: 'fork' },
      },
    ],
    ['has not reached a deposit', { headers: headers.slice(0, 2), cursor: { slot: 7n, blockhash: 'h7' } }],
    ['is stopped at a gap', { openGaps: 1 }],
    ['began on another chain', { headers: [header(3, 2)], cursor: { slot: 3n, blockhash: 'h3' } }],
  ])('reports a scan that %s', (_, change) => {
    expect(judged(change).findings).not.toEqual([]);
  });
});
