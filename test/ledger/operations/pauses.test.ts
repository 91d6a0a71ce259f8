import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Ledger, openLedger } from '../../../src/ledger/ledger.ts';
import {
  attempt,
  codeOf,
  DEAD,
  newId,
  PLENTY,
  preparation,
  REASON,
  reserved,
  resume,
  useLedger,
} from '../support.ts';

const use = useLedger();
const ALARM = { kind: 'unknown_spend', message: 'not recorded' } as const;
const NOTE = { actor: 'ops', reason: 'we look at it' };

describe('a pause', () => {
  it('stops every preparation until it is ended, and gives its reason', async () => {
    const id = await reserved(use.ledger);
    await use.ledger.pauses.begin(NOTE);
    expect(await use.ledger.attempts.prepare(attempt(id), PLENTY)).toEqual({
      kind: 'stopped',
      reason: { code: 'paused', message: 'paused: we look at it (by ops)' },
    });
    expect(await use.ledger.attempts.of(id)).toEqual([]);
    expect(await resume(use.ledger)).toHaveLength(1);
    expect(await preparation(use.ledger, id)).toBe('prepared');
  });

  it('lets earlier prepared attempts land', async () => {
    const id = await reserved(use.ledger);
    expect(await preparation(use.ledger, id)).toBe('prepared');
    await use.ledger.pauses.begin(NOTE);
    expect(await preparation(use.ledger, id)).toBe('prepared');
    expect(await use.ledger.attempts.storeSignature(id, 1, newId('sig'))).toMatchObject({
      state: 'signed',
    });
    await use.ledger.attempts.settle(id, 1, DEAD);
    expect(await preparation(use.ledger, id, 2)).toBe('stopped');
    await resume(use.ledger);
  });

  it('waits for a preparation in progress, and stops the next one', async () => {
    const [first, second] = [await reserved(use.ledger), await reserved(use.ledger)];
    const other = await openLedger(use.url);
    try {
      let isPaused = false;
      // A lock on the wallet of the withdrawals keeps the preparation open after its check for pauses.
      const { began, finish } = await heldWalletLock(other);
      const preparing = preparation(use.ledger, first);
      await began();
      const pausing = use.ledger.pauses.begin(NOTE).then(() => (isPaused = true));
      await waiting(other, 2);
      // The pause waits for the preparation, which waits for the lock; answers of two connections may come in any order later.
      expect(await blockedByWaiting(other)).toBe(1);
      expect(isPaused).toBe(false);
      await finish();
      await pausing;
      expect(await preparing).toBe('prepared');
      expect(await preparation(use.ledger, second)).toBe('stopped');
    } finally {
      await resume(use.ledger);
      await other.close();
    }
  });

  it('by an alert is separate from one by an operator, and a resume ends both and closes the alert', async () => {
    const subject = newId('sig');
    await use.ledger.pauses.begin(NOTE);
    await use.ledger.pauses.pauseWithAlert({ ...ALARM, subject });
    await use.ledger.pauses.pauseWithAlert({ ...ALARM, subject });
    const open = await use.ledger.pauses.listOpen();
    expect(open.map(({ cause, actor }) => [cause, actor])).toEqual([
      ['operator', 'ops'],
      ['unknown_spend', 'sluice'],
    ]);
    const ended = await resume(use.ledger);
    expect(ended.map((row) => row.cause)).toEqual(['operator', 'unknown_spend']);
    expect(await use.ledger.pauses.listOpen()).toEqual([]);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
    expect(rows.filter((row) => row.kind === 'unknown_spend')).toEqual([]);
  });
});

describe('a resume', () => {
  it('is refused, with the text of each alert that pauses and was not acknowledged', async () => {
    const { pauses, alerts } = use.ledger;
    const [first, second] = [newId('sig'), newId('sig')];
    await pauses.begin(NOTE);
    await pauses.pauseWithAlert({ ...ALARM, subject: first });
    const seen = (await alerts.list({ open: true, limit: 200 })).rows.map(({ position }) => position);
    await pauses.pauseWithAlert({ ...ALARM, subject: second, message: 'came while people looked' });
    await expect(pauses.end({ ...NOTE, seen })).rejects.toMatchObject({
      code: 'AlertsUnseen',
      message: expect.stringMatching(/as seen: \d+ unknown_spend: came while people looked$/),
    });
    expect((await pauses.listOpen()).map(({ cause }) => cause)).toEqual(['operator', 'unknown_spend']);
    await alerts.close('unknown_spend', second);
    expect(await pauses.end({ ...NOTE, seen })).toHaveLength(2);
    expect((await alerts.countOpenByKind()).get('unknown_spend')).toBe(0);
  });
});

describe('a withdrawal held by a pause', () => {
  it('may be rejected, cancelled or wait for its customer while no attempt is live', async () => {
    for (const to of ['awaiting_confirmation', 'rejected', 'cancelled'] as const) {
      const id = await reserved(use.ledger);
      await use.ledger.settlements.move(id, 'held', REASON);
      expect((await use.ledger.settlements.move(id, to, REASON)).status).toBe(to);
    }
    const id = await reserved(use.ledger);
    await use.ledger.settlements.move(id, 'held', REASON);
    expect((await use.ledger.settlements.cancel(id, REASON)).status).toBe('cancelled');
  });

  it('may not be rejected or cancelled while an attempt is live', async () => {
    const id = await reserved(use.ledger);
    await preparation(use.ledger, id);
    await use.ledger.settlements.move(id, 'held', REASON);
    for (const to of ['awaiting_confirmation', 'rejected', 'cancelled'] as const)
      expect(await codeOf(use.ledger.settlements.move(id, to, REASON))).toBe('IllegalTransition');
    expect(await codeOf(use.ledger.settlements.cancel(id, REASON))).toBe('NotCancellable');
  });
});

/** Makes every preparation for the wallet `hot` wait; `began` settles when one waits. */
async function heldWalletLock(
  other: Ledger,
): Promise<{ began: () => Promise<void>; finish: () => Promise<void> }> {
  const trx = await other.db.startTransaction().execute();
  await sql`select pg_advisory_xact_lock(hashtextextended('sluice/wallet/hot', 0))`.execute(trx);
  return {
    began: () => waiting(other, 1),
    finish: async () => {
      await trx.commit().execute();
    },
  };
}

async function waiting(other: Ledger, count: number): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ n: bigint }>`select count(*) as n from pg_locks
      where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`.execute(other.db);
    if ((rows[0]?.n ?? 0n) >= BigInt(count)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** How many sessions wait for a session that waits itself. */
async function blockedByWaiting(other: Ledger): Promise<number> {
  const { rows } = await sql<{ n: bigint }>`select count(distinct waiter.pid) as n
    from pg_stat_activity as waiter, unnest(pg_blocking_pids(waiter.pid)) as blocker
    where waiter.datname = current_database() and cardinality(pg_blocking_pids(blocker)) > 0`.execute(
    other.db,
  );
  return Number(rows[0]?.n ?? 0n);
}

describe('a pause of a scope', () => {
  const stopped = async (id: string, changes = {}) =>
    (await use.ledger.attempts.prepare(attempt(id, 1, changes), PLENTY)).kind;

  it('of one kind stops that kind alone, and ends alone', async () => {
    const scope = 'kind/withdrawal' as const;
    await use.ledger.pauses.begin({ ...NOTE, scope: 'kind/x402' });
    expect(await stopped(await reserved(use.ledger))).toBe('prepared');
    await use.ledger.pauses.begin({ ...NOTE, scope });
    const id = await reserved(use.ledger);
    expect(await stopped(id)).toBe('stopped');
    expect(await use.ledger.pauses.end({ ...NOTE, scope })).toMatchObject([{ scope }]);
    expect(await stopped(id)).toBe('prepared');
    expect(await use.ledger.pauses.listOpen()).toMatchObject([{ scope: 'kind/x402' }]);
    expect(await resume(use.ledger)).toHaveLength(1);
  });

  it('of one wallet stops the payments that the wallet signs, and the resume of all others keeps its alert', async () => {
    const scope = 'wallet/fee-payer' as const;
    await use.ledger.pauses.pauseWithAlert({ ...ALARM, subject: newId('sig') }, undefined, scope);
    const id = await reserved(use.ledger);
    const signers = ['fee-payer', 'hot'];
    expect(await stopped(id, { signers })).toBe('stopped');
    expect(await stopped(await reserved(use.ledger))).toBe('prepared');
    const cancelled = await reserved(use.ledger);
    expect(await use.ledger.settlements.cancel(cancelled, REASON)).toMatchObject({ status: 'cancelled' });
    await use.ledger.pauses.end({ ...NOTE, scope: 'kind/withdrawal' });
    expect(await codeOf(use.ledger.pauses.end({ ...NOTE, scope }))).toBe('AlertsUnseen');
    await resume(use.ledger);
    expect(await stopped(id, { signers })).toBe('prepared');
  });
});
