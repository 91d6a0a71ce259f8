import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { address, chain, inflow, START } from './chain-of-blocks.ts';
import { commit, confirmAll, deleteDeposits, importWallets, useDepositLedgers } from './deposit-ledger.ts';
import { codeOf } from './support.ts';

const use = useDepositLedgers();
const [ANN, BEN, CAT] = [address('ann'), address('ben'), address('cat')];
const MICROSECONDS_OF_2020 = 1_577_836_800_000_000n;

/** This database replaces a newer one, in which the next steps were done already. */
async function restore(): Promise<void> {
  await use.ledger.continuity.pulse();
  await sql`update continuity set identity = 'the old primary'`.execute(use.ledger.db);
}

/** A process whose server has run this long, on a database that was last in use four minutes ago. */
async function afterSilence(serverRanFor: string, source: { ledger: Ledger; url: string }): Promise<Ledger> {
  await sql`create schema if not exists silence`.execute(source.ledger.db);
  await sql`create or replace function silence.pg_postmaster_start_time() returns timestamptz
    return now() - ${sql.lit(serverRanFor)}::interval`.execute(source.ledger.db);
  await source.ledger.continuity.pulse();
  await sql`update continuity set seen_at = now() - interval '4 minutes'`.execute(source.ledger.db);
  const url = new URL(source.url);
  url.searchParams.set('options', '-c search_path=silence,public,pg_catalog');
  return openLedger(url.href);
}

async function heal(): Promise<void> {
  await use.ledger.continuity.quarantine(1n, null);
  await use.ledger.continuity.endGap(1n);
}

async function openAlerts(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 10 });
  return rows.map(({ kind }) => kind);
}

afterEach(async () => {
  await sql`delete from continuity`.execute(use.ledger.db);
  await sql`update deposit_feed set renumbered_for = null`.execute(use.ledger.db);
});

describe('after a restore of the database', () => {
  it('no address that a user may have is assigned to another user, while the database is uncertain or later', async () => {
    const { addresses } = use.ledger;
    await importWallets(use.ledger, ANN, BEN);
    const { address: given } = await addresses.assign('user-1');
    await restore();
    // The rows that a backup from before that assignment restores.
    await sql`update deposit_address set state = 'free', user_ref = null, assigned_at = null`.execute(
      use.ledger.db,
    );
    expect(await codeOf(addresses.assign('user-2'))).toBe('DatabaseIncomplete');
    await heal();
    expect(await codeOf(addresses.assign('user-2'))).toBe('NoFreeAddress');
    expect(await addresses.byAddress(given)).toMatchObject({ state: 'withheld', userRef: null });
    expect(await openAlerts()).toEqual(['addresses_withheld']);
    await importWallets(use.ledger, CAT);
    expect(await addresses.assign('user-2')).toMatchObject({ address: CAT });
  });

  it('a user keeps the address that the backup has', async () => {
    await importWallets(use.ledger, ANN);
    const known = await use.ledger.addresses.assign('user-1');
    await restore();
    expect(await use.ledger.addresses.assign('user-1')).toEqual(known);
    await heal();
    expect(await use.ledger.addresses.assign('user-1')).toEqual(known);
  });

  it('addresses that are imported again before the search ends are watched, and never assigned', async () => {
    const { addresses, importAudits, watched } = use.ledger;
    await restore();
    await addresses.import([{ address: ANN, path: 'm' }], 40n);
    await addresses.import([{ address: BEN, path: 'n' }]);
    expect(await watched.watchKindsOf([ANN, BEN])).toEqual(
      new Map([
        [ANN, 'deposit'],
        [BEN, 'deposit'],
      ]),
    );
    await heal();
    await importAudits.markAudited(ANN, { from: 40n, to: 200n }, await use.ledger.continuity.databaseId());
    expect(await codeOf(addresses.assign('user-1'))).toBe('NoFreeAddress');
    expect((await addresses.byAddress(ANN))?.state).toBe('withheld');
  });

  it.each([
    ['5 minutes', 'assigned', 'free'],
    ['3 minutes', 'withheld', 'withheld'],
  ])(
    'and a silence of four minutes, with the server running for %s, addresses are %s',
    async (ranFor, one, other) => {
      await importWallets(use.ledger, ANN, BEN);
      const ledger = await afterSilence(ranFor, use);
      try {
        expect(await codeOf(ledger.addresses.assign('user-1'))).toBe(
          one === 'assigned' ? 'none' : 'DatabaseIncomplete',
        );
        await ledger.continuity.quarantine(1n, null);
        await ledger.continuity.endGap(1n);
      } finally {
        await ledger.close();
      }
      const states = [ANN, BEN].map(async (wallet) => (await use.ledger.addresses.byAddress(wallet))?.state);
      expect(await Promise.all(states)).toEqual([one, other]);
    },
  );

  it('a deposit to a withheld address is recorded', async () => {
    await importWallets(use.ledger, ANN);
    await restore();
    await heal();
    await commit(use.ledger, chain(START, [inflow(ANN)]));
    await confirmAll(use.ledger);
    expect(await use.ledger.addresses.byAddress(ANN)).toMatchObject({ state: 'used' });
  });
});

describe('the feed of a restored database', () => {
  const deposits = chain(START, [inflow(ANN)], [inflow(ANN, 6n)]);

  it('continues from a far higher sequence, once for each restore, so that no reader misses an event', async () => {
    const { depositFeed, scan, db } = use.ledger;
    await importWallets(use.ledger, ANN);
    await commit(use.ledger, deposits.slice(0, 1));
    await restore();
    const { header } = deposits[0] ?? { header: START };
    expect(await codeOf(depositFeed.events(1_000n, 10))).toBe('DatabaseIncomplete');
    expect((await scan.cursor())?.slot).toBe(header.slot);
    await commit(use.ledger, deposits.slice(1), header);
    const { events, next: end } = await depositFeed.events(1_000n, 10);
    const [next, ...more] = events;
    expect(more).toEqual([]);
    expect(end).toBe(next?.sequence);
    expect(next?.deposit.amount).toBe(6n);
    expect(next?.sequence).toBeGreaterThan(MICROSECONDS_OF_2020);
    await heal();
    const { lastSequence } = await db
      .selectFrom('depositFeed')
      .select('lastSequence')
      .executeTakeFirstOrThrow();
    expect(lastSequence).toBe(next?.sequence);
  });

  it('is above all earlier sequences also where no deposit has come since the end of the gap', async () => {
    await restore();
    await heal();
    expect(await use.ledger.depositFeed.events(1_000n, 10)).toEqual({ events: [], next: 1_000n });
  });

  it('shows a deposit under its former id, whatever else is recorded', async () => {
    await importWallets(use.ledger, ANN);
    const ids = async () => {
      await commit(use.ledger, deposits);
      const { rows } = await use.ledger.deposits.list({ limit: 10 });
      return { public: rows.map(depositId), own: rows.map(({ id }) => id) };
    };
    const before = await ids();
    await deleteDeposits(use.ledger.db);
    await use.ledger.scan.start(START);
    await importWallets(use.ledger, ANN);
    const after = await ids();
    expect(after.public).toEqual(before.public);
    expect(after.own).not.toEqual(before.own);
    expect(new Set(after.public).size).toBe(2);
  });

  it('refuses a reader that is ahead of the database, once the database is certain', async () => {
    await use.ledger.continuity.pulse();
    expect(await codeOf(use.ledger.depositFeed.events(1_000n, 10))).toBe('FeedBehind');
    expect(await use.ledger.depositFeed.events(0n, 10)).toEqual({ events: [], next: 0n });
  });
});
