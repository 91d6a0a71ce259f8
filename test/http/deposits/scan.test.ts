import { afterAll, beforeAll, expect, test } from 'vitest';
import { depositScanWorkflowId, WORKFLOW_TASK_QUEUE } from '../../../src/domain/ids.ts';
import { SilentScanGauge } from '../../../src/http/deposits/scan-silence.ts';
import { childOf, START } from '../../ledger/chain-of-blocks.ts';
import { authorization, EXPLORER, openService, type Service } from '../service.ts';

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
// Where the machine stands still Temporal does not answer in time, and a run that is absent is silent.
const PATIENCE = { timeout: 20_000 };
const ORDERS = ['pause', 'resume', 'close-gap'] as const;
const RANGE = { from: '100', to: '100', reason: 'x' };

test('before the first block there is nothing to tell', async () => {
  const told = () => call('GET', '/v1/scan');
  await expect.poll(told, PATIENCE).toEqual({
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

test('a pause is on record by name and reason, whether a run is there or not, until it is ended by name', async () => {
  const paused = { state: 'paused', actor: 'tests', reason: 'a node is suspected' };
  for (const reason of [paused.reason, 'again'])
    expect((await call('POST', '/v1/scan/pause', { reason })).body).toMatchObject(paused);
  expect(await scan()).toMatchObject({ ...paused, since: expect.stringMatching(/Z$/) });
  const resumed = await call('POST', '/v1/scan/resume', { reason: 'seen' });
  expect(['absent', 'silent']).toContain(resumed.body.state);
  await expect.poll(scan, PATIENCE).toMatchObject({ state: 'absent' });
  const rows = await service.ledger.db.selectFrom('scanPause').selectAll().execute();
  expect(rows).toMatchObject([{ actor: 'tests', endedBy: 'tests', endedReason: 'seen' }]);
});

test('a run that no worker answers for is silent, and the record is shown; after a minute the API raises an alert', async () => {
  const run = await service.temporal.workflow.start('depositScan', {
    workflowId: depositScanWorkflowId(EXPLORER.cluster),
    taskQueue: WORKFLOW_TASK_QUEUE,
  });
  const record = { cursor: { slot: '100', blockhash: 'b100', height: '90' }, tip: null, lag: null };
  expect(await scan()).toMatchObject({ state: 'silent', ...record });
  const { ledger, temporal } = service;
  const silence = new SilentScanGauge({ ledger, temporal, cluster: EXPLORER.cluster });
  const alerts = async () =>
    (await ledger.alerts.list({ open: true, limit: 10 })).rows.map(({ kind }) => kind);
  const now = Date.now();
  for (const [seconds, told] of [
    [0, []],
    [59, []],
    [60, ['scan_silent']],
  ] as const) {
    await silence.look(new Date(now + 1_000 * seconds));
    expect(await alerts()).toEqual(told);
  }
  await run.terminate();
  await expect.poll(scan, PATIENCE).toMatchObject({ state: 'absent' });
  await expect.poll(() => silence.look().then(alerts), PATIENCE).toEqual([]);
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
  expect((await scan()).backfills).toMatchObject([
    { from: '101', to: '105', actor: 'tests', state: 'reading' },
  ]);
});

test.each([
  ['no reason', { from: '1', to: '2', reason: '  ' }, 'reason'],
  ['a reason with a NUL', { from: '1', to: '2', reason: 'a\0b' }, 'reason'],
  ['no slot', { from: 'x', to: '2', reason: 'x' }, 'from'],
  ['more than it asks for', { from: '1', to: '2', reason: 'x', force: true }, 'force'],
])('an order is refused, and the field named: %s', async (_, body, field) => {
  for (const url of ['/v1/backfills', '/v1/scan/close-gap'])
    expect((await call('POST', url, body)).body).toMatchObject({ status: 400, field });
});

test.each(ORDERS)('nobody gives the order %s without a key', async (order) => {
  const answer = await service.app.inject({ method: 'POST', url: `/v1/scan/${order}`, payload: RANGE });
  expect(answer.statusCode).toBe(401);
});
