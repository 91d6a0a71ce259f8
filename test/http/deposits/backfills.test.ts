import { afterAll, beforeAll, expect, test } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { NOTHING_AUDITED } from '../../../src/domain/audit.ts';
import { START } from '../../ledger/chain-of-blocks.ts';
import { authorization, openService, type Service, withoutTemporal } from '../service.ts';

const RANGE = { from: '100', to: '100', reason: 'x' };

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const scan = async () => (await call('GET', '/v1/scan')).body;

async function call(method: 'GET' | 'POST', url: string, payload?: object) {
  const given = payload === undefined ? {} : { payload };
  for (let tries = 1; ; tries += 1) {
    const answer = await service.app.inject({ method, url, headers: { authorization }, ...given });
    // On a stopped machine Temporal does not answer in time. Every request of this file may be repeated.
    if (answer.statusCode !== 503 || tries === 5) return { status: answer.statusCode, body: answer.json() };
  }
}

async function watched(): Promise<string> {
  const address = newAddress();
  await service.ledger.addresses.import([{ address, path: `m/${address}` }]);
  return address;
}

test('the API starts, joins and reads the audit of an address; a repairing audit is separate', async () => {
  const address = await watched();
  const range = { from: '1', to: '100', reason: 'a test' };
  const early = await call('POST', '/v1/backfills', { ...range, address });
  expect(early).toMatchObject({ status: 409, body: { code: 'SlotsNotRecorded', field: 'to' } });
  await service.ledger.scan.start(START);
  await service.ledger.db.updateTable('scanCursor').set({ slot: 105n }).execute();
  const begun = await call('POST', '/v1/backfills', { ...range, address });
  const running = { address, from: '1', to: '100', repair: false, state: 'reading', report: null };
  expect(begun).toMatchObject({ status: 200, body: running });
  const { id } = begun.body;
  const joined = await call('POST', '/v1/backfills', { address, from: '100', to: '1', reason: 'again' });
  expect(joined.body).toEqual(begun.body);
  const repairing = await call('POST', '/v1/backfills', { ...range, address, repair: true });
  expect(repairing.body).toMatchObject({ ...running, repair: true });
  expect(repairing.body.id).not.toBe(id);
  const { backfills } = service.ledger;
  const slots = { from: 1n, to: 100n };
  const own = { ...slots, address, repair: false, actor: 'ops', reason: 'x' };
  const report = { ...NOTHING_AUDITED, transactions: 2, found: 1, remaining: 1, unread: 1 };
  await backfills.endAudit(await backfills.begin(own), report);
  const ended = { ...running, state: 'incomplete', found: 1, report };
  expect((await call('GET', `/v1/backfills/${id}`)).body).toMatchObject(ended);
  await backfills.giveUp({ ...slots, address }, 'enough');
  const last = await call('GET', `/v1/backfills/${repairing.body.id}`);
  expect(last.body).toMatchObject({ state: 'given_up', trouble: 'enough', report: null });
  expect((await call('GET', '/v1/backfills/999999')).status).toBe(404);
  const blocks = await call('POST', '/v1/backfills', { ...range, repair: false });
  expect(blocks).toMatchObject({ status: 400, body: { field: 'repair' } });
});

test('a backfill is a separate run that a repeated request joins, and needs no running scan', async () => {
  const underWay = {
    id: expect.any(String),
    address: null,
    repair: true,
    report: null,
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
    expect((await call('POST', '/v1/backfills', { ...RANGE, reason })).body).toEqual(underWay);
  const handle = service.temporal.workflow.getHandle('backfill/blocks/100-100');
  expect(await handle.describe()).toMatchObject({ type: 'backfill', status: { name: 'RUNNING' } });
  expect((await scan()).backfills).toContainEqual(underWay);
  await handle.terminate();
});

test('the API lists the result of each backfill, newest first, page by page', async () => {
  const { db, backfills } = service.ledger;
  await db.deleteFrom('backfill').execute();
  const open = await backfills.begin({ from: 100n, to: 100n, actor: 'ops', reason: 'missed one' });
  await backfills.recordError(open, 'too few nodes');
  const waiting = { state: 'waiting', trouble: 'too few nodes', endedAt: null };
  expect((await scan()).backfills).toMatchObject([waiting]);
  await backfills.giveUp({ from: 100n, to: 100n }, 'its run has ended');
  expect((await scan()).backfills).toEqual([]);
  const again = await backfills.begin({ from: 100n, to: 101n, actor: 'ops', reason: 'once more' });
  await backfills.end(again, { blocks: 2, unread: [], read: [] });
  const newest = await call('GET', '/v1/backfills?limit=1');
  const endedAt = expect.stringMatching(/Z$/);
  expect(newest.body.backfills).toMatchObject([{ to: '101', state: 'done', blocks: 2, endedAt }]);
  const next = await call('GET', `/v1/backfills?limit=1&cursor=${newest.body.nextCursor}`);
  expect(next.body).toMatchObject({
    backfills: [{ to: '100', state: 'given_up', trouble: 'too few nodes', endedAt }],
    nextCursor: null,
  });
  const last = await backfills.begin({ from: 100n, to: 102n, actor: 'ops', reason: 'of a gap' });
  const unread = [{ from: '101', to: '102' }];
  await backfills.end(last, { blocks: 1, unread, read: [] });
  const { backfills: after } = (await call('GET', '/v1/backfills?limit=1')).body;
  expect(after).toMatchObject([{ state: 'incomplete', unread, trouble: null, endedAt }]);
  expect((await call('GET', '/v1/backfills?limit=x')).body).toMatchObject({ status: 400, field: 'limit' });
});

test.each([
  ['100', '106', 'to', 'the scan has not reached slot 106: 105 is the last slot that it has read'],
  ['99', '100', 'from', 'slots before 100 cannot be read again: the scan began there'],
])(
  'the API refuses a backfill of slots outside the scanned range and does not shorten it: %s to %s',
  async (from, to, field, detail) => {
    const beyond = await call('POST', '/v1/backfills', { from, to, reason: 'x' });
    expect(beyond.body).toMatchObject({ code: 'SlotsNotRecorded', status: 409, field, detail });
  },
);

test('a backfill that Temporal does not start now is stored, and the answer reports it', async () => {
  const answer = await withoutTemporal(service, '/v1/backfills', { from: '100', to: '103', reason: 'x' });
  const detail = 'Temporal does not answer; the backfill is stored and starts when Temporal answers again';
  expect(answer).toMatchObject({ status: 503, code: 'Unavailable', detail });
  expect((await scan()).backfills).toContainEqual(
    expect.objectContaining({ from: '100', to: '103', state: 'reading' }),
  );
});

test.each([
  ['an unknown address', { address: newAddress(), from: '1', to: '2' }, 404, undefined],
  ['no slot', { address: newAddress(), from: 'x', to: '2' }, 400, 'from'],
  ['an unknown field', { address: newAddress(), from: '1', to: '2', force: true }, 400, 'force'],
])('the API refuses an audit and names the field: %s', async (_, body, status, field) => {
  expect(await call('POST', '/v1/backfills', { ...body, reason: 'x' })).toMatchObject({
    status,
    body: field ? { field } : {},
  });
});

test('the API shows hot wallets with the balances at which reconciliation starts', async () => {
  const [address, other] = [newAddress(), newAddress()].toSorted();
  if (address === undefined || other === undefined) throw new Error('two were made');
  await service.ledger.watched.addHot([address, other]);
  const balances = [{ account: address, asset: 'SOL', amount: 2n ** 63n }];
  await service.ledger.baselines.take({ wallet: address, slot: 200n, balances, replaces: null });
  expect((await call('GET', '/v1/hot-wallets')).body).toEqual({
    hotWallets: [
      {
        address,
        baseline: {
          slot: '200',
          takenAt: expect.any(String),
          balances: [{ account: address, asset: 'SOL', amount: '9223372036854775808' }],
        },
      },
      { address: other, baseline: null },
    ],
  });
});
