import type { Deposit, DepositEvent, DepositFeed } from './api.ts';
import { type FilterOf, ListCalls } from './calls.ts';
import { pathPart, queryOf } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

export interface FollowOptions extends FilterOf<'listDeposits'>, PollOptions {
  /** Sequence of the last event that you have handled. @default '0', all events */
  readonly after?: string | undefined;
  /** False: ends after the newest event instead of waiting for the next one. @default true */
  readonly follow?: boolean;
}

const FEED_SIZE = 200;

export class DepositCalls extends ListCalls<'listDeposits', 'deposits', Deposit> {
  protected readonly path = '/v1/deposits';
  protected readonly items = 'deposits';

  /**
   * Returns all events after `after`, each once and in order, also across API restarts. Only `signal` ends the
   * iteration, unless `follow` is false. Store each event's sequence in the transaction that books the event, and pass
   * the last one as `after` to continue.
   *
   * @throws SluiceError for errors that waiting cannot resolve; the reason of `signal`.
   *
   * @example
   * for await (const { sequence, kind, deposit } of sluice.deposits.events({ after: lastSequence })) {
   *   await yourDatabase.transaction(async (tx) => {
   *     if (kind === 'final' && deposit.userRef !== null)
   *       await tx.credit(deposit.id, deposit.userRef, deposit.asset, BigInt(deposit.amount)); // once for each id
   *     else if (kind === 'final') await tx.reviewUnassigned(deposit); // the address had no user yet
   *     await tx.rememberSequence(sequence);
   *   });
   * }
   */
  async *events(options: FollowOptions = {}): AsyncGenerator<DepositEvent, void, undefined> {
    const { after = '0', follow = true, signal, onSilence, pollMs = 1_000, ...filter } = options;
    for (let next = after; ; ) {
      const path = `${this.path}${queryOf({ limit: FEED_SIZE, ...filter, after: next })}`;
      const ask = () => this.read<DepositFeed>(path, { signal });
      const feed = await (follow ? untilAnswered(ask, { signal, onSilence, pollMs }) : ask());
      yield* feed.events;
      const isAtEnd = feed.next === next;
      next = feed.next;
      if (!isAtEnd) continue;
      if (!follow) return;
      await delay(pollMs, signal);
    }
  }

  /**
   * The deposit in its current state.
   *
   * @throws SluiceError `NotFound` (404).
   */
  get(id: string, options?: CallOptions): Promise<Deposit> {
    return this.read(`${this.path}/${pathPart(id)}`, options);
  }

  /**
   * Drops a pending deposit that only one node reported, if a quorum of nodes denies it now. Idempotent.
   *
   * @throws SluiceError `NotFound` (404) if the deposit does not wait for a quorum, `NotRejectable` (409) if no
   * quorum denies it.
   */
  async reject(id: string, reason: string, options?: CallOptions): Promise<Deposit> {
    return this.send('POST', `${this.path}/${pathPart(id)}/reject`, { reason }, options);
  }
}
