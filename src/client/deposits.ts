import type { Deposit, DepositEvent, DepositFeed } from './api.ts';
import { type FilterOf, ListCalls } from './calls.ts';
import { pathPart, queryOf } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

export interface FollowOptions extends FilterOf<'listDeposits'>, PollOptions {
  /** Sequence of the last event that was handled. @default '0', from the first event */
  readonly after?: string | undefined;
  /** False: ends after the last current event. @default true */
  readonly follow?: boolean;
}

const FEED_SIZE = 200;

export class DepositCalls extends ListCalls<'listDeposits', 'deposits', Deposit> {
  protected readonly path = '/v1/deposits';
  protected readonly items = 'deposits';

  /**
   * All events after `after`, each once and in order, across API restarts. Only `signal` ends it, unless `follow`
   * is false. Store the sequence of the last event in the transaction that books it, and continue from it.
   *
   * @throws SluiceError for errors that waiting cannot resolve; the reason of `signal`.
   *
   * @example
   * for await (const { sequence, kind, deposit } of sluice.deposits.events({ after: lastSequence })) {
   *   await yourDatabase.transaction(async (tx) => {
   *     if (kind === 'final' && deposit.userRef !== null)
   *       await tx.credit(deposit.id, deposit.userRef, deposit.asset, BigInt(deposit.amount)); // once for each id
   *     else if (kind === 'final') await tx.reviewUnassigned(deposit); // it arrived before the address was assigned
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
   * Drops a deposit that one node invented: a quorum of nodes must deny it now. Idempotent.
   *
   * @throws SluiceError `NotFound` (404) if it is not waiting for a quorum, `NotRejectable` (409) if no quorum
   * denies it.
   */
  async reject(id: string, reason: string, options?: CallOptions): Promise<Deposit> {
    return this.send('POST', `${this.path}/${pathPart(id)}/reject`, { reason }, options);
  }
}
