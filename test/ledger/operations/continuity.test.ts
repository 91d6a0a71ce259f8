import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Continuity } from '../../../src/ledger/operations/continuity.ts';
import { attempt, PLENTY, preparation, reserved, useLedger } from '../support.ts';

const use = useLedger();

describe('a database', () => {
  it('without a pulse is trusted, and later must be the same one without a long silence', async () => {
    const { continuity } = use.ledger;
    expect(await preparation(use.ledger, await reserved(use.ledger))).toBe('prepared');
    expect(await continuity.pulse()).toBeNull();
    expect(await preparation(use.ledger, await reserved(use.ledger))).toBe('prepared');

    await sql`update continuity set seen_at = now() - interval '181 seconds'`.execute(use.ledger.db);
    await expectQuarantine(/may have been restored/);
    await sql`update continuity set identity = 'another/00000001/5/16384'`.execute(use.ledger.db);
    await expectQuarantine(/on another server/);
  });

  it('is uncertain when its write-ahead log ends earlier than before, as the disk was rolled back', async () => {
    const ends = [7_000n, 7_000n, 6_999n];
    const continuity = new Continuity(use.ledger.db, async () => ends.shift() ?? 0n);
    expect([await continuity.pulse(), await continuity.pulse()]).toEqual([null, null]);
    expect(await continuity.pulse()).toMatchObject({ reason: expect.stringMatching(/on another server/) });
    // Another process, which has not seen the longer log, does not overwrite its position.
    expect(await use.ledger.continuity.pulse()).not.toBeNull();
    await continuity.quarantine(1_000n, null);
    await continuity.endGap(1_000n);
    expect(await use.ledger.continuity.pulse()).toBeNull();
  });

  it('is another one when its tables were restored from a dump', async () => {
    const { continuity, db } = use.ledger;
    expect(await continuity.pulse()).toBeNull();
    await sql`alter table attempt rename to attempt_before`.execute(db);
    await sql`create table attempt (like attempt_before)`.execute(db);
    expect(await continuity.pulse()).toMatchObject({ reason: expect.stringMatching(/on another server/) });
    await sql`drop table attempt`.execute(db);
    await sql`alter table attempt_before rename to attempt`.execute(db);
    expect(await continuity.pulse()).toBeNull();
  });
});

async function expectQuarantine(reason: RegExp): Promise<void> {
  const { continuity } = use.ledger;
  const id = await reserved(use.ledger);
  expect(await continuity.pulse()).toEqual({
    reason: expect.stringMatching(reason),
    quarantineHeight: null,
    noncesSettled: false,
  });
  await continuity.quarantine(1_000n, null);
  await continuity.quarantine(2_000n, null);
  expect(await continuity.pulse()).toMatchObject({ quarantineHeight: 1_000n });
  expect(await use.ledger.attempts.prepare(attempt(id), PLENTY)).toMatchObject({
    kind: 'stopped',
    reason: { code: 'database_restored', message: expect.stringMatching(reason) },
  });
  await continuity.endGap(2_000n);
  expect(await preparation(use.ledger, id)).toBe('stopped');
  await continuity.endGap(1_000n);
  expect(await continuity.pulse()).toBeNull();
  expect(await preparation(use.ledger, id)).toBe('prepared');
}
