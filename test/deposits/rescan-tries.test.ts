import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import type { ScanRange, Slots } from '../../src/domain/scan.ts';
import { presentBackfill } from '../../src/http/deposits/backfills.ts';
import type { BackfillRow } from '../../src/ledger/scan/backfills.ts';
import { environmentOfRun } from '../support/activity.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(2);
const BY = { actor: 'ops', reason: 'to see' };
const PAID = 4_000_000n;

/** Scanned slots with unrecorded payments of a wallet; more than one progress update covers. */
async function missedIn(): Promise<Slots & { readonly wallet: string }> {
  await fixture.scanAll(fixture.scanner());
  const from = ((await fixture.ledger.scan.cursor())?.slot ?? 0n) + 1n;
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, PAID);
  fixture.finalize(20);
  await fixture.scanAll(fixture.scanner());
  await fixture.lose(await fixture.depositsOf(wallet));
  return { from, to: (await fixture.ledger.scan.cursor())?.slot ?? 0n, wallet };
}

/** Rescans them; `meanwhile` runs once the database has the progress of the first of them. */
async function rescan({ from, to }: Slots, meanwhile?: () => Promise<unknown>): Promise<unknown> {
  const { backfills } = fixture.ledger;
  const record = backfills.record.bind(backfills);
  let progressCount = 0;
  backfills.record = async (of, matched, progress) => {
    if (progressCount === 1) await meanwhile?.();
    if (progressCount > 0 || progress !== undefined) progressCount += 1;
    return record(of, matched, progress);
  };
  try {
    return await environmentOfRun().run(() =>
      createDepositRescan(fixture.deps()).rescan({ ...inWords({ from, to }), ...BY }),
    );
  } finally {
    backfills.record = record;
  }
}

function inWords({ from, to }: Slots): ScanRange {
  return { from: `${from}`, to: `${to}` };
}

async function newest(): Promise<BackfillRow> {
  const [row] = (await fixture.ledger.backfills.list({ limit: 1 })).rows;
  if (row === undefined) throw new Error('there is one');
  return row;
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
}

afterEach(async () => {
  await sql`delete from continuity`.execute(fixture.ledger.db);
});

describe('an attempt of a rescan', () => {
  it('that was given up and still runs ends, and the reason it was given up stays recorded', async () => {
    const slots = await missedIn();
    const ended = rescan(slots, () => fixture.ledger.backfills.giveUp(slots, 'no node for a day'));
    await expect(ended).rejects.toMatchObject({ code: 'Unavailable' });
    const row = await newest();
    expect(row.readTo).toBeLessThan(slots.to);
    expect(presentBackfill(row)).toMatchObject({ state: 'given_up', trouble: 'no node for a day' });
  });

  it('that was given up after its last block is not reported as done', async () => {
    const { backfills } = fixture.ledger;
    const slots = await missedIn();
    const begun = await backfills.begin({ ...slots, ...BY });
    await backfills.giveUp(slots, 'cancelled');
    await expect(backfills.end(begun, { blocks: 0, unread: [], read: [] })).rejects.toMatchObject({
      code: 'Unavailable',
    });
    expect(presentBackfill(await newest())).toMatchObject({ state: 'given_up', trouble: 'cancelled' });
  });

  describe('in a database that was lost', () => {
    /** Replaces the database by a backup, taken after `of` was applied to it. */
    async function restore(of: () => Promise<unknown>): Promise<void> {
      await fixture.ledger.continuity.pulse();
      await of();
      await sql`update continuity set identity = 'the old primary'`.execute(fixture.ledger.db);
    }

    async function heal(): Promise<void> {
      await fixture.ledger.continuity.quarantine(1n, null);
      await fixture.ledger.continuity.endGap(1n);
    }

    it('changes no rescan of the restored database, though that rescan has its number', async () => {
      const [lost, other] = [await missedIn(), await missedIn()];
      const { backfills, db } = fixture.ledger;
      const ended = rescan(lost, () =>
        restore(async () => {
          const { position } = await newest();
          await db.deleteFrom('backfill').where('position', '=', position).execute();
          await sql`select setval(pg_get_serial_sequence('backfill', 'position'), ${position}, false)`.execute(
            db,
          );
          expect(await backfills.begin({ ...other, ...BY })).toMatchObject({ position });
        }),
      );
      await expect(ended).rejects.toMatchObject({ code: 'Unavailable' });
      const untouched = { from: other.from, to: other.to, state: 'reading', readTo: null, trouble: null };
      expect(presentBackfill(await newest())).toMatchObject(untouched);
      await heal();
      await rescan(other);
      expect(await amountsOf(other.wallet)).toEqual([PAID]);
    });

    it('reports none of its results in the restored database, and the next attempt finds them there', async () => {
      const slots = await missedIn();
      const ended = rescan(slots, () =>
        restore(async () => {
          await fixture.lose(await fixture.depositsOf(slots.wallet));
          await sql`update backfill set read_to = null, blocks = 0, found = 0 where ended_at is null`.execute(
            fixture.ledger.db,
          );
        }),
      );
      await expect(ended).rejects.toMatchObject({ code: 'Unavailable' });
      await heal();
      expect(await rescan(slots)).toMatchObject({ found: 1 });
      expect(await amountsOf(slots.wallet)).toEqual([PAID]);
    });
  });
});
