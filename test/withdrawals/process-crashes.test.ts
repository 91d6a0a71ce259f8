import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { paymentsOnChain } from '../../devkit/localstack/chain-truth.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { startCrashingApi, startCrashingSigner } from '../support/crash.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { query, settledBooks, waitForStatus } from './outcomes-support.ts';

const PATIENCE_MS = 240_000;

let running: TestStack;

beforeAll(async () => {
  running = await testStack();
});

afterAll(async () => running?.close());

function newTerms(id: string): WithdrawalTerms {
  return { id, asset: 'SOL', amount: '2000000', destination: newAddress(), acceptEmptyWallet: true };
}

function post(apiUrl: string, terms: WithdrawalTerms): Promise<Response> {
  return fetch(`${apiUrl}/v1/withdrawals`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${running.stack.apiKey}` },
    body: JSON.stringify(terms),
  });
}

async function expectPaidOnce(all: readonly WithdrawalTerms[]): Promise<void> {
  const ends = await Promise.all(all.map(({ id }) => running.sluice.waitForFinal(id, { pollMs: 200 })));
  const payments = await paymentsOnChain(running.stack.rpcUrls[0] ?? '', running.stack.hotWallet);
  for (const [index, { destination }] of all.entries()) {
    expect(ends[index]).toMatchObject({ status: 'finalized' });
    const signature = ends[index]?.attempts.at(-1)?.signature;
    expect(payments.filter(({ wallet }) => wallet === destination)).toMatchObject([
      { signature, received: 2_000_000n },
    ]);
  }
  const { chain, record, live, openReservations } = await settledBooks(running.stack);
  expect(record).toEqual(chain);
  expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
}

describe('a withdrawal whose signer is killed', () => {
  it(
    'before or after it signs, with its answer lost, is paid exactly once',
    async () => {
      const { stack, sluice } = running;
      await stack.signer.kill('SIGKILL');
      const all = ['before signer.sign', 'after signer.sign'].map((at) => ({
        at,
        terms: newTerms(at.replace(' ', '-')),
      }));
      for (const { at, terms } of all) {
        const signer = await startCrashingSigner(stack, at, terms);
        await sluice.withdraw(terms);
        await signer.crashed();
        expect(await sluice.get(terms.id)).toMatchObject({
          attempts: [{ state: 'prepared', signature: null }],
        });
      }
      await stack.signer.start();
      await expectPaidOnce(all.map(({ terms }) => terms));
    },
    PATIENCE_MS,
  );
});

describe('a withdrawal whose API is killed', () => {
  it.each([
    ['before withdrawals.reserve', null],
    ['after withdrawals.reserve', 'requested'],
    ['before workflow.start', 'requested'],
    ['after workflow.start', 'finalized'],
  ])(
    '%s gets no answer, and is paid exactly once after a repeated request',
    async (at, status) => {
      const { stack, sluice } = running;
      const terms = newTerms(at.replace(' ', '-'));
      const api = await startCrashingApi(stack, at, terms);
      await expect(post(api.url, terms)).rejects.toThrow('fetch failed');
      await api.crashed();
      if (status === null) await expect(sluice.get(terms.id)).rejects.toMatchObject({ code: 'NotFound' });
      else if (status === 'requested')
        expect(await sluice.get(terms.id)).toMatchObject({ status, attempts: [] });
      else expect(await sluice.waitForFinal(terms.id, { pollMs: 200 })).toMatchObject({ status });

      if (status !== null)
        expect((await post(stack.apiUrl, { ...terms, amount: '2000001' })).status).toBe(409);
      expect((await post(stack.apiUrl, terms)).status).toBe(status === null ? 202 : 200);
      await expectPaidOnce([terms]);
    },
    PATIENCE_MS,
  );

  it(
    'is cancelled once, where the API dies after the run accepted the cancel, and a repeated request gets the same answer',
    async () => {
      const { stack, sluice } = running;
      const terms = { ...newTerms('cancel-unanswered'), acceptEmptyWallet: false };
      await sluice.withdraw(terms);
      await waitForStatus(sluice, terms.id, 'awaiting_confirmation');
      const api = await startCrashingApi(stack, 'before attempts.of', terms);
      const headers = { authorization: `Bearer ${stack.apiKey}` };
      const unanswered = fetch(`${api.url}/v1/withdrawals/${terms.id}/cancel`, { method: 'POST', headers });
      await expect(unanswered).rejects.toThrow('fetch failed');
      await api.crashed();

      const cancelled = await sluice.cancel(terms.id);
      expect(cancelled).toMatchObject({ status: 'cancelled', attempts: [] });
      expect(await sluice.cancel(terms.id)).toEqual(cancelled);
      expect(await sluice.get(terms.id)).toEqual(cancelled);
      await expect(sluice.confirm(terms.id)).rejects.toMatchObject({ code: 'NotAwaitingConfirmation' });
    },
    PATIENCE_MS,
  );

  it(
    'is not accepted while its row cannot be committed',
    async () => {
      const { stack, sluice } = running;
      const terms = newTerms('uncommitted');
      const client = new pg.Client({ connectionString: stack.databaseUrl });
      await client.connect();
      try {
        await client.query('begin; lock table withdrawal in share mode');
        const refused = post(stack.apiUrl, terms);
        // As a statement timeout would, some seconds later.
        const cancel =
          'select pg_cancel_backend(pid) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))';
        const { rows } = await client.query<{ own: number }>('select pg_backend_pid() as own');
        await until(async () => (await query(stack, cancel, [rows[0]?.own])).length > 0);
        expect((await refused).status).toBeGreaterThanOrEqual(500);
      } finally {
        await client.end();
      }
      await expect(sluice.get(terms.id)).rejects.toMatchObject({ code: 'NotFound' });
      expect((await post(stack.apiUrl, terms)).status).toBe(202);
      await expectPaidOnce([terms]);
    },
    PATIENCE_MS,
  );
});
