import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { AuditOrder } from '../../src/domain/audit.ts';
import { auditIn, closedGapIn, dueAuditsIn, openAlertsIn } from './audit-support.ts';
import { useScanRoom } from './scan-fixture.ts';

const room = useScanRoom();

/** Nothing that comes to this wallet can be put on record, by a defect, until what is answered is called. */
async function unrecordable(wallet: string): Promise<() => Promise<void>> {
  const { db } = room.ledger;
  await sql`create function refuse() returns trigger language plpgsql as 'begin raise exception $$refused$$; end'`.execute(
    db,
  );
  await sql`create trigger refused before insert on deposit for each row
    when (new.wallet = ${sql.lit(wallet)}) execute function refuse()`.execute(db);
  return async () => {
    await sql`drop function refuse cascade`.execute(db);
  };
}

async function dueAudit(): Promise<AuditOrder> {
  const [order, ...others] = await dueAuditsIn(room);
  if (order === undefined || others.length > 0) throw new Error('one audit is due');
  return order;
}

it('the audit of a gap is held up by no wallet, and asks again for those alone that it could not read', async () => {
  const { gaps, gapAudits } = room.ledger;
  const [whole, torn] = [await room.newDepositAddress(), await room.newDepositAddress()];
  const slots = await closedGapIn(room, async () => {
    for (const wallet of [whole, torn]) await room.localnet.airdrop(wallet, 8_000_000n);
  });
  const mend = await unrecordable(torn);
  expect(await auditIn(room, await dueAudit())).toMatchObject({ addresses: 1, found: 1, unread: 1 });
  expect((await room.depositsOf(whole)).map(({ amount }) => amount)).toEqual([8_000_000n]);
  expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([`${slots.from}-${slots.to}`]);
  expect(await gapAudits.wallets(slots, null, 10)).toEqual([torn]);
  expect(await gaps.list(1)).toMatchObject([{ auditedAt: null }]);
  expect(await auditIn(room, await dueAudit())).toMatchObject({ addresses: 0, unread: 1 });
  await mend();
  expect(await auditIn(room, await dueAudit())).toMatchObject({ addresses: 1, found: 1, unread: 0 });
  expect((await room.depositsOf(torn)).map(({ amount }) => amount)).toEqual([8_000_000n]);
  expect(await openAlertsIn(room, 'audit_incomplete')).toEqual([]);
  expect(await dueAuditsIn(room)).toEqual([]);
  expect(await gaps.list(1)).toMatchObject([{ auditedAt: expect.any(Date) }]);
});
