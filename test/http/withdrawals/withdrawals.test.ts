import { afterAll, beforeAll, expect, test } from 'vitest';
import { withdrawalWorkflowId } from '../../../src/domain/ids.ts';
import { authorization, openService, type Service, withoutTemporal } from '../service.ts';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const terms = { asset: 'SOL', amount: '1500000000', destination: WALLET };

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  await service?.close();
});

const headers = { authorization };
const post = (payload: object) =>
  service.app.inject({ method: 'POST', url: '/v1/withdrawals', headers, payload });
const get = (url: string) => service.app.inject({ method: 'GET', url, headers });

test('a new withdrawal is stored and started before the API accepts it', async () => {
  const answer = await post({ id: 'new', ...terms });
  expect(answer.statusCode).toBe(202);
  expect(answer.headers.location).toBe('/v1/withdrawals/new');
  expect(answer.json()).toMatchObject({
    id: 'new',
    status: 'requested',
    workflowId: 'withdrawal/new',
    links: { self: '/v1/withdrawals/new', cancel: '/v1/withdrawals/new/cancel' },
    attempts: [],
  });
  expect((await service.ledger.withdrawals.get('new')).amount).toBe(1_500_000_000n);
  const run = await service.temporal.workflow.getHandle(withdrawalWorkflowId('new')).describe();
  expect(run).toMatchObject({ type: 'withdrawal', taskQueue: 'sluice', status: { name: 'RUNNING' } });
});

test('the API accepts a withdrawal that Temporal does not start now: it is stored, and the answer reports it', async () => {
  expect(await withoutTemporal(service, '/v1/withdrawals', { id: 'late', ...terms })).toMatchObject({
    status: 503,
    code: 'Unavailable',
    detail:
      'Temporal does not answer; withdrawal late is stored and starts when Temporal answers again: do not request this payment with another id',
  });
  expect((await get('/v1/withdrawals/late')).json()).toMatchObject({ status: 'requested' });
});

test('a repeated request with the same id and terms answers 200 and starts nothing', async () => {
  await post({ id: 'again', ...terms });
  const before = await service.temporal.workflow.getHandle('withdrawal/again').describe();
  const answer = await post({ id: 'again', ...terms, acceptEmptyWallet: false });
  expect([answer.statusCode, answer.json().status]).toEqual([200, 'requested']);
  const after = await service.temporal.workflow.getHandle('withdrawal/again').describe();
  expect(after.runId).toBe(before.runId);
});

test('twenty equal concurrent requests are one withdrawal', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => post({ id: 'same-id', ...terms })));
  const codes = answers.map((answer) => answer.statusCode).sort((a, b) => a - b);
  expect(codes).toEqual([...Array(19).fill(200), 202]);
});

test('a repeated request starts a workflow that was never started or was terminated', async () => {
  await service.ledger.withdrawals.reserve({ id: 'orphan', ...terms });
  expect((await post({ id: 'orphan', ...terms })).statusCode).toBe(200);
  const handle = service.temporal.workflow.getHandle('withdrawal/orphan');
  const first = await handle.describe();
  await handle.terminate('by a test');
  await post({ id: 'orphan', ...terms });
  const second = await handle.describe();
  expect(second.status.name).toBe('RUNNING');
  expect(second.runId).not.toBe(first.runId);
});

test('the API shows an ended withdrawal and does not start it again', async () => {
  await service.ledger.withdrawals.reserve({ id: 'ended', ...terms });
  await service.ledger.settlements.move('ended', 'rejected', { code: 'mint', message: 'it is a mint' });
  const answer = await post({ id: 'ended', ...terms });
  expect([answer.statusCode, answer.json().reason.code]).toEqual([200, 'mint']);
  await expect(service.temporal.workflow.getHandle('withdrawal/ended').describe()).rejects.toThrow();
});

test.each([{ amount: '1' }, { asset: WALLET }, { memo: 'x' }, { acceptEmptyWallet: true }])(
  'a request with the same id and other terms is a conflict: %o',
  async (other) => {
    await post({ id: 'taken', ...terms });
    const answer = await post({ id: 'taken', ...terms, ...other });
    expect(answer.statusCode).toBe(409);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.json()).toMatchObject({
      code: 'TermsConflict',
      status: 409,
      type: 'urn:sluice:problem:TermsConflict',
      fields: Object.keys(other),
    });
  },
);

test.each([
  [{ ...terms }, 'id'],
  [{ id: 'no spaces', ...terms }, 'id'],
  [{ id: '.', ...terms }, 'id'],
  [{ id: '..', ...terms }, 'id'],
  [{ id: 'bad', ...terms, amount: 5 }, 'amount'],
  [{ id: 'bad', ...terms, amount: '0' }, 'amount'],
  [{ id: 'bad', ...terms, amount: '1.5' }, 'amount'],
  [{ id: 'bad', ...terms, amount: '18446744073709551616' }, 'amount'],
  [{ id: 'bad', ...terms, asset: 'USDC' }, 'asset'],
  [{ id: 'bad', ...terms, destination: '' }, 'destination'],
  [{ id: 'bad', ...terms, destination: '0OIl'.repeat(10) }, 'destination'],
  [{ id: 'bad', ...terms, destination: 'abc' }, 'destination'],
  [{ id: 'bad', ...terms, memo: 'é'.repeat(101) }, 'memo'],
  [{ id: 'bad', ...terms, acceptEmptyWallet: 'yes' }, 'acceptEmptyWallet'],
  [{ id: 'bad', ...terms, speed: 'fast' }, 'speed'],
])('the API names the field of a malformed request: %o', async (payload, field) => {
  const answer = await post(payload);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'InvalidRequest', field });
  expect(await service.ledger.withdrawals.find('bad')).toBeUndefined();
});

test('the API shows an attempt with signature, heights, fee and explorer link', async () => {
  await service.ledger.withdrawals.reserve({ id: 'signed', ...terms });
  await service.ledger.attempts.prepare(
    {
      settlementId: 'signed',
      n: 1,
      signers: [WALLET],
      messageHash: 'ab'.repeat(32),
      message: 'AAAA',
      blockhash: WALLET,
      blockhashSlot: 7n,
      blockhashHeight: 5n,
      lastValidBlockHeight: 155n,
      adoptedFrom: null,
      nonceAccount: null,
      bareAdvance: false,
      computeUnitLimit: 450,
      computeUnitPriceMicroLamports: 1_000n,
      feeLamports: 5_001n,
      rentLamports: 0n,
    },
    [
      {
        wallet: WALLET,
        observedSlot: 7n,
        needs: [{ asset: 'SOL', amount: 2n ** 31n, finalizedBalance: 2n ** 40n, keep: 0n }],
      },
    ],
  );
  await service.ledger.attempts.storeSignature('signed', 1, 'sig1');
  const shown = (await get('/v1/withdrawals/signed')).json();
  expect(shown.status).toBe('sending');
  expect(shown.attempts).toMatchObject([
    {
      n: 1,
      state: 'signed',
      signature: 'sig1',
      lastValidBlockHeight: '155',
      nonceAccount: null,
      feeLamports: '5001',
      slot: null,
      explorer: 'https://explorer.example/tx/sig1?cluster=devnet',
    },
  ]);
  const cancelled = await service.app.inject({
    method: 'POST',
    url: '/v1/withdrawals/signed/cancel',
    headers,
  });
  expect([cancelled.statusCode, cancelled.json().code]).toEqual([409, 'NotCancellable']);
});

test('the API returns a withdrawal whose id has the greatest length', async () => {
  const id = ':'.repeat(128);
  await post({ id, ...terms });
  expect((await get(`/v1/withdrawals/${encodeURIComponent(id)}`)).json().id).toBe(id);
});

test('the API lists withdrawals newest first, by filter, page by page', async () => {
  for (const id of ['list-1', 'list-2', 'list-3']) {
    await service.ledger.withdrawals.reserve({ id, ...terms, destination: 'ListedWa11et' });
  }
  const first = (await get('/v1/withdrawals?destination=ListedWa11et&limit=2')).json();
  expect(first.withdrawals.map(({ id }: { id: string }) => id)).toEqual(['list-3', 'list-2']);
  const second = (
    await get(`/v1/withdrawals?destination=ListedWa11et&limit=2&cursor=${first.nextCursor}`)
  ).json();
  expect(second.withdrawals.map(({ id }: { id: string }) => id)).toEqual(['list-1']);
  expect(second.nextCursor).toBeNull();
  expect((await get('/v1/withdrawals?destination=ListedWa11et&status=held')).json().withdrawals).toEqual([]);
});

test.each(['status=paid', 'limit=0', 'limit=x', 'cursor=nonsense', 'colour=red', 'asset=%00'])(
  'the API refuses a malformed filter: %s',
  async (query) => {
    const answer = await get(`/v1/withdrawals?${query}`);
    expect([answer.statusCode, answer.json().field]).toEqual([400, query.split('=')[0]]);
  },
);

test('the API names every fault of a filter', async () => {
  const answer = await get('/v1/withdrawals?status=paid&limit=0');
  expect(answer.json()).toMatchObject({ status: 400, fields: ['status', 'limit'] });
  expect(answer.json().detail).toMatch(/^status: .+; limit: .+/);
});
