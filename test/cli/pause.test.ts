import { userInfo } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const use = useCommands();
const reason = (text: string): readonly string[] => ['--reason', text];

/** Through the API in the name of its key; with `--database`, without an API, in the name of the user of this machine. */
const WAYS = [
  { way: 'the API', actor: 'tests', sluice: (...args: readonly string[]) => use.sluice(...args) },
  {
    way: '--database',
    actor: userInfo().username,
    sluice: (...args: readonly string[]) =>
      callSluice([...args, '--database'], { env: { DATABASE_URL: use.service.databaseUrl } }),
  },
] as const;

describe.each(WAYS)('an operator who works by $way', ({ actor, sluice: call }) => {
  /** The last line on stdout, and the exit code. */
  const sluice = async (...args: readonly string[]): Promise<{ json: unknown; code: number | null }> => {
    const ended = await call(...args, '-o', 'json');
    return { json: jsonOf(ended), code: ended.code };
  };
  const [pauseArgs, resumeArgs] = [
    ['settlements', 'pause'],
    ['settlements', 'resume', '--yes'],
  ];

  beforeEach(async () => {
    await use.service.ledger.db.deleteFrom('alert').execute();
  });

  it('can pause and resume', async () => {
    const { ledger } = use.service;
    const pause = { cause: 'operator', scope: 'all', reason: 'we look at it', actor };
    const paused = { json: { pauses: [pause] }, code: 0 };
    expect(await sluice(...pauseArgs, ...reason('we look at it'))).toMatchObject(paused);
    expect(await ledger.pauses.listOpen()).toMatchObject([pause]);
    expect((await call('alerts', 'list')).stdout).toMatch(
      /^PAUSED \(all\) since \S+Z by .*: we look at it\n/,
    );
    expect((await sluice('settlements', 'resume', ...reason('done'))).code).toBe(2);
    expect(await sluice(...resumeArgs, ...reason('done'))).toMatchObject(paused);
    expect(await ledger.pauses.listOpen()).toEqual([]);
    expect((await sluice(...pauseArgs, ...reason('  '))).code).toBe(2);
    expect((await sluice(...pauseArgs, ...reason('x'), '--scope', 'one')).code).toBe(2);
  });

  it('can list alerts and close one', async () => {
    const { alerts } = use.service.ledger;
    await alerts.raise({ kind: 'maybe_paid', subject: 'order-1', message: 'look at it' });
    const runbook = 'docs/runbooks/maybe_paid.md';
    const alert = { kind: 'maybe_paid', subject: 'order-1', message: 'look at it', runbook, closedAt: null };
    expect(await sluice('alerts', 'list')).toMatchObject({ json: { alerts: [alert] }, code: 0 });
    for (const kind of ['webhook_dead_letter', 'deposit_unowned'] as const)
      await alerts.raise({ kind, subject: 'it', message: 'so it is' });
    const { stdout } = await call('alerts', 'list');
    expect(stdout).toMatch(/^position +last seen +kind +subject +message\n/);
    expect(stdout).toContain(
      'so it is; `sluice webhooks replay it` tries to deliver it again; see docs/runbooks/webhook_dead_letter.md\n',
    );
    expect(stdout).toMatch(
      /^(\d+) .* so it is; after you have investigated it: `sluice alerts acknowledge \1 --reason <text>`; see docs\/runbooks\/deposit_unowned\.md$/m,
    );
    for (const kind of ['webhook_dead_letter', 'deposit_unowned'] as const) await alerts.close(kind, 'it');
    const close = ['alerts', 'close', '--subject', 'order-1', '--kind'];
    for (const kind of ['maybe_paid', 'dead_attempt_landed', 'payment_keeps_failing'])
      expect((await sluice(...close, kind, '--yes')).code).toBe(2);
    const closing = [...close, 'maybe_paid', ...reason('not paid')];
    expect((await sluice(...closing)).code).toBe(2);
    expect(await sluice(...closing, '--yes')).toMatchObject({ json: { closed: true }, code: 0 });
    expect(await sluice('alerts', 'list')).toMatchObject({ json: { alerts: [] }, code: 0 });
    expect((await sluice(...closing, '--yes')).code).toBe(3);
    expect(await sluice('alerts', 'list', '--all')).toMatchObject({
      json: { alerts: [{ subject: 'it' }, { subject: 'it' }, { subject: 'order-1' }] },
    });
  });

  it('can acknowledge alerts with a reason', async () => {
    const alarm = { kind: 'deposit_mismatch', message: 'node b was wrong' } as const;
    const { position } = await use.service.ledger.alerts.raise({ ...alarm, subject: 'sig' });
    const acknowledge = (positions: string, text: string) =>
      sluice('alerts', 'acknowledge', positions, ...reason(text));
    expect((await acknowledge(`${position}`, ' ')).code).toBe(2);
    expect((await acknowledge('all', 'node b is out')).code).toBe(2);
    expect(await acknowledge(`${position}`, 'node b is out')).toMatchObject({
      json: {
        alerts: [{ position: `${position}`, details: { closedBy: actor, closedReason: 'node b is out' } }],
      },
      code: 0,
    });
    expect((await acknowledge(`${position}`, 'node b is out')).code).toBe(3);
  });

  it('can resume only with the ids of the alerts that started the pause', async () => {
    const { pauses } = use.service.ledger;
    await pauses.pauseWithAlert({ kind: 'unknown_spend', subject: 'sig', message: 'whose is it?' });
    const resume = [...resumeArgs, ...reason('done')];
    const refused = await sluice(...resume);
    expect(refused).toMatchObject({ json: { ok: false, error: { code: 'AlertsUnseen' } }, code: 3 });
    const { alerts } = (await sluice('alerts', 'list')).json as { alerts: { position: string }[] };
    const seen = alerts.map(({ position }) => position).join(',');
    expect((await sluice(...resume, '--seen', 'all')).code).toBe(2);
    expect((await sluice(...resume, '--seen', seen)).code).toBe(0);
    expect(await pauses.listOpen()).toEqual([]);
  });
});
