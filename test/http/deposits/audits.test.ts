import { afterAll, beforeAll, expect, test } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { auditWorkflowId } from '../../../src/domain/audit.ts';
import { START } from '../../ledger/chain-of-blocks.ts';
import { authorization, openService, type Service } from '../service.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

async function call(method: 'GET' | 'POST', url: string, payload?: object) {
  const given = payload === undefined ? {} : { payload };
  for (let tries = 1; ; tries += 1) {
    const answer = await service.app.inject({ method, url, headers: { authorization }, ...given });
    // Where the machine stands still Temporal does not answer in time. Whatever is asked for here may be asked for again.
    if (answer.statusCode !== 503 || tries === 5) return { status: answer.statusCode, body: answer.json() };
  }
}

async function watched(): Promise<string> {
  const address = newAddress();
  await service.ledger.addresses.import([{ address, path: `m/${address}` }]);
  return address;
}

test('an audit is asked for, joined, looked at, and one that repairs is another than one that looks', async () => {
  const address = await watched();
  const asked = { address, from: '1', to: '100' };
  const early = await call('POST', '/v1/audits', asked);
  expect(early).toMatchObject({ status: 409, body: { code: 'SlotsNotRecorded', field: 'to' } });
  await service.ledger.scan.start(START);
  const running = { ...asked, state: 'running', report: null, reason: null };
  for (const range of [{}, { from: '100', to: '1' }])
    expect(await call('POST', '/v1/audits', { ...asked, ...range })).toEqual({
      status: 200,
      body: { ...running, repair: false },
    });
  const query = `/v1/audits?address=${address}&from=1&to=100`;
  expect((await call('GET', query)).body).toEqual({ ...running, repair: false });
  expect((await call('GET', `${query}&repair=true`)).status).toBe(404);
  const repairing = await call('POST', '/v1/audits', { ...asked, repair: true });
  expect(repairing.body).toEqual({ ...running, repair: true });
  const order = { ...asked, repair: true, cause: 'operator' as const };
  const run = service.temporal.workflow.getHandle(auditWorkflowId(order));
  await run.terminate('enough');
  const ended = await call('GET', `${query}&repair=true`);
  expect(ended.body).toMatchObject({
    state: 'failed',
    report: null,
    reason: 'enough',
  });
});

test.each([
  ['an address of nobody', { address: newAddress(), from: '1', to: '2' }, 404, undefined],
  ['no slot', { address: newAddress(), from: 'x', to: '2' }, 400, 'from'],
  ['more than it asks for', { address: newAddress(), from: '1', to: '2', force: true }, 400, 'force'],
])('an audit is refused, and the field named: %s', async (_, body, status, field) => {
  expect(await call('POST', '/v1/audits', body)).toMatchObject({ status, body: field ? { field } : {} });
});

test('hot wallets are shown with the balances that reconciliation begins with', async () => {
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
