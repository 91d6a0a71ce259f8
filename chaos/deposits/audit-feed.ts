import type { Deposit, DepositEvent } from '../../src/client/client.ts';

interface Feeds {
  readonly deposits: readonly Deposit[];
  readonly feed: readonly DepositEvent[];
  readonly followed: readonly DepositEvent[];
}

/** The feed counts 1, 2, 3 …, is what a follower read while faults happened, and leads to the deposits as they are. */
export function feedFindings({ deposits, feed, followed }: Feeds): readonly string[] {
  return [
    ...countFindings('the feed', feed),
    ...countFindings('the follower', followed),
    ...(followed.length === feed.length
      ? []
      : [`the follower read ${followed.length} events, the feed has ${feed.length}`]),
    ...feed.flatMap((event, index) => {
      const then = followed[index];
      return then === undefined || isSame(then, event) ? [] : [`event ${event.sequence} is not what it was`];
    }),
    ...deposits.flatMap((deposit) => historyFindings(deposit, feed)),
  ];
}

function countFindings(follower: string, events: readonly DepositEvent[]): readonly string[] {
  const at = events.findIndex(({ sequence }, index) => sequence !== String(index + 1));
  return at === -1 ? [] : [`${follower} has ${events[at]?.sequence} where ${at + 1} is due`];
}

function isSame(a: DepositEvent, b: DepositEvent): boolean {
  return (
    a.sequence === b.sequence &&
    a.kind === b.kind &&
    a.deposit.id === b.deposit.id &&
    a.deposit.amount === b.deposit.amount
  );
}

/** A reader of the feed that books each `final` event books each deposit once, at its amount. No event follows the final one. */
function historyFindings({ id, state, amount }: Deposit, feed: readonly DepositEvent[]): readonly string[] {
  const events = feed.filter(({ deposit }) => deposit.id === id);
  const finals = events.filter(({ kind }) => kind === 'final');
  const last = events.at(-1);
  return [
    ...(last?.kind === state && last.deposit.amount === amount
      ? []
      : [`deposit ${id} is ${amount} ${state}, the feed ends with ${last?.deposit.amount} ${last?.kind}`]),
    ...(finals.length <= 1 ? [] : [`the feed has deposit ${id} final ${finals.length} times`]),
    ...(finals.length === 0 || last?.kind === 'final'
      ? []
      : [`deposit ${id} was final, and is ${last?.kind}`]),
  ];
}
