import { beforeEach, describe, expect, it } from 'vitest';
import { startDueAudits } from '../../src/activities/due-audits.ts';
import { type AuditOrder, auditWorkflowId } from '../../src/domain/audit.ts';
import { address } from './chain-of-blocks.ts';
import { useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();

const AT_ONCE = 8;
const HOURS_MS = 2 * 3_600_000;
const names = Array.from({ length: 30 }, (_, n) => address(`late ${n}`));

/** The audits that go on, by workflow id, and all that were begun, by address. */
let running: Map<string, Date>;
let begun: (string | null)[];

beforeEach(async () => {
  [running, begun] = [new Map(), []];
  await use.ledger.addresses.import(
    names.map((one) => ({ address: one, path: `m/${one}` })),
    1n,
  );
});

async function round(): Promise<number> {
  const startAudit = async (order: AuditOrder) => {
    running.set(auditWorkflowId(order), new Date());
    begun.push(order.address);
  };
  return startDueAudits({ ledger: use.ledger, runs: { startAudit, runningAudits: async () => running } });
}

async function closedGaps(count: number): Promise<void> {
  const gaps = Array.from({ length: count }, (_, n) => ({
    fromSlot: BigInt(10_000 + 10 * n),
    toSlot: BigInt(10_001 + 10 * n),
    blockhash: address(`gap ${n}`),
    height: BigInt(9_000 + n),
    state: 'closed' as const,
    endedAt: new Date(),
    who: 'operator',
    why: 'lost',
  }));
  await use.ledger.db.insertInto('scanGap').values(gaps).execute();
}

describe('audits that are due', () => {
  it('are begun no faster than they end', async () => {
    expect([await round(), await round(), await round()]).toEqual([AT_ONCE, 0, 0]);
    const [first = ''] = running.keys();
    running.delete(first);
    expect(await round()).toBe(1);
    expect(begun).toEqual(names.slice(0, AT_ONCE + 1));
  });

  it('begin in turns, however many end unread', async () => {
    for (let rounds = 0; rounds < 5; rounds += 1) {
      await round();
      running.clear();
    }
    expect(begun).toEqual([...names, ...names.slice(0, 10)]);
  });

  it('begin in turns, though those of others never end', async () => {
    for (let rounds = 0; rounds < 5; rounds += 1) {
      await round();
      for (const id of running.keys()) running.set(id, new Date(Date.now() - HOURS_MS));
    }
    expect(begun).toEqual(names);
  });

  it('are begun later each time they end and are not whole, and at once where they are to begin earlier', async () => {
    const { addresses, db } = use.ledger;
    const [first = ''] = names;
    const isDue = async () => (await addresses.toAudit(100)).some(({ address: one }) => one === first);
    await addresses.putOff(first);
    expect(await isDue()).toBe(true);
    const unreadSince = new Date(Date.now() - 20 * 60_000);
    await db.updateTable('depositAddress').set({ unreadSince }).where('address', '=', first).execute();
    await addresses.putOff(first);
    expect(await isDue()).toBe(false);
    await addresses.import([{ address: first, path: `m/${first}` }], 0n);
    expect(await isDue()).toBe(true);
  });

  it('of gaps that never end leave those of imports their places', async () => {
    await closedGaps(20);
    for (let rounds = 0; rounds < 2; rounds += 1) {
      await round();
      running.clear();
    }
    expect(begun.filter((one) => one === null)).toHaveLength(AT_ONCE);
    expect(begun.filter((one) => one !== null)).toEqual(names.slice(0, AT_ONCE));
  });
});
