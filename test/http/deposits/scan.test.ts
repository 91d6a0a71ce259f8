import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepSilenceAlarm } from '../../../src/deposits/scan/failure-alerts.ts';
import { createRegistry } from '../../../src/platform/metrics.ts';
import { meterScan } from '../../../src/platform/scan-metrics.ts';
import { childOf, START } from '../../ledger/chain-of-blocks.ts';
import { authorization, openService, type Service, withoutTemporal } from '../service.ts';

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
const ORDERS = ['pause', 'resume', 'rescan', 'close-gap'] as const;
const RANGE = { from: '100', to: '100', reason: 'x' };

test('before the first block there is nothing to tell', async () => {
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
      rescans: [],
    },
  });
  expect((await call('POST', '/v1/scan/rescan', RANGE)).body).toMatchObject({
    code: 'SlotsNotRecorded',
    status: 409,
    field: 'to',
  });
  await service.ledger.scan.start(START);
});

test('a pause is stored with actor and reason, whether a worker scans or not, until it is ended with an actor', async () => {
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
    await keepSilenceAlarm(ledger);
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
  await ledger.scanStatus.touch(false);
  expect([await scan(), await alerts()]).toMatchObject([{ state: 'tail' }, []]);
});

test('gauges show the position of the scan; a value that is not known is NaN', async () => {
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

test('a gap is shown, and closed by name and reason, once it is exactly the open one', async () => {
  const { ledger } = service;
  await ledger.gaps.open(START, { ...childOf(childOf(START)), parentSlot: 105n, slot: 106n });
  expect(await scan()).toMatchObject({ gaps: [{ from: '101', to: '105', state: 'open', actor: null }] });
  const wrong = await call('POST', '/v1/scan/close-gap', {
    from: '101',
    to: '104',
    reason: 'archive has none',
  });
  const detail = 'no gap is open from slot 101 to 104: 101 to 105 is';
  expect(wrong).toMatchObject({ status: 404, body: { code: 'NotFound', detail } });
  const closing = { from: '105', to: '101', reason: 'archive has none' };
  const closed = await call('POST', '/v1/scan/close-gap', closing);
  expect(closed.body).toMatchObject({ cursor: { slot: '105' } });
  expect(closed.body.gaps).toMatchObject([
    { state: 'closed', actor: 'tests', reason: 'archive has none', readAt: null },
  ]);
  expect((await call('POST', '/v1/scan/close-gap', closing)).status).toBe(200);
  expect((await scan()).rescans).toMatchObject([
    { from: '101', to: '105', actor: 'tests', state: 'reading' },
  ]);
});

test.each([
  ['no reason', { from: '1', to: '2', reason: '  ' }, 'reason'],
  ['a reason with a NUL', { from: '1', to: '2', reason: 'a\0b' }, 'reason'],
  ['no slot', { from: 'x', to: '2', reason: 'x' }, 'from'],
  ['more than it asks for', { from: '1', to: '2', reason: 'x', force: true }, 'force'],
])('an order is refused, and the field named: %s', async (_, body, field) => {
  for (const order of ['rescan', 'close-gap'])
    expect((await call('POST', `/v1/scan/${order}`, body)).body).toMatchObject({ status: 400, field });
});

test('a rescan is a run of its own, joined by who asks again, and needs no scan that runs', async () => {
  const underWay = {
    from: '100',
    to: '100',
    actor: 'tests',
    reason: 'missed one',
    state: 'reading',
    readTo: null,
    blocks: 0,
    found: 0,
    unread: [],
    trouble: null,
    begunAt: expect.stringMatching(/Z$/),
    endedAt: null,
  };
  for (const reason of ['missed one', 'again'])
    expect((await call('POST', '/v1/scan/rescan', { ...RANGE, reason })).body).toEqual(underWay);
  const handle = service.temporal.workflow.getHandle('deposit-rescan/100-100');
  expect(await handle.describe()).toMatchObject({ type: 'depositRescan', status: { name: 'RUNNING' } });
  expect((await scan()).rescans).toContainEqual(underWay);
  await handle.terminate();
});

test('what came of each rescan is listed, newest first, page by page', async () => {
  const { db, rescans } = service.ledger;
  await db.deleteFrom('rescan').execute();
  const open = await rescans.begin({ from: 100n, to: 100n, actor: 'ops', reason: 'missed one' });
  await rescans.note(open, 'too few nodes');
  const waiting = { state: 'waiting', trouble: 'too few nodes', endedAt: null };
  expect((await scan()).rescans).toMatchObject([waiting]);
  await rescans.giveUp({ from: 100n, to: 100n }, 'its run has ended');
  expect((await scan()).rescans).toEqual([]);
  const again = await rescans.begin({ from: 100n, to: 101n, actor: 'ops', reason: 'once more' });
  await rescans.end(again, { blocks: 2, unread: [], read: [] });
  const newest = await call('GET', '/v1/scan/rescans?limit=1');
  const endedAt = expect.stringMatching(/Z$/);
  expect(newest.body.rescans).toMatchObject([{ to: '101', state: 'done', blocks: 2, endedAt }]);
  const next = await call('GET', `/v1/scan/rescans?limit=1&cursor=${newest.body.nextCursor}`);
  expect(next.body).toMatchObject({
    rescans: [{ to: '100', state: 'given_up', trouble: 'too few nodes', endedAt }],
    nextCursor: null,
  });
  const last = await rescans.begin({ from: 100n, to: 102n, actor: 'ops', reason: 'of a gap' });
  const unread = [{ from: '101', to: '102' }];
  await rescans.end(last, { blocks: 1, unread, read: [] });
  const { rescans: after } = (await call('GET', '/v1/scan/rescans?limit=1')).body;
  expect(after).toMatchObject([{ state: 'incomplete', unread, trouble: null, endedAt }]);
  expect((await call('GET', '/v1/scan/rescans?limit=x')).body).toMatchObject({ status: 400, field: 'limit' });
});

test.each([
  ['100', '106', 'to', 'to: blocks are read up to slot 105 only: it must not be above that'],
  ['99', '100', 'from', 'from: the record begins with slot 100'],
])(
  'a rescan of what is not on record is refused, not shortened: %s to %s',
  async (from, to, field, detail) => {
    const beyond = await call('POST', '/v1/scan/rescan', { from, to, reason: 'x' });
    expect(beyond.body).toMatchObject({ code: 'SlotsNotRecorded', status: 409, field, detail });
  },
);

test('a rescan that Temporal does not begin now is on record, and says so', async () => {
  const answer = await withoutTemporal(service, '/v1/scan/rescan', { from: '100', to: '103', reason: 'x' });
  const detail = 'Temporal does not answer; the rescan is stored and starts when Temporal answers again';
  expect(answer).toMatchObject({ status: 503, code: 'Unavailable', detail });
  expect((await scan()).rescans).toMatchObject([{ from: '100', to: '103', state: 'reading' }]);
});

test.each(ORDERS)('nobody gives the order %s without a key', async (order) => {
  const answer = await service.app.inject({ method: 'POST', url: `/v1/scan/${order}`, payload: RANGE });
  expect(answer.statusCode).toBe(401);
});
