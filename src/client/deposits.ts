import type { Deposit, DepositEvent, DepositFeed, DepositPage, DepositState } from './api.ts';
import { Calls } from './calls.ts';
import { itemsOf, type PageOptions } from './pages.ts';
import { pathPart, queryOf } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

/** All conditions must match. */
export interface DepositFilter {
  readonly address?: string;
  readonly userRef?: string;
  readonly state?: DepositState;
  /** `SOL` or the address of a mint. */
  readonly asset?: string;
}

export interface FollowOptions extends DepositFilter, PollOptions {
  /** Sequence of the last event that was handled. @default '0', from the first event */
  readonly after?: string;
  /** False: ends after the last current event. @default true */
  readonly follow?: boolean;
}

const PAGE_SIZE = 200;

export class DepositCalls extends Calls {
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
      const ask = () => this.#feed({ ...filter, after: next }, signal);
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
    return this.read(`/v1/deposits/${pathPart(id)}`, options);
  }

  /** All matching deposits in their current state, newest first. Fetches pages as they are read. */
  list(filter: DepositFilter = {}, options?: CallOptions): AsyncGenerator<Deposit, void, undefined> {
    return itemsOf(
      (cursor) => this.page(filter, { cursor, ...options }),
      ({ deposits }) => deposits,
    );
  }

  /** One page of at most `limit` (1-200) deposits. */
  page(filter: DepositFilter = {}, options?: PageOptions): Promise<DepositPage> {
    return this.readPage('/v1/deposits', { ...filter }, { limit: PAGE_SIZE, ...options });
  }

  /**
   * Drops a deposit that one node invented: a quorum of nodes must deny it now. Idempotent.
   *
   * @throws SluiceError `NotFound` (404) if it is not waiting for a quorum, `NotRejectable` (409) if no quorum
   * denies it.
   */
  async reject(id: string, reason: string, options?: CallOptions): Promise<Deposit> {
    return this.send('POST', `/v1/deposits/${pathPart(id)}/reject`, { reason }, options);
  }

  #feed(query: Readonly<Record<string, string>>, signal: AbortSignal | undefined): Promise<DepositFeed> {
    return this.read(`/v1/deposits${queryOf({ limit: PAGE_SIZE, ...query })}`, { signal });
  }
}
