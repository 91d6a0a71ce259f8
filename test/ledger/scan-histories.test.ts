import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BlockFinding, BlockHeader, Inflow } from '../../src/domain/deposit.ts';
import { isDomainError } from '../../src/domain/errors.ts';
import type { Database } from '../../src/ledger/database.ts';
import { DepositAddresses } from '../../src/ledger/deposits/deposit-addresses.ts';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { Deposits } from '../../src/ledger/deposits/deposits.ts';
import { Rejections } from '../../src/ledger/deposits/rejections.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { MatchedBlock } from '../../src/ledger/scan/scan.ts';
import { Scan } from '../../src/ledger/scan/scan.ts';
import type { Cursor } from '../../src/ledger/scan/scan-cursor.ts';
import { StagedRanges } from '../../src/ledger/scan/staged-ranges.ts';
import type { MatchedBlocks } from '../../src/ledger/scan/watched.ts';
import { address, childOf, EMPTY_FINDING, inflow, START } from './chain-of-blocks.ts';
import { Crash, confirmAll, confirmationOf, deleteDeposits, useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();
const WALLETS = Array.from({ length: 5 }, (_, index) => address(`wallet-${index}`));

/** A payment in some block to the wallet with this number. */
const payment = fc.record({ wallet: fc.nat(4), low: fc.boolean() });
const anyChain = fc.array(fc.record({ skipped: fc.nat(2), payments: fc.array(payment, { maxLength: 3 }) }), {
  minLength: 4,
  maxLength: 14,
});
const at = fc.nat(13);
const actor = fc.nat(1);
/** The statement before which the process dies; mostly none. */
const crash = fc.option(fc.integer({ min: 1, max: 14 }), { freq: 2, nil: null });
const anyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      actor,
      crash,
      count: fc.integer({ min: 1, max: 4 }),
      isAnswerReceived: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('import' as const), actor, crash, wallet: fc.nat(4) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('upsert' as const), actor, crash, from: at, count: fc.nat(5) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('announce' as const),
      actor,
      crash,
      from: at,
      fork: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('confirm' as const), actor, crash }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reject' as const), actor, crash }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('stage' as const),
      actor,
      crash,
      from: at,
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('join' as const), actor, crash }) },
);
type HistoryStep = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

interface DrawnBlock {
  readonly header: BlockHeader;
  readonly inflows: readonly Inflow[];
}

function chainOf(
  drawn: readonly { skipped: number; payments: readonly { wallet: number; low: boolean }[] }[],
): DrawnBlock[] {
  let last = START;
  return drawn.map(({ skipped, payments }) => {
    last = childOf(last, { skipped });
    const inflows = payments.map(({ wallet, low }, index) =>
      inflow(WALLETS[wallet] ?? '', BigInt(index + 1), {
        signature: `${last.blockhash}-${index}`,
        reason: low ? 'below_minimum' : null,
      }),
    );
    return { header: last, inflows };
  });
}

/** The finding of a scanner that watches these wallets. */
const findingOf = ({ inflows }: DrawnBlock, known: ReadonlySet<string>): BlockFinding => ({
  ...EMPTY_FINDING,
  inflows: inflows.filter(({ wallet }) => known.has(wallet)),
});

/** A scanner with its own copy of the cursor and of the watch set, which may be stale. */
class Scanner {
  readonly #ledger: Ledger;
  readonly #blocks: readonly DrawnBlock[];
  #cursor: Cursor = START;
  #known = new Set<string>();
  #version = 0n;

  constructor(ledger: Ledger, blocks: readonly DrawnBlock[]) {
    this.#ledger = ledger;
    this.#blocks = blocks;
  }

  async do(step: HistoryStep): Promise<void> {
    const { db } = this.#ledger;
    try {
      await this.#do(step, step.crash === null ? db : db.withPlugin(new Crash(step.crash)));
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }

  async readAnew(): Promise<void> {
    this.#cursor = (await this.#ledger.scan.cursor()) ?? START;
    await this.#readWatchSet();
  }

  async #readWatchSet(): Promise<void> {
    const { version, wallets } = await this.#ledger.watched.changesSince(0n);
    this.#version = version;
    this.#known = new Set(wallets.map((wallet) => wallet.address));
  }

  async #do(step: HistoryStep, db: Database): Promise<void> {
    switch (step.do) {
      case 'commit':
        return this.#commit(new Scan(db), step.count, step.isAnswerReceived);
      case 'import':
        await new DepositAddresses(db).import([{ address: WALLETS[step.wallet] ?? '', path: 'm' }]);
        return;
      case 'upsert':
        return this.#upsert(new Scan(db), this.#blocks.slice(step.from, step.from + step.count));
      case 'announce':
        return this.#announce(new Deposits(db), this.#blocks.slice(step.from, step.from + 2), step.fork);
      case 'confirm': {
        const rows = await this.#ledger.deposits.unconfirmed(3);
        await new Deposits(db).confirm(rows.map((row) => confirmationOf(row)));
        return;
      }
      case 'reject':
        return this.#reject(new Rejections(db));
      case 'stage':
        return this.#stage(new StagedRanges(db), this.#blocks.slice(step.from, step.from + step.count));
      case 'join':
        await new StagedRanges(db).join(this.#cursor);
    }
  }

  async #commit(scan: Scan, count: number, isAnswerReceived: boolean): Promise<void> {
    const next = this.#blocks.filter(({ header }) => header.slot > this.#cursor.slot).slice(0, count);
    const expected = this.#cursor;
    const result = await this.#matchedFor(next, (matched) => scan.commit({ expected, ...matched }));
    const last = next.at(-1)?.header;
    if (result !== 'committed') await this.readAnew();
    else if (isAnswerReceived && last !== undefined) this.#cursor = last;
  }

  async #upsert(scan: Scan, wanted: readonly DrawnBlock[]): Promise<void> {
    const { slot } = (await this.#ledger.scan.cursor()) ?? START;
    await scan.upsert(this.#matched(wanted.filter(({ header }) => header.slot <= slot)));
  }

  /** A false denial of a quorum; a confirmation may be faster. */
  async #reject(rejections: Rejections): Promise<void> {
    const [row] = await this.#ledger.deposits.unconfirmed(1);
    if (row === undefined) return;
    try {
      await rejections.reject({ row, actor: 'ops', reason: 'denied', deniedBy: ['first', 'second'] });
    } catch (error) {
      if (!isDomainError(error, 'NotRejectable')) throw error;
    }
  }

  async #announce(deposits: Deposits, blocks: readonly DrawnBlock[], fork: boolean): Promise<void> {
    await deposits.announce(
      blocks.map((block) => ({
        header: fork ? { ...block.header, blockhash: `${block.header.blockhash}x` } : block.header,
        finding: findingOf(block, this.#known),
      })),
    );
  }

  async #stage(ranges: StagedRanges, blocks: readonly DrawnBlock[]): Promise<void> {
    const [first, last] = [blocks[0]?.header.slot, blocks.at(-1)?.header.slot];
    if (first !== undefined && last !== undefined)
      await this.#matchedFor(blocks, (matched) => ranges.stage({ from: first, to: last, ...matched }));
  }

  /** Matches again if wallets were added since, as the matcher does. */
  async #matchedFor<Result>(
    blocks: readonly DrawnBlock[],
    commit: (matched: MatchedBlocks<MatchedBlock>) => Promise<Result>,
  ): Promise<Result> {
    const result = await commit(this.#matched(blocks));
    if (result !== 'watch_set_changed') return result;
    await this.#readWatchSet();
    return commit(this.#matched(blocks));
  }

  #matched(blocks: readonly DrawnBlock[]): MatchedBlocks<MatchedBlock> {
    const found = blocks.map((block) => ({ header: block.header, finding: findingOf(block, this.#known) }));
    return { blocks: found, watchVersion: this.#version };
  }
}

/** Reads the feed as a customer does, by public ids: never sees a sequence out of order, and never books a deposit twice. */
class FeedReader {
  readonly #kinds = new Map<string, string>();
  readonly #booked = new Set<string>();
  #last = 0n;

  /** The number of events. */
  async read(ledger: Ledger): Promise<number> {
    const { events, next } = await ledger.depositFeed.events(this.#last, 3);
    for (const { sequence, kind, deposit } of events) {
      expect(sequence).toBe(this.#last + 1n);
      this.#last = sequence;
      const id = depositId(deposit);
      if (kind === 'final') expect(this.#booked).not.toContain(id);
      if (kind === 'final') this.#booked.add(id);
      this.#kinds.set(id, kind);
    }
    expect(next).toBe(this.#last);
    return events.length;
  }

  async readAll(ledger: Ledger): Promise<ReadonlyMap<string, string>> {
    while ((await this.read(ledger)) > 0);
    return this.#kinds;
  }
}

async function expectAllRecorded(
  blocks: readonly DrawnBlock[],
  kinds: ReadonlyMap<string, string>,
): Promise<void> {
  const { ledger } = use;
  const last = blocks.at(-1)?.header ?? START;
  expect(await ledger.scan.cursor()).toMatchObject({ slot: last.slot, blockhash: last.blockhash });
  const headers = blocks.map(({ header }) => header);
  expect(await ledger.scan.headersBetween(START.slot + 1n, last.slot)).toEqual(headers);
  const { rows } = await ledger.deposits.list({ limit: 1_000 });
  const listed = rows.map((row) => [depositId(row), row.state] as const);
  expect(new Map(listed)).toEqual(kinds);
  expect(listed).toHaveLength(kinds.size);
  const finalized = rows.filter(({ finalizedAt }) => finalizedAt !== null);
  expect(rows.every(({ state, finalizedAt }) => finalizedAt !== null || state === 'dropped')).toBe(true);
  expect(finalized.filter(({ state }) => state === 'dropped')).toEqual([]);
  const name = ({ signature, wallet, amount }: Pick<Inflow, 'signature' | 'wallet' | 'amount'>) =>
    `${signature}/${wallet}/${amount}`;
  const made = new Map(
    blocks.flatMap(({ header, inflows }) => inflows.map((one) => [name(one), header.slot])),
  );
  const found = finalized.map(name);
  expect(new Set(found).size).toBe(found.length);
  expect(found.filter((one) => !made.has(one))).toEqual([]);
  for (const { inflows, header } of blocks)
    for (const one of inflows) {
      const watched = await ledger.addresses.byAddress(one.wallet);
      if (watched !== undefined && header.slot > (watched.watchedAfter ?? 0n))
        expect(found).toContain(name(one));
    }
}

it('the ledger has each deposit once, an unbroken chain and a feed without a gap through crashes, races and repeats', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyChain,
      fc.array(fc.array(anyStep, { minLength: 1, maxLength: 3 }), { maxLength: 14 }),
      async (drawn, rounds) => {
        await deleteDeposits(use.ledger.db);
        await use.ledger.scan.start(START);
        const blocks = chainOf(drawn);
        const scanners = [new Scanner(use.ledger, blocks), new Scanner(use.other, blocks)];
        const reader = new FeedReader();
        for (const round of rounds)
          await Promise.all([
            ...round.map((step) => scanners[step.actor]?.do(step)),
            reader.read(use.ledger),
          ]);
        const [first] = scanners;
        await first?.readAnew();
        await first?.do({ do: 'commit', actor: 0, crash: null, count: 100, isAnswerReceived: true });
        await first?.do({ do: 'commit', actor: 0, crash: null, count: 100, isAnswerReceived: true });
        // Rejected deposits are read again.
        await first?.do({ do: 'upsert', actor: 0, crash: null, from: 0, count: 100 });
        await confirmAll(use.ledger);
        await expectAllRecorded(blocks, await reader.readAll(use.ledger));
      },
    ),
    { numRuns: 25 },
  );
});
