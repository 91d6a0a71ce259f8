import { beforeEach, describe, expect, it } from 'vitest';
import { startDueAudits } from '../../src/deposits/backfill/due-audits.ts';
import type { ImportAuditCommand } from '../../src/domain/audit.ts';
import { backfillWorkflowId } from '../../src/domain/backfill.ts';
import { address } from './chain-of-blocks.ts';
import { useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();

const AT_ONCE = 500;
const HOURS_MS = 2 * 3_600_000;
const names = Array.from({ length: 30 }, (_, n) => address(`late ${n}`));
const many = Array.from({ length: AT_ONCE }, (_, n) => address(`many ${n}`));

/** The running audits by workflow id, and all started audits by address. */
let running: Map<string, Date>;
let begun: string[];

beforeEach(async () => {
  [running, begun] = [new Map(), []];
  await withPast(names);
});

async function withPast(addresses: readonly string[]): Promise<void> {
  const entries = addresses.map((one) => ({ address: one, path: `m/${one}` }));
  await use.ledger.addresses.import(entries, 1n);
}

async function round(): Promise<number> {
  const startBackfill = async (order: ImportAuditCommand) => {
    running.set(backfillWorkflowId(order), new Date());
    begun.push(order.address);
  };
  return startDueAudits({
    ledger: use.ledger,
    runs: { startBackfill, runningBackfills: async () => running },
  });
}

describe('due audits', () => {
  it('of imports start once each, and beyond some hundred no faster than earlier ones end', async () => {
    expect([await round(), await round()]).toEqual([names.length, 0]);
    expect(begun).toEqual(names);
    await withPast(many);
    expect([await round(), await round()]).toEqual([AT_ONCE - names.length, 0]);
    const [first = ''] = running.keys();
    running.delete(first);
    expect(await round()).toBe(1);
    expect(begun).toEqual([...names, ...many.slice(0, AT_ONCE - names.length + 1)]);
  });

  it('start in turns, however many end incomplete', async () => {
    await withPast(many);
    for (let rounds = 0; rounds < 2; rounds += 1) {
      await round();
      running.clear();
    }
    expect(begun).toEqual([...names, ...many, ...names, ...many].slice(0, 2 * AT_ONCE));
  });

  it('start in turns, though the audits of other addresses never end', async () => {
    await withPast(many);
    for (let rounds = 0; rounds < 2; rounds += 1) {
      await round();
      for (const id of running.keys()) running.set(id, new Date(Date.now() - HOURS_MS));
    }
    expect(begun.slice(0, names.length + AT_ONCE)).toEqual([...names, ...many]);
  });

  it('start later after each incomplete end, and at once where an earlier start slot is set', async () => {
    const { addresses, importAudits, continuity, db } = use.ledger;
    const record = await continuity.databaseId();
    const [first = ''] = names;
    const isDue = async () => (await importAudits.listDue(100)).some(({ address: one }) => one === first);
    await importAudits.scheduleRetry(first, record);
    expect(await isDue()).toBe(true);
    const unreadSince = new Date(Date.now() - 20 * 60_000);
    await db.updateTable('depositAddress').set({ unreadSince }).where('address', '=', first).execute();
    await importAudits.scheduleRetry(first, record);
    expect(await isDue()).toBe(false);
    await addresses.import([{ address: first, path: `m/${first}` }], 0n);
    expect(await isDue()).toBe(true);
  });

  it('are not delayed by an audit that started in another database', async () => {
    const { addresses, importAudits } = use.ledger;
    const [first = ''] = names;
    await importAudits.scheduleRetry(first, 'another');
    expect(await addresses.byAddress(first)).toMatchObject({ unreadSince: null, auditAfter: null });
  });
});
