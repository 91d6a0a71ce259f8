import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { meterAlerts } from '../../../src/platform/metrics.ts';
import { authorization, openService, type Service } from '../service.ts';

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(async () => service?.close());

function call(method: 'GET' | 'POST', url: string, payload?: object) {
  return service.app.inject({
    method,
    url,
    headers: { authorization },
    ...(payload === undefined ? {} : { payload }),
  });
}

describe('the operations routes', () => {
  it('list alerts by pages and by whether they are open', async () => {
    const { alerts } = service.ledger;
    await alerts.raise({ kind: 'node_lagging', subject: 'a', message: 'a lags', details: { slots: '9' } });
    await alerts.raise({ kind: 'node_lagging', subject: 'b', message: 'b lags' });
    await alerts.close('node_lagging', 'a');
    const first = (await call('GET', '/v1/alerts?limit=1')).json();
    const runbook = 'docs/runbooks/node_lagging.md';
    expect(first.alerts).toMatchObject([
      { kind: 'node_lagging', subject: 'b', runbook, count: 1, closedAt: null },
    ]);
    const second = (await call('GET', `/v1/alerts?limit=1&cursor=${first.nextCursor}`)).json();
    expect(second).toMatchObject({ alerts: [{ subject: 'a', details: { slots: '9' } }], nextCursor: null });
    const closed = (await call('GET', '/v1/alerts?open=false')).json();
    expect(closed.alerts.map((alert: { subject: string }) => alert.subject)).toEqual(['a']);
    expect((await call('GET', '/v1/alerts?open=perhaps')).statusCode).toBe(400);
  });

  it('close acknowledged alerts in the name of the API key, and no others', async () => {
    const { alerts } = service.ledger;
    const ours = await alerts.raise({ kind: 'deposit_missed', subject: 'sig', message: 'it was not there' });
    const other = await alerts.raise({ kind: 'node_silent', subject: 'c', message: 'c is silent' });
    const look = (...seen: readonly bigint[]) =>
      call('POST', '/v1/alerts/seen', { seen: seen.map(String), reason: 'node b is out' });
    const refused = await look(ours.position, other.position);
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({ field: 'seen', detail: expect.stringContaining('node_silent') });
    const { alerts: closed } = (await look(ours.position)).json();
    expect(closed).toMatchObject([
      {
        subject: 'sig',
        details: { closedBy: 'tests', closedReason: 'node b is out' },
        closedAt: expect.any(String),
      },
    ]);
    expect((await look(ours.position)).json()).toEqual({ alerts: [] });
    for (const body of [{ seen: [], reason: 'x' }, { seen: ['1'] }, { seen: ['x'], reason: 'x' }])
      expect((await call('POST', '/v1/alerts/seen', body)).statusCode).toBe(400);
    await alerts.close('node_silent', 'c');
  });

  it('record that a settlement is not paid', async () => {
    const { alerts } = service.ledger;
    const reason = 'the receiver has nothing';
    for (const kind of ['maybe_paid', 'dead_attempt_landed', 'payment_keeps_failing'] as const) {
      await alerts.raise({ kind, subject: 'w-9', message: 'look' });
      const close = () => call('POST', '/v1/alerts/close', { kind, subject: 'w-9', reason });
      expect((await close()).json()).toEqual({ closed: true });
      expect((await close()).json()).toEqual({ closed: false });
      const { rows } = await alerts.list({ open: false, limit: 1 });
      expect(rows).toMatchObject([{ kind, details: { closedBy: 'tests', closedReason: reason } }]);
    }
    const silent = { kind: 'payment_keeps_failing', subject: 'w-9' };
    expect((await call('POST', '/v1/alerts/close', silent)).statusCode).toBe(400);
    const other = { kind: 'unknown_spend', subject: 'sig', reason };
    expect((await call('POST', '/v1/alerts/close', other)).statusCode).toBe(400);
  });

  it('count open alerts by kind, and show 0 for a kind without alerts', async () => {
    const metrics = new Registry();
    const show = meterAlerts(metrics, () => service.ledger.alerts.countOpenByKind());
    await show();
    expect(await metrics.metrics()).toContain('sluice_alerts_open{kind="node_lagging"} 1\n');
    await service.ledger.alerts.close('node_lagging', 'b');
    await show();
    expect(await metrics.metrics()).toContain('sluice_alerts_open{kind="node_lagging"} 0\n');
    expect(await metrics.metrics()).toContain('sluice_alerts_open{kind="unknown_spend"} 0\n');
  });

  it('pause and resume in the name of the API key', async () => {
    const paused = await call('POST', '/v1/pause', { reason: 'keys are being changed' });
    expect(paused.statusCode).toBe(200);
    const pause = { cause: 'operator', reason: 'keys are being changed', actor: 'tests' };
    expect(paused.json().pauses).toMatchObject([pause]);
    expect(await service.ledger.pauses.listOpen()).toMatchObject([pause]);
    expect((await call('GET', '/v1/pause')).json().pauses).toMatchObject([pause]);
    expect((await call('POST', '/v1/resume', { reason: 'done' })).json().pauses).toMatchObject([pause]);
    expect(await service.ledger.pauses.listOpen()).toEqual([]);
    expect((await call('POST', '/v1/resume', { reason: 'again' })).json()).toEqual({ pauses: [] });
    const scope = 'kind/x402';
    expect((await call('POST', '/v1/pause', { reason: 'a flood', scope })).json().pauses).toMatchObject([
      { scope },
    ]);
    expect((await call('POST', '/v1/resume', { reason: 'done', scope })).json().pauses).toMatchObject([
      { scope },
    ]);
  });

  it('resume only with the ids of the acknowledged alerts', async () => {
    const alarm = { kind: 'unknown_spend', subject: 'sig', message: 'whose is it?' } as const;
    await service.ledger.pauses.pauseWithAlert(alarm);
    const refused = await call('POST', '/v1/resume', { reason: 'done' });
    expect([refused.statusCode, refused.json().code]).toEqual([409, 'AlertsUnseen']);
    expect(refused.json().detail).toContain('whose is it?');
    const { alerts } = (await call('GET', '/v1/alerts?open=true')).json();
    const seen = alerts.map((alert: { position: string }) => alert.position);
    const resumed = await call('POST', '/v1/resume', { reason: 'ours', seen });
    expect(resumed.json().pauses).toMatchObject([{ cause: 'unknown_spend' }]);
    expect((await call('GET', '/v1/alerts?open=true')).json().alerts).toEqual([]);
  });

  it('require a reason and a key', async () => {
    expect((await call('POST', '/v1/pause', { reason: '  ' })).statusCode).toBe(400);
    const wrong = await call('POST', '/v1/pause', { reason: 'x', scope: 'x402' });
    expect(wrong.json().detail).toContain('scope: must be `all`, `kind/<kind>` or `wallet/<address>`');
    const bare = { method: 'POST', url: '/v1/pause', payload: { reason: 'x' } } as const;
    expect((await service.app.inject(bare)).statusCode).toBe(401);
    expect((await service.app.inject({ method: 'GET', url: '/v1/alerts' })).statusCode).toBe(401);
    expect(await service.ledger.pauses.listOpen()).toEqual([]);
  });
});
