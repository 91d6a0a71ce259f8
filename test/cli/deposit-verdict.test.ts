import { expect, test } from 'vitest';
import { judgeDeposits, type SentTransfer } from '../../devkit/demo/deposit-verdict.ts';
import type { IncomingTransfer } from '../../devkit/localstack/chain-truth.ts';
import type { DepositEvent } from '../../src/client/client.ts';

const GIFT: SentTransfer = {
  what: 'SOL',
  wallet: 'alice',
  asset: 'SOL',
  sent: 5n,
  received: 5n,
  reason: null,
  signature: 'sig-1',
};
const FAKE: SentTransfer = {
  ...GIFT,
  what: 'fake',
  asset: 'mint',
  reason: 'unknown_mint',
  signature: 'sig-2',
};
const FAILED: SentTransfer = { ...GIFT, what: 'failed', received: 0n, signature: 'sig-3' };
const GIVEN = [GIFT, FAKE, FAILED];

const ARRIVED: IncomingTransfer = {
  signature: 'sig-1',
  slot: 7,
  blockhash: 'h7',
  account: 'alice',
  wallet: 'alice',
  asset: 'SOL',
  amount: 5n,
};
const FAKE_ARRIVED: IncomingTransfer = { ...ARRIVED, signature: 'sig-2', account: 'ata', asset: 'mint' };
const ARRIVALS = [ARRIVED, FAKE_ARRIVED];

type FeedEvent = Pick<DepositEvent['deposit'], 'signature' | 'account' | 'asset' | 'amount' | 'reason'>;

const CREDIT: FeedEvent = { signature: 'sig-1', account: 'alice', asset: 'SOL', amount: '5', reason: null };
const REFUSED: FeedEvent = {
  ...CREDIT,
  signature: 'sig-2',
  account: 'ata',
  asset: 'mint',
  reason: 'unknown_mint',
};

/** A feed of these events, numbered from 1; an event without a reason is final. */
function feedOf(...events: readonly FeedEvent[]): readonly DepositEvent[] {
  return events.map((event, index) => {
    const state = event.reason === null ? 'final' : 'not_credited';
    const rest = { id: String(index), slot: '7', blockhash: null, blockTime: null, wallet: 'alice' };
    const deposit = { ...rest, userRef: null, explorerUrl: '', state, ...event } as const;
    return { sequence: String(index + 1), kind: state, at: '2026-11-21T20:00:00.000Z', deposit };
  });
}

test('the verdict accepts a feed with each arrival once, and its counts are those of the blocks', () => {
  expect(judgeDeposits(GIVEN, ARRIVALS, feedOf(CREDIT, REFUSED))).toEqual({
    made: 1,
    credited: 1,
    notCredited: { unknown_mint: 1 },
    faults: [],
  });
});

test.each([
  ['a credit is missing', feedOf(REFUSED), /SOL: the wallet received 5 base units, the feed has no event/],
  ['a credit occurs twice', feedOf(CREDIT, REFUSED, CREDIT), /has final 5, final 5/],
  ['a credit has another amount', feedOf({ ...CREDIT, amount: '6' }, REFUSED), /received 5 .* final 6/],
  [
    'a fake is credited',
    feedOf(CREDIT, { ...REFUSED, reason: null }),
    /fake: the wallet received 5 .* final 5/,
  ],
  ['the reason differs', feedOf(CREDIT, { ...REFUSED, reason: 'below_minimum' }), /below_minimum/],
  [
    'a failed transaction is credited',
    feedOf(CREDIT, REFUSED, { ...CREDIT, signature: 'sig-3' }),
    /the blocks do not have/,
  ],
  ['the feed skips a number', feedOf(CREDIT, CREDIT, REFUSED).slice(1), /sequence 2 instead of 1/],
] as const)('the verdict reports a fault where %s', (_what, feed, fault) => {
  expect(judgeDeposits(GIVEN, ARRIVALS, feed).faults.join('\n')).toMatch(fault);
});

test('the verdict does not count a pending deposit as credited', () => {
  const [credit, ...rest] = feedOf(CREDIT, REFUSED);
  const pending = credit === undefined ? [] : [{ ...credit, kind: 'pending' } as const];
  expect(judgeDeposits(GIVEN, ARRIVALS, [...pending, ...rest])).toMatchObject({ made: 1, credited: 0 });
});

test.each([
  ['a gift did not arrive', [FAKE_ARRIVED], /SOL: the wallet received nothing/],
  ['a smaller amount arrived', [{ ...ARRIVED, amount: 4n }, FAKE_ARRIVED], /SOL: the wallet received 4/],
  [
    'a withdrawal that must fail has paid',
    [...ARRIVALS, { ...ARRIVED, signature: 'sig-3' }],
    /failed: the wallet received 5/,
  ],
  ['another wallet has paid', [...ARRIVALS, { ...ARRIVED, signature: 'sig-4' }], /the demo did not send it/],
] as const)('the verdict reports a fault where %s', (_what, arrivals, fault) => {
  expect(judgeDeposits(GIVEN, arrivals, feedOf(CREDIT, REFUSED)).faults.join('\n')).toMatch(fault);
});
