import { userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { callSluice } from '../support/call-sluice.ts';
import { lastWord } from '../support/cli.ts';
import { freshDatabase } from '../support/postgres.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let ledger: Ledger;

beforeAll(async () => {
  database = await freshDatabase();
  ledger = await openLedger(database.url);
});
afterAll(async () => {
  await ledger?.close();
  await database?.drop();
});

/** What a command prints last on stdout, and its exit code; no API is there. */
async function sluice(...args: readonly string[]): Promise<{ json: unknown; code: number | null }> {
  const ended = await callSluice([...args, '--json'], { env: { DATABASE_URL: database.url } });
  return { json: lastWord(ended), code: ended.code };
}

describe('the commands for operations, without an API', () => {
  it('pause and resume in the name of the user', async () => {
    const pause = { cause: 'operator', reason: 'we look at it', who: userInfo().username };
    expect(await sluice('pause', 'we look at it')).toMatchObject({ json: { pauses: [pause] }, code: 0 });
    expect(await ledger.pauses.open()).toMatchObject([pause]);
    expect(await sluice('resume', 'done')).toMatchObject({ json: { pauses: [pause] }, code: 0 });
    expect(await ledger.pauses.open()).toEqual([]);
    expect((await sluice('pause', '  ')).code).toBe(2);
  });

  it('show alerts and close one', async () => {
    await ledger.alerts.raise({ kind: 'maybe_paid', subject: 'order-1', message: 'look at it' });
    const alert = {
      kind: 'maybe_paid',
      subject: 'order-1',
      message: 'look at it',
      runbook: 'docs/runbooks/maybe_paid.md',
      count: 1,
      closedAt: null,
    };
    expect(await sluice('alerts')).toMatchObject({ json: { alerts: [alert] }, code: 0 });
    for (const kind of ['webhook_dead_letter', 'deposit_unowned'] as const)
      await ledger.alerts.raise({ kind, subject: 'it', message: 'so it is' });
    const { stdout } = await callSluice(['alerts'], { env: { DATABASE_URL: database.url } });
    expect(stdout).toMatch(/^position {2}last seen {2}kind {2}subject {2}message\n/);
    expect(stdout).toContain(
      'so it is; `sluice webhooks replay it` tries again; see docs/runbooks/webhook_dead_letter.md\n',
    );
    expect(stdout).toMatch(
      /^(\d+) .* so it is; looked into: `sluice alerts seen \1 <why>`; see docs\/runbooks\/deposit_unowned\.md$/m,
    );
    for (const kind of ['webhook_dead_letter', 'deposit_unowned'] as const)
      await ledger.alerts.close(kind, 'it');
    for (const kind of ['maybe_paid', 'dead_attempt_landed', 'payment_keeps_failing'])
      expect((await sluice('alerts', 'close', 'order-1', '--kind', kind)).code).toBe(2);
    expect(await sluice('alerts', 'close', 'order-1', 'not paid', '--kind', 'maybe_paid')).toMatchObject({
      json: { closed: true },
      code: 0,
    });
    expect(await sluice('alerts')).toMatchObject({ json: { alerts: [] }, code: 0 });
    expect((await sluice('alerts', 'close', 'order-1', 'not paid', '--kind', 'maybe_paid')).code).toBe(3);
    expect(await sluice('alerts', '--all')).toMatchObject({
      json: { alerts: [{ subject: 'it' }, { subject: 'it' }, { subject: 'order-1' }] },
    });
  });

  it('close alerts of what has happened, in the name of the user who looked into them', async () => {
    const alarm = { kind: 'deposit_mismatch', message: 'node b was wrong' } as const;
    const { position } = await ledger.alerts.raise({ ...alarm, subject: 'sig' });
    expect((await sluice('alerts', 'seen', `${position}`, ' ')).code).toBe(2);
    expect((await sluice('alerts', 'seen', 'all', 'node b is out')).code).toBe(2);
    expect(await sluice('alerts', 'seen', `${position}`, 'node b is out')).toMatchObject({
      json: { alerts: [{ details: { closedBy: userInfo().username, closedWhy: 'node b is out' } }] },
      code: 0,
    });
    expect((await sluice('alerts', 'seen', `${position}`, 'node b is out')).code).toBe(3);
  });

  it('resume with the alerts that were looked at', async () => {
    await ledger.pauses.sound({ kind: 'unknown_spend', subject: 'sig', message: 'whose is it?' });
    const refused = await sluice('resume', 'done');
    expect(refused).toMatchObject({ json: { ok: false, error: { code: 'AlertsUnseen' } }, code: 3 });
    const { alerts } = (await sluice('alerts')).json as { alerts: { position: string }[] };
    const seen = alerts.map(({ position }) => position).join(',');
    expect((await sluice('resume', 'done', '--seen', 'all')).code).toBe(2);
    expect((await sluice('resume', 'done', '--seen', seen)).code).toBe(0);
    expect(await ledger.pauses.open()).toEqual([]);
  });
});
