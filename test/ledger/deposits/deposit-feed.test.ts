import fc from 'fast-check';
import type { KyselyPlugin } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { DepositState } from '../../../src/domain/deposit.ts';
import { appendEvents, DepositFeed, lockFeed } from '../../../src/ledger/deposits/deposit-feed.ts';
import type { DepositFilter } from '../../../src/ledger/deposits/deposit-row.ts';
import { addDeposits } from '../../../src/ledger/deposits/deposit-writing.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { address, chain, childOf, EMPTY_FINDING, inflow, START } from '../chain-of-blocks.ts';
import {
  commit,
  confirmAll,
  confirmationOf,
  deleteDeposits,
  importWallets,
  onlyDeposit,
  useDepositLedgers,
  waitForLockWaits,
} from '../deposit-ledger.ts';

const use = useDepositLedgers();
const [ANN, BEN, MINT] = ['ann', 'ben', 'mint'].map(address) as [string, string, string];

async function feed(): Promise<readonly unknown[]> {
  const { events } = await use.ledger.depositFeed.events(0n, 100);
  return events.map(({ sequence, kind, deposit }) => [sequence, kind, deposit.amount]);
}

describe('the feed', () => {
  it('shows no event before those of lower sequences, however late they are committed', async () => {
    await importWallets(use.ledger, ANN, BEN);
    const [first, second] = chain(START, [inflow(ANN, 1n)], [inflow(BEN, 2n)]);
    if (first === undefined || second === undefined) throw new Error('two blocks');
    await commit(use.ledger, [first]);
    const row = await onlyDeposit(use.ledger);
    // A commit updates the open gap after it has written its events: a lock on the gap keeps the events uncommitted.
    await use.ledger.gaps.open(first.header, { ...childOf(first.header, { skipped: 5 }), parentSlot: 106n });
    const slow = await use.other.db.startTransaction().execute();
    await slow.selectFrom('scanGap').selectAll().forUpdate().execute();
    const committing = commit(use.ledger, [second], first.header);
    await waitForLockWaits(use.ledger.db);
    const confirming = use.other.deposits.confirm([confirmationOf(row)]);
    await Promise.race([waitForLockWaits(use.ledger.db, 2), confirming]);
    expect(await feed()).toEqual([[1n, 'pending', 1n]]);
    await slow.commit().execute();
    expect(await committing).toBe('committed');
    await confirming;
    expect(await feed()).toEqual([
      [1n, 'pending', 1n],
      [2n, 'pending', 2n],
      [3n, 'final', 1n],
    ]);
  });

  it('has one event for a deposit that two rescans find at once', async () => {
    await importWallets(use.ledger, ANN);
    const blocks = chain(START, [inflow(ANN)]);
    await commit(
      use.ledger,
      blocks.map(({ header }) => ({ header, finding: EMPTY_FINDING })),
    );
    const watchVersion = await use.ledger.watched.version();
    const again = { blocks, watchVersion };
    const readers = [use.ledger, use.other, use.ledger, use.other];
    const results = await Promise.all(readers.map(({ scan }) => scan.upsert(again)));
    expect(new Set(results)).toEqual(new Set(['committed']));
    expect(await feed()).toEqual([[1n, 'pending', 5n]]);
  });
});

const aReader = fc.record({
  limit: fc.integer({ min: 1, max: 3 }),
  maxExamined: fc.bigInt({ min: 1n, max: 5n }),
  filter: fc.record(
    {
      address: fc.constantFrom(ANN, BEN),
      asset: fc.constantFrom('SOL', MINT),
      state: fc.constantFrom<DepositState>('pending', 'final'),
    },
    { requiredKeys: [] },
  ),
});
const somePayments = fc.array(
  fc.record({ wallet: fc.constantFrom(ANN, BEN), asset: fc.constantFrom('SOL', MINT) }),
  { minLength: 1, maxLength: 4 },
);
const aStep = fc.oneof(
  fc.record({ do: fc.constant('pay' as const), payments: somePayments }),
  fc.record({ do: fc.constant('confirm' as const) }),
  fc.record({ do: fc.constant('read' as const) }),
  /** Deposits that stay uncommitted until the readers have read. */
  fc.record({ do: fc.constant('pay late' as const), payments: somePayments }),
  /** Deposits that are committed between the first and the second query of a reader. */
  fc.record({ do: fc.constant('pay between' as const), payments: somePayments }),
  fc.record({ do: fc.constant('leap' as const) }),
);
type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer T> ? T : never;

async function take(step: Drawn<typeof aStep>, readers: readonly FeedPager[]): Promise<void> {
  switch (step.do) {
    case 'pay':
      return (await pay(use.other, step.payments))();
    case 'confirm':
      return confirmAll(use.other);
    case 'read':
      for (const reader of readers) await reader.read();
      return;
    case 'pay late': {
      const committed = await pay(use.other, step.payments);
      for (const reader of readers) await reader.read();
      return committed();
    }
    case 'pay between':
      for (const reader of readers) await reader.read(async () => (await pay(use.other, step.payments))());
      return;
    // As in a restored database.
    case 'leap':
      await use.other.db
        .updateTable('depositFeed')
        .set((column) => ({ lastSequence: column('lastSequence', '+', 1_000n) }))
        .execute();
  }
}

let paid = 0;

/** Writes deposits and their events; the returned function commits them. */
async function pay(
  { db }: Ledger,
  payments: readonly { readonly wallet: string; readonly asset: string }[],
): Promise<() => Promise<void>> {
  const trx = await db.startTransaction().execute();
  const lockedFeed = await lockFeed(trx);
  const arrivals = payments.map(({ wallet, asset }) => {
    paid += 1;
    return {
      ...inflow(wallet, 5n, { asset, signature: `paid-${paid}` }),
      slot: 90n,
      blockhash: 'b',
      time: null,
    };
  });
  await appendEvents(lockedFeed, await addDeposits(lockedFeed, arrivals));
  return async () => {
    await trx.commit().execute();
  };
}

/** A callback that runs once, when the first statement is answered. */
class AfterFirst implements KyselyPlugin {
  #happens: (() => Promise<void>) | null;

  constructor(happens: () => Promise<void>) {
    this.#happens = happens;
  }

  transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node;

  transformResult: KyselyPlugin['transformResult'] = async ({ result }) => {
    const happens = this.#happens;
    this.#happens = null;
    await happens?.();
    return result;
  };
}

/** Continues with the cursor of the page before. */
class FeedPager {
  readonly seen: bigint[] = [];
  readonly #how: Drawn<typeof aReader>;
  #after = 0n;

  constructor(how: Drawn<typeof aReader>) {
    this.#how = how;
  }

  /** Reads one page; `between` runs during the read. Returns whether more may follow. */
  async read(between: (() => Promise<void>) | null = null): Promise<boolean> {
    const { limit, maxExamined, filter } = this.#how;
    const { db } = use.ledger;
    const reading = between === null ? db : db.withPlugin(new AfterFirst(between));
    const { events, next } = await new DepositFeed(reading, { maxExamined }).events(
      this.#after,
      limit,
      filter,
    );
    expect(events.length).toBeLessThanOrEqual(limit);
    this.seen.push(...events.map(({ sequence }) => sequence));
    const hasNext = next > this.#after;
    this.#after = next;
    return hasNext;
  }

  async readAll(): Promise<void> {
    while (await this.read());
  }

  /** Every event that the filter passes, read all at once. */
  async expected(): Promise<readonly bigint[]> {
    const { address: wallet, asset, state } = this.#how.filter;
    const rows = await use.ledger.db
      .selectFrom('depositEvent')
      .innerJoin('deposit', 'deposit.id', 'depositEvent.depositId')
      .select(['sequence', 'kind', 'wallet', 'asset'])
      .orderBy('sequence')
      .execute();
    return rows
      .filter((row) => (wallet ?? row.wallet) === row.wallet && (asset ?? row.asset) === row.asset)
      .filter((row) => (state ?? row.kind) === row.kind)
      .map(({ sequence }) => sequence);
  }
}

describe('a page of the feed', () => {
  it('ends after a fixed number of events, whatever its filter passes, and returns how far it read', async () => {
    await importWallets(use.ledger, ANN);
    const seven = Array.from({ length: 7 }, (_, index) => inflow(ANN, BigInt(index + 1)));
    await commit(use.ledger, chain(START, [...seven, inflow(ANN, 8n, { asset: MINT })]));
    const brief = new DepositFeed(use.ledger.db, { maxExamined: 3n });
    const look = async (after: bigint, limit: number, filter: DepositFilter) => {
      const { events, next } = await brief.events(after, limit, filter);
      return [events.map(({ sequence }) => sequence), next];
    };
    expect(await look(0n, 5, { asset: MINT })).toEqual([[], 3n]);
    expect(await look(3n, 5, { asset: MINT })).toEqual([[], 6n]);
    expect(await look(6n, 5, { asset: MINT })).toEqual([[8n], 8n]);
    expect(await look(8n, 5, { asset: MINT })).toEqual([[], 8n]);
    expect(await look(0n, 2, { asset: 'SOL' })).toEqual([[1n, 2n], 2n]);
    expect(await look(0n, 5, {})).toEqual([[1n, 2n, 3n], 3n]);
  });

  it('that continues with `next` shows each event that passes the filter once, and misses none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aReader, { minLength: 1, maxLength: 3 }),
        fc.array(aStep, { minLength: 4, maxLength: 12 }),
        async (drawn, steps) => {
          await deleteDeposits(use.ledger.db);
          await use.ledger.scan.start(START);
          await importWallets(use.ledger, ANN, BEN);
          const readers = drawn.map((one) => new FeedPager(one));
          for (const step of steps) await take(step, readers);
          for (const reader of readers) {
            await reader.readAll();
            expect(reader.seen).toEqual(await reader.expected());
          }
        },
      ),
      { numRuns: 20 },
    );
  });
});
