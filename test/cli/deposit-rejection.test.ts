import { afterAll, beforeAll, expect, test } from 'vitest';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { newSignature } from '../deposits/audit-support.ts';
import { DepositsApi } from '../http/deposits-fixture.ts';
import { API_KEY } from '../http/service.ts';
import { address, chain, inflow, START } from '../ledger/chain-of-blocks.ts';
import { commit, confirmAll, importWallets } from '../ledger/deposit-ledger.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

const [ANN, BEN] = [address('ann'), address('ben')];

let api: DepositsApi;
let apiUrl: string;
beforeAll(async () => {
  api = await DepositsApi.open();
  apiUrl = await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api?.close());

async function reject({ id }: { readonly id: string }, reason = 'in no explorer') {
  const env = { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY };
  const ended = await callSluice(['deposits', 'reject', id, '--reason', reason, '-o', 'json'], { env });
  return { json: jsonOf(ended), code: ended.code };
}

async function rowOf(wallet: string): Promise<DepositRow> {
  const [row] = (await api.ledger.deposits.list({ address: wallet, limit: 1 })).rows;
  if (row === undefined) throw new Error('a deposit');
  return row;
}

test('an operator can reject a deposit that a quorum of nodes denies, with a reason, and no other deposit', async () => {
  const { ledger, localnet } = api;
  await importWallets(ledger, ANN, BEN);
  await ledger.scan.start(START);
  const blocks = chain(START, [inflow(ANN, 5n, { signature: newSignature() })], [inflow(BEN)]);
  await commit(ledger, blocks);
  const made = await rowOf(ANN);
  const id = depositId(made);
  // The chain of the nodes is not at that slot yet: it may still contain the transaction.
  expect(await reject({ id })).toMatchObject({ json: { error: { code: 'NotRejectable' } }, code: 3 });
  localnet.controls.produceSlots(120);
  expect((await reject({ id }, ' ')).code).toBe(2);
  const alone = await api.also({});
  expect(
    (await api.call('POST', `/v1/deposits/${id}/reject`, { reason: 'a test' }, alone)).body,
  ).toMatchObject({
    status: 503,
    code: 'Unavailable',
  });
  expect((await rowOf(ANN)).state).toBe('pending');
  for (let times = 0; times < 2; times += 1)
    expect(await reject({ id })).toMatchObject({ json: { id, state: 'dropped', reason: null }, code: 0 });
  expect(await ledger.db.selectFrom('depositRejection').select(['reason', 'deniedBy']).execute()).toEqual([
    { reason: 'in no explorer', deniedBy: localnet.rpcUrls.map((url) => new URL(url).host).join(', ') },
  ]);
  await confirmAll(ledger);
  const final = await rowOf(BEN);
  expect(await reject({ id: depositId(final) })).toMatchObject({
    json: { error: { code: 'NotFound' } },
    code: 3,
  });
  expect((await rowOf(BEN)).state).toBe('final');
});
