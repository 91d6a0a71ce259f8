import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateSilenceAlert } from '../../../src/deposits/scan/failure-alerts.ts';
import { createRegistry, meterScan } from '../../../src/platform/metrics.ts';
import { childOf, START } from '../../ledger/chain-of-blocks.ts';
import { authorization, openService, type Service } from '../service.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

async function call(method: 'GET' | 'POST', url: string, payload?: object) {
  const given = payload === undefined ? {} : { payload };
  const answer = await service.app.inject({ method, url, headers: { authorization }, ...given });
  return { status: answer.statusCode, body: answer.json() };
}
const scan = async () => (await call('GET', '/v1/scan')).body;
const ORDERS = ['pause', 'resume', 'close-gap'] as const;
const RANGE = { from: '100', to: '100', reason: 'x' };

test('the scan has no status before the first block', async () => {
  expect(await call('GET', '/v1/scan')).toEqual({
    status: 200,
    body: {
      state: 'absent',
      cursor: null,
      tip: null,
      lag: null,
      blocksPerSecond: null,
      at: null,
      gaps: [],
      backfills: [],
    },
  });
  expect((await call('POST', '/v1/backfills', RANGE)).body).toMatchObject({
    code: 'SlotsNotRecorded',
    status: 409,
    field: 'to',
  });
  await service.ledger.scan.start(START);
});

test('the API stores a pause with actor and reason, with or without a worker, until an actor ends it', async () => {
  const paused = { state: 'paused', actor: 'tests', reason: 'a node is suspected' };
  for (const reason of [paused.reason, 'again'])
    expect((await call('POST', '/v1/scan/pause', { reason })).body).toMatchObject(paused);
  expect(await scan()).toMatchObject({ ...paused, since: expect.stringMatching(/Z$/) });
  const resumed = await call('POST', '/v1/scan/resume', { reason: 'seen' });
  expect(resumed.body.state).toBe('absent');
  const rows = await service.ledger.db.selectFrom('scanPause').selectAll().execute();
  expect(rows).toMatchObject([{ actor: 'tests', endedBy: 'tests', endedReason: 'seen' }]);
});

test('a scan without a report for a minute is silent, and the API raises an alert', async () => {
  const { ledger } = service;
  const alerts = async () => {
    await updateSilenceAlert(ledger);
    return (await ledger.alerts.list({ open: true, limit: 10 })).rows.map(({ kind }) => kind);
  };
  const lastReport = (seconds: number) =>
    ledger.db
      .updateTable('scanStatus')
      .set({ at: new Date(Date.now() - 1_000 * seconds) })
      .execute();
  const cursor = { slot: '100', blockhash: 'b100', height: '90' };
  expect([await scan(), await alerts()]).toMatchObject([{ state: 'absent' }, []]);
  await ledger.scanStatus.report({ state: 'tail', tip: 103n, reason: null });
  await lastReport(30);
  expect([await scan(), await alerts()]).toMatchObject([{ state: 'tail', cursor, tip: '103', lag: '3' }, []]);
  await lastReport(90);
  const silent = { state: 'silent', cursor, tip: null, lag: null };
  expect([await scan(), await alerts()]).toMatchObject([silent, ['scan_silent']]);
  await ledger.scanStatus.recordActivity(false);
  expect([await scan(), await alerts()]).toMatchObject([{ state: 'tail' }, []]);
});

test('gauges show the position of the scan; an unknown value is NaN', async () => {
  const metrics = createRegistry();
  const update = meterScan(metrics, () => service.ledger.scanStatus.read());
  const values = async () => {
    await update();
    return (await metrics.metrics()).split('\n').filter((line) => line.startsWith('sluice_scan_'));
  };
  const lines = (tip: string, lag: string) => [
    'sluice_scan_cursor_slot 100',
    `sluice_scan_tip_slot ${tip}`,
    `sluice_scan_lag_slots ${lag}`,
  ];
  expect(await values()).toEqual(lines('103', '3'));
  await service.ledger.scanStatus.report({ state: 'waiting', tip: null, reason: 'no node answers' });
  expect(await values()).toEqual(lines('Nan', 'Nan'));
});

test('the API shows a gap, and closes it with actor and reason only when it equals the open gap', async () => {
  const { ledger } = service;
  await ledger.gaps.open(START, { ...childOf(childOf(START)), parentSlot: 105n, slot: 106n });
  expect(await scan()).toMatchObject({ gaps: [{ from: '101', to: '105', state: 'open', actor: null }] });
  const wrong = await call('POST', '/v1/scan/close-gap', {
    from: '101',
    to: '104',
    reason: 'archive has none',
  });
  const detail = 'there is no open gap from slot 101 to 104: the open gap covers slots 101 to 105';
  expect(wrong).toMatchObject({ status: 404, body: { code: 'NotFound', detail } });
  const closing = { from: '105', to: '101', reason: 'archive has none' };
  const closed = await call('POST', '/v1/scan/close-gap', closing);
  expect(closed.body).toMatchObject({ cursor: { slot: '105' } });
  expect(closed.body.gaps).toMatchObject([
    { state: 'closed', actor: 'tests', reason: 'archive has none', readAt: null },
  ]);
  expect((await call('POST', '/v1/scan/close-gap', closing)).status).toBe(200);
  expect((await scan()).backfills).toMatchObject([
    { from: '101', to: '105', actor: 'tests', state: 'reading' },
  ]);
});

test.each([
  ['no reason', { from: '1', to: '2', reason: '  ' }, 'reason'],
  ['a reason with a NUL', { from: '1', to: '2', reason: 'a\0b' }, 'reason'],
  ['no slot', { from: 'x', to: '2', reason: 'x' }, 'from'],
  ['an unknown field', { from: '1', to: '2', reason: 'x', force: true }, 'force'],
])('the API refuses a scan command and names the field: %s', async (_, body, field) => {
  for (const url of ['/v1/backfills', '/v1/scan/close-gap'])
    expect((await call('POST', url, body)).body).toMatchObject({ status: 400, field });
});

test.each(ORDERS)('the API refuses the scan command %s without a key', async (order) => {
  const answer = await service.app.inject({ method: 'POST', url: `/v1/scan/${order}`, payload: RANGE });
  expect(answer.statusCode).toBe(401);
});
