import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { attempt, codeOf, DEAD, newId, PLENTY, REASON, resume, useLedger } from './support.ts';
import { terms } from './terms.ts';

const use = useLedger();
const ALARM = { kind: 'unknown_spend', message: 'nobody knows it' } as const;
const WORD = { who: 'ops', why: 'we look at it' };

async function reserved(): Promise<string> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  return id;
}

async function kindOf(id: string, n = 1, ledger: Ledger = use.ledger): Promise<string> {
  return (await ledger.attempts.prepare(attempt(id, n), PLENTY)).kind;
}

describe('an alert', () => {
  it('raised again is the same one, seen once more', async () => {
    const { alerts } = use.ledger;
    const subject = newId('sig');
    await alerts.raise({ ...ALARM, subject, details: { slot: '7' } });
    const again = await alerts.raise({ ...ALARM, subject, message: 'still', details: { slot: '8' } });
    expect(again).toMatchObject({ count: 2, message: 'still', details: { slot: '8' }, closedAt: null });
    expect(await alerts.close('unknown_spend', subject)).toBe(true);
    expect(await alerts.close('unknown_spend', subject)).toBe(false);
    expect(await alerts.raise({ ...ALARM, subject })).toMatchObject({ count: 1 });
    expect(await alerts.everRaised('unknown_spend', [subject, 'never'])).toEqual(new Set([subject]));
  });

  it('is one row however many see it at once', async () => {
    const subject = newId('sig');
    await Promise.all(Array.from({ length: 20 }, () => use.ledger.alerts.raise({ ...ALARM, subject })));
    const { rows } = await use.ledger.alerts.list({ limit: 200 });
    expect(rows.filter((row) => row.subject === subject).map((row) => row.count)).toEqual([20]);
  });

  it('is listed by pages, newest first, open or closed', async () => {
    const { alerts } = use.ledger;
    for (let at = 0; at < 5; at += 1)
      await alerts.raise({ kind: 'node_lagging', subject: `n${at}`, message: '' });
    await alerts.close('node_lagging', 'n3');
    const first = await alerts.list({ open: true, limit: 2 });
    expect(first.rows.map((row) => row.subject)).toEqual(['n4', 'n2']);
    const second = await alerts.list({ open: true, limit: 2, cursor: first.nextCursor ?? '' });
    expect(second.rows.map((row) => row.subject)).toEqual(['n1', 'n0']);
    expect((await alerts.list({ open: false, limit: 200 })).rows.some((row) => row.subject === 'n3')).toBe(
      true,
    );
    expect((await alerts.openByKind()).get('node_lagging')).toBe(4);
    expect((await alerts.openByKind()).get('node_silent')).toBe(0);
    expect(await codeOf(alerts.list({ limit: 1, cursor: 'x' }))).toBe('InvalidRequest');
  });
});

describe('an alert of what has happened', () => {
  const MISMATCH = { kind: 'deposit_mismatch', message: 'node b was wrong' } as const;
  const LOOKED = { who: 'ops', why: 'node b is thrown out' };

  it('ends when somebody has looked into it, with his word, and is raised anew when it happens again', async () => {
    const { alerts } = use.ledger;
    const subject = newId('sig');
    const { position } = await alerts.raise({ ...MISMATCH, subject, details: { asset: 'SOL' } });
    expect(await alerts.endSeen([position], LOOKED)).toMatchObject([
      {
        position,
        closedAt: expect.any(Date),
        details: { asset: 'SOL', closedBy: 'ops', closedWhy: 'node b is thrown out' },
      },
    ]);
    expect(await alerts.endSeen([position], LOOKED)).toEqual([]);
    expect(await alerts.raise({ ...MISMATCH, subject })).toMatchObject({ count: 1, details: {} });
  });

  it('is named by its position, and leaves those that were not named', async () => {
    const { alerts } = use.ledger;
    const [seen, unseen] = [newId('sig'), newId('sig')];
    const { position } = await alerts.raise({ ...MISMATCH, subject: seen });
    await alerts.raise({ ...MISMATCH, subject: unseen });
    await alerts.endSeen([position, 999_999n], LOOKED);
    expect(await alerts.close('deposit_mismatch', seen)).toBe(false);
    expect(await alerts.close('deposit_mismatch', unseen)).toBe(true);
  });

  it('is not closed together with one that its cause or its order ends', async () => {
    const { alerts } = use.ledger;
    const subject = newId('sig');
    const ours = await alerts.raise({ ...MISMATCH, subject });
    const other = await alerts.raise({ ...ALARM, subject });
    const positions = [ours.position, other.position];
    await expect(alerts.endSeen(positions, LOOKED)).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringContaining(`${other.position} (unknown_spend)`),
    });
    expect(await alerts.close('deposit_mismatch', subject)).toBe(true);
    expect(await alerts.close('unknown_spend', subject)).toBe(true);
  });
});

describe('a pause', () => {
  it('lets nothing be prepared until it is ended, and says why', async () => {
    const id = await reserved();
    await use.ledger.pauses.begin(WORD);
    expect(await use.ledger.attempts.prepare(attempt(id), PLENTY)).toEqual({
      kind: 'stopped',
      reason: { code: 'paused', message: 'paused: we look at it (by ops)' },
    });
    expect(await use.ledger.attempts.of(id)).toEqual([]);
    expect(await resume(use.ledger)).toHaveLength(1);
    expect(await kindOf(id)).toBe('prepared');
  });

  it('leaves what was prepared before to its landing', async () => {
    const id = await reserved();
    expect(await kindOf(id)).toBe('prepared');
    await use.ledger.pauses.begin(WORD);
    expect(await kindOf(id)).toBe('prepared');
    expect(await use.ledger.attempts.storeSignature(id, 1, newId('sig'), 'AQID')).toMatchObject({
      state: 'signed',
    });
    await use.ledger.attempts.settle(id, 1, DEAD);
    expect(await kindOf(id, 2)).toBe('stopped');
    await resume(use.ledger);
  });

  it('waits for a preparation that is under way, and stops the next', async () => {
    const [first, second] = [await reserved(), await reserved()];
    const other = await openLedger(use.url);
    try {
      const order: string[] = [];
      // A lock on the withdrawals' wallet keeps the preparation open after it has looked for pauses.
      const { began, finish } = await heldWalletLock(other);
      const preparing = kindOf(first).then((kind) => order.push(kind));
      await began();
      const pausing = use.ledger.pauses.begin(WORD).then(() => order.push('paused'));
      await waiting(other, 2);
      await finish();
      await Promise.all([preparing, pausing]);
      expect(order).toEqual(['prepared', 'paused']);
      expect(await kindOf(second)).toBe('stopped');
    } finally {
      await resume(use.ledger);
      await other.close();
    }
  });

  it('of an alarm is apart from an operator’s; a resume ends both and closes the alert', async () => {
    const subject = newId('sig');
    await use.ledger.pauses.begin(WORD);
    await use.ledger.pauses.sound({ ...ALARM, subject });
    await use.ledger.pauses.sound({ ...ALARM, subject });
    const open = await use.ledger.pauses.open();
    expect(open.map(({ cause, who }) => [cause, who])).toEqual([
      ['operator', 'ops'],
      ['unknown_spend', 'sluice'],
    ]);
    const ended = await resume(use.ledger);
    expect(ended.map((row) => row.cause)).toEqual(['operator', 'unknown_spend']);
    expect(await use.ledger.pauses.open()).toEqual([]);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
    expect(rows.filter((row) => row.kind === 'unknown_spend')).toEqual([]);
  });
});

describe('a resume', () => {
  it('is refused, with the text of each, where an alert that pauses was not looked at', async () => {
    const { pauses, alerts } = use.ledger;
    const [first, second] = [newId('sig'), newId('sig')];
    await pauses.begin(WORD);
    await pauses.sound({ ...ALARM, subject: first });
    const seen = (await alerts.list({ open: true, limit: 200 })).rows.map(({ position }) => position);
    await pauses.sound({ ...ALARM, subject: second, message: 'came while people looked' });
    await expect(pauses.end({ ...WORD, seen })).rejects.toMatchObject({
      code: 'AlertsUnseen',
      message: expect.stringMatching(/not named are \d+ unknown_spend: came while people looked$/),
    });
    expect((await pauses.open()).map(({ cause }) => cause)).toEqual(['operator', 'unknown_spend']);
    await alerts.close('unknown_spend', second);
    expect(await pauses.end({ ...WORD, seen })).toHaveLength(2);
    expect((await alerts.openByKind()).get('unknown_spend')).toBe(0);
  });
});

describe('a withdrawal held by a pause', () => {
  it('may still be rejected, cancelled or wait for its customer while no attempt lives', async () => {
    for (const to of ['awaiting_confirmation', 'rejected', 'cancelled'] as const) {
      const id = await reserved();
      await use.ledger.withdrawals.move(id, 'held', REASON);
      expect((await use.ledger.withdrawals.move(id, to, REASON)).status).toBe(to);
    }
    const id = await reserved();
    await use.ledger.withdrawals.move(id, 'held', REASON);
    expect((await use.ledger.withdrawals.cancel(id, REASON)).status).toBe('cancelled');
  });

  it('may not, while one lives', async () => {
    const id = await reserved();
    await kindOf(id);
    await use.ledger.withdrawals.move(id, 'held', REASON);
    for (const to of ['awaiting_confirmation', 'rejected', 'cancelled'] as const)
      expect(await codeOf(use.ledger.withdrawals.move(id, to, REASON))).toBe('IllegalTransition');
    expect(await codeOf(use.ledger.withdrawals.cancel(id, REASON))).toBe('NotCancellable');
  });
});

describe('a withdrawal under suspicion', () => {
  it.each(['dead_attempt_landed', 'record_lost'] as const)(
    'of %s is never prepared again, resumed or not',
    async (kind) => {
      const id = await reserved();
      await use.ledger.pauses.sound({ kind, subject: id, message: 'look' }, id);
      expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'held', reason: { code: kind } });
      await resume(use.ledger);
      expect(await kindOf(id)).toBe('stopped');
      expect(await kindOf(await reserved())).toBe('prepared');
    },
  );

  it('of being paid already goes on when people have closed the alert', async () => {
    const id = await reserved();
    await use.ledger.alerts.raise({ kind: 'maybe_paid', subject: id, message: 'look' });
    expect(await kindOf(id)).toBe('stopped');
    await use.ledger.alerts.close('maybe_paid', id);
    expect(await kindOf(id)).toBe('prepared');
  });
});

describe('a record', () => {
  it('that nobody has pulsed yet is trusted; later it must be the same one, without a long silence', async () => {
    const { continuity } = use.ledger;
    expect(await kindOf(await reserved())).toBe('prepared');
    expect(await continuity.pulse()).toBeNull();
    expect(await kindOf(await reserved())).toBe('prepared');

    await sql`update continuity set seen_at = now() - interval '181 seconds'`.execute(use.ledger.db);
    await expectQuarantine(/may be an older copy/);
    await sql`update continuity set identity = 'another/00000001/5/16384'`.execute(use.ledger.db);
    await expectQuarantine(/restored copy/);
  });

  it('is another one when its tables were made anew from a dump', async () => {
    const { continuity, db } = use.ledger;
    expect(await continuity.pulse()).toBeNull();
    await sql`alter table attempt rename to attempt_before`.execute(db);
    await sql`create table attempt (like attempt_before)`.execute(db);
    expect(await continuity.pulse()).toMatchObject({ why: expect.stringMatching(/restored copy/) });
    await sql`drop table attempt`.execute(db);
    await sql`alter table attempt_before rename to attempt`.execute(db);
    expect(await continuity.pulse()).toBeNull();
  });
});

async function expectQuarantine(why: RegExp): Promise<void> {
  const { continuity } = use.ledger;
  const id = await reserved();
  expect(await continuity.pulse()).toEqual({
    why: expect.stringMatching(why),
    quarantineHeight: null,
    noncesSettled: false,
  });
  await continuity.quarantine(1_000n, null);
  await continuity.quarantine(2_000n, null);
  expect(await continuity.pulse()).toMatchObject({ quarantineHeight: 1_000n });
  expect(await use.ledger.attempts.prepare(attempt(id), PLENTY)).toMatchObject({
    kind: 'stopped',
    reason: { code: 'record_restored', message: expect.stringMatching(why) },
  });
  await continuity.heal(2_000n);
  expect(await kindOf(id)).toBe('stopped');
  await continuity.heal(1_000n);
  expect(await continuity.pulse()).toBeNull();
  expect(await kindOf(id)).toBe('prepared');
}

/** Keeps every preparation for the wallet `hot` waiting; `began` settles when one waits. */
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
