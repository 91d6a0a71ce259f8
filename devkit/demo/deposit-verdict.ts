import type { DepositEvent } from '../../src/client/client.ts';
import type { IncomingTransfer } from '../localstack/chain-truth.ts';
import type { Gift } from './depositors.ts';
import type { DemoRow } from './table.ts';

/** A {@link Gift} and the transaction that made it. */
export interface SentGift extends Gift {
  readonly signature: string;
}

export interface DepositVerdict {
  readonly made: number;
  /** Events `final` of the feed. */
  readonly credited: number;
  /** Events `not_credited` of the feed, by reason. */
  readonly notCredited: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

/**
 * Holds the feed against `arrivals`, all that the blocks show to have come to the wallets of the users: each arrival has exactly one
 * outcome, of the exact amount, and nothing else has one. That the arrivals are the gifts is proved, too.
 *
 * @param feed all its events, from the first
 */
export function judgeDeposits(
  gifts: readonly SentGift[],
  arrivals: readonly IncomingTransfer[],
  feed: readonly DepositEvent[],
): DepositVerdict {
  const outcomes = feed.filter(({ kind }) => kind === 'final' || kind === 'not_credited');
  const final = outcomes.filter(({ kind }) => kind === 'final');
  const genuine = arrivals.filter((arrival) => giftOf(gifts, arrival)?.reason === null);
  const strangers = outcomes.filter(({ deposit }) => !arrivals.some((arrival) => isOf(arrival, deposit)));
  return {
    made: genuine.length,
    credited: final.length,
    notCredited: countReasons(outcomes),
    faults: [
      ...gifts.flatMap((gift) => giftFault(gift, arrivals)),
      ...arrivals.flatMap((arrival) => arrivalFault(arrival, giftOf(gifts, arrival), outcomes)),
      ...strangers.map(({ kind, deposit }) => `${kind}, and not in the blocks: ${deposit.signature}`),
      ...gapsOf(feed),
    ],
  };
}

export function depositRows(
  gifts: readonly SentGift[],
  arrivals: readonly IncomingTransfer[],
  feed: readonly DepositEvent[],
): readonly DemoRow[] {
  return gifts.map((gift) => {
    const arrival = arrivals.find((one) => giftOf([gift], one) !== undefined);
    const last = feed.findLast(({ deposit }) => arrival !== undefined && isOf(arrival, deposit));
    return {
      what: gift.what,
      status: arrival === undefined ? 'nothing arrived' : stateOf(last),
      sent: gift.sent.toString(),
      onChain: (arrival?.amount ?? 0n).toString(),
      note: gift.signature,
    };
  });
}

function stateOf(event: DepositEvent | undefined): string {
  if (event === undefined) return 'not in the feed';
  const { reason } = event.deposit;
  return reason === null ? event.kind : `${event.kind}: ${reason}`;
}

function giftOf(gifts: readonly SentGift[], arrival: IncomingTransfer): SentGift | undefined {
  return gifts.find(
    (gift) =>
      gift.signature === arrival.signature && gift.wallet === arrival.wallet && gift.asset === arrival.asset,
  );
}

function giftFault(gift: SentGift, arrivals: readonly IncomingTransfer[]): readonly string[] {
  const found = arrivals.filter((arrival) => giftOf([gift], arrival) !== undefined);
  const amounts = found.map(({ amount }) => amount).join(' + ');
  const expected = gift.arrives === 0n ? '' : gift.arrives.toString();
  return amounts === expected ? [] : [`${gift.what}: the blocks show ${amounts || 'nothing'}`];
}

function arrivalFault(
  arrival: IncomingTransfer,
  gift: SentGift | undefined,
  outcomes: readonly DepositEvent[],
): readonly string[] {
  const { signature, amount, asset } = arrival;
  if (gift === undefined)
    return [`transaction ${signature} brought ${amount} ${asset}, but the demo did not send it`];
  const reported = outcomes.filter(({ deposit }) => isOf(arrival, deposit));
  const right = reported.filter(
    ({ deposit }) => BigInt(deposit.amount) === amount && deposit.reason === gift.reason,
  );
  if (reported.length === 1 && right.length === 1) return [];
  const seen = reported.map(({ kind, deposit }) =>
    `${kind} ${deposit.amount} ${deposit.reason ?? ''}`.trimEnd(),
  );
  return [`${gift.what}: ${amount} arrived, the feed has ${seen.join(', ') || 'no event'}`];
}

function isOf(arrival: IncomingTransfer, deposit: DepositEvent['deposit']): boolean {
  return (
    deposit.signature === arrival.signature &&
    deposit.account === arrival.account &&
    deposit.asset === arrival.asset
  );
}

function countReasons(outcomes: readonly DepositEvent[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { deposit } of outcomes)
    if (deposit.reason !== null) counts[deposit.reason] = (counts[deposit.reason] ?? 0) + 1;
  return counts;
}

function gapsOf(feed: readonly DepositEvent[]): readonly string[] {
  return feed.flatMap(({ sequence }, index) =>
    sequence === String(index + 1) ? [] : [`the feed has ${sequence} in the place of ${index + 1}`],
  );
}
