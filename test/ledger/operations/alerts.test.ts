import { describe, expect, it } from 'vitest';
import { codeOf, newId, preparation, reserved, resume, useLedger } from '../support.ts';

const use = useLedger();
const ALARM = { kind: 'unknown_spend', message: 'not recorded' } as const;

describe('an alert', () => {
  it('that is raised again is the same row, with its count increased', async () => {
    const { alerts } = use.ledger;
    const subject = newId('sig');
    await alerts.raise({ ...ALARM, subject, details: { slot: '7' } });
    const again = await alerts.raise({ ...ALARM, subject, message: 'still', details: { slot: '8' } });
    expect(again).toMatchObject({ count: 2, message: 'still', details: { slot: '8' }, closedAt: null });
    expect(await alerts.close('unknown_spend', subject)).toBe(true);
    expect(await alerts.close('unknown_spend', subject)).toBe(false);
    expect(await alerts.raise({ ...ALARM, subject })).toMatchObject({ count: 1 });
    expect(await alerts.subjectsEverRaised('unknown_spend', [subject, 'never'])).toEqual(new Set([subject]));
  });

  it('is one row however many processes raise it at once', async () => {
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
    expect((await alerts.countOpenByKind()).get('node_lagging')).toBe(4);
    expect((await alerts.countOpenByKind()).get('node_silent')).toBe(0);
    expect(await codeOf(alerts.list({ limit: 1, cursor: 'x' }))).toBe('InvalidRequest');
  });
});

describe('an alert about a past event', () => {
  const MISMATCH = { kind: 'deposit_mismatch', message: 'node b was wrong' } as const;
  const LOOKED = { actor: 'ops', reason: 'node b is thrown out' };

  it('is closed by an operator with a note, and is raised anew when the event occurs again', async () => {
    const { alerts } = use.ledger;
    const subject = newId('sig');
    const { position } = await alerts.raise({ ...MISMATCH, subject, details: { asset: 'SOL' } });
    expect(await alerts.acknowledge([position], LOOKED)).toMatchObject([
      {
        position,
        closedAt: expect.any(Date),
        details: { asset: 'SOL', closedBy: 'ops', closedReason: 'node b is thrown out' },
      },
    ]);
    expect(await alerts.acknowledge([position], LOOKED)).toEqual([]);
    expect(await alerts.raise({ ...MISMATCH, subject })).toMatchObject({ count: 1, details: {} });
  });

  it('is closed by its position, and other alerts stay open', async () => {
    const { alerts } = use.ledger;
    const [seen, unseen] = [newId('sig'), newId('sig')];
    const { position } = await alerts.raise({ ...MISMATCH, subject: seen });
    await alerts.raise({ ...MISMATCH, subject: unseen });
    await alerts.acknowledge([position, 999_999n], LOOKED);
    expect(await alerts.close('deposit_mismatch', seen)).toBe(false);
    expect(await alerts.close('deposit_mismatch', unseen)).toBe(true);
  });

  it('is not closed together with an alert that its cause or an order closes', async () => {
    const { alerts } = use.ledger;
    const subject = newId('sig');
    const ours = await alerts.raise({ ...MISMATCH, subject });
    const other = await alerts.raise({ ...ALARM, subject });
    const positions = [ours.position, other.position];
    await expect(alerts.acknowledge(positions, LOOKED)).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringContaining(`${other.position} (unknown_spend)`),
    });
    expect(await alerts.close('deposit_mismatch', subject)).toBe(true);
    expect(await alerts.close('unknown_spend', subject)).toBe(true);
  });
});

describe('a withdrawal with an alert', () => {
  it.each(['dead_attempt_landed', 'attempt_lost'] as const)(
    'of %s is never prepared again, resumed or not',
    async (kind) => {
      const id = await reserved(use.ledger);
      await use.ledger.pauses.pauseWithAlert({ kind, subject: id, message: 'look' }, id);
      expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'held', reason: { code: kind } });
      await resume(use.ledger);
      expect(await preparation(use.ledger, id)).toBe('stopped');
      expect(await preparation(use.ledger, await reserved(use.ledger))).toBe('prepared');
    },
  );

  it('about a possible earlier payment continues when an operator has closed the alert', async () => {
    const id = await reserved(use.ledger);
    await use.ledger.alerts.raise({ kind: 'maybe_paid', subject: id, message: 'look' });
    expect(await preparation(use.ledger, id)).toBe('stopped');
    await use.ledger.alerts.close('maybe_paid', id);
    expect(await preparation(use.ledger, id)).toBe('prepared');
  });
});
