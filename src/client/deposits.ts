import type { DepositState, NotCreditedReason } from '../domain/deposit.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { pathPart, queryOf, type Transport } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';

export type { DepositState, NotCreditedReason };

/** What one transaction brought to one account of a watched wallet. Amounts and slots are decimal strings, times ISO-8601. */
export interface Deposit {
  /** Permanent id of the deposit. Use it as the idempotency key of your booking. */
  readonly id: string;
  readonly signature: string;
  readonly slot: string;
  /** Null where the block could not be had, and only the transaction shows it. */
  readonly blockhash: string | null;
  readonly blockTime: string | null;
  /** Account that received the deposit: the wallet for SOL, else its token account. */
  readonly account: string;
  readonly wallet: string;
  /** Whose wallet it was when this arrived; null where it was nobody's then: such a deposit may be final, and is no user's to have. */
  readonly userRef: string | null;
  /** `SOL` or the address of a mint. */
  readonly asset: string;
  /** Base units received. */
  readonly amount: string;
  readonly state: DepositState;
  /** Why it is not credited, or, while it is pending, will not be by one node's word; null where it is, or was, to be credited. */
  readonly reason: NotCreditedReason | null;
  /** URL of the transaction in a block explorer. */
  readonly explorerUrl: string;
}

/**
 * A deposit came into a state. The sequence counts all events in the order in which they became visible, from 1 on; it has a gap where
 * a filter leaves some out, and where the record was restored.
 */
export interface DepositEvent {
  readonly sequence: string;
  /** State that the deposit entered. */
  readonly kind: DepositState;
  readonly at: string;
  /** As it was then. */
  readonly deposit: Deposit;
}

/** Which deposits; all conditions must hold. */
export interface DepositFilter {
  /** Address of the wallet. */
  readonly address?: string;
  readonly userRef?: string;
  readonly state?: DepositState;
  /** `SOL` or the address of a mint. */
  readonly asset?: string;
}

/** One page of deposits, newest first. */
export interface DepositPage {
  readonly deposits: readonly Deposit[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** Where {@link DepositCalls.events} begins, what it lets through, and how it waits. */
export interface FollowOptions extends DepositFilter, PollOptions {
  /** The sequence of the last event that was handled. @default '0', from the first */
  readonly after?: string;
  /** False: ends where there are no more events now. @default true */
  readonly follow?: boolean;
}

interface Feed {
  readonly events: readonly DepositEvent[];
  /** How far the API looked; the `after` of the call where nothing follows, and only there. */
  readonly next: string;
}

const PAGE_SIZE = 200;

/** Calls about what users have paid. */
export class DepositCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Every event after one, each once and in order, across restarts of the API; only `signal` ends it, unless `follow` is false.
   * Store the sequence of the last event in the transaction that books it, and go on from there.
   *
   * @throws SluiceError for answers that no waiting can change; the reason of `signal`.
   *
   * @example
   * for await (const { sequence, kind, deposit } of sluice.deposits.events({ after: lastSequence })) {
   *   await yourDatabase.transaction(async (tx) => {
   *     if (kind === 'final' && deposit.userRef !== null)
   *       await tx.credit(deposit.id, deposit.userRef, deposit.asset, BigInt(deposit.amount)); // once for each id
   *     else if (kind === 'final') await tx.askWhose(deposit); // it came before the address was anybody's
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

  /** All deposits that match as they are now, newest first; pages are fetched as they are read. */
  async *list(filter: DepositFilter = {}, options?: CallOptions): AsyncGenerator<Deposit, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { deposits } of pages) yield* deposits;
  }

  /** One page of the list, of at most `limit` (1-200) deposits. */
  page(
    filter: DepositFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<DepositPage> {
    const path = `/v1/deposits${queryOf({ limit, ...filter, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Drops one that a node made up: the API asks the nodes, and a quorum of them must deny it. May be repeated.
   *
   * @throws SluiceError `NotFound` (404) where it does not wait for a quorum, `NotRejectable` (409) where no quorum denies it now
   */
  async reject(id: string, reason: string, options?: CallOptions): Promise<Deposit> {
    return this.#transport.call(
      {
        method: 'POST',
        path: `/v1/deposits/${pathPart(id)}/reject`,
        body: { reason },
      },
      options,
    );
  }

  #feed(query: Readonly<Record<string, string>>, signal: AbortSignal | undefined): Promise<Feed> {
    const path = `/v1/deposits${queryOf({ limit: PAGE_SIZE, ...query })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }
}
