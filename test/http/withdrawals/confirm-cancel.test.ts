import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { failureInterceptor } from '../../../src/activities/failures.ts';
import { createAdmission } from '../../../src/activities/withdrawals.ts';
import { WORKFLOW_TASK_QUEUE } from '../../../src/domain/ids.ts';
import type { Preparation } from '../../../src/domain/steps.ts';
import { cancel, confirm } from '../../../src/http/withdrawals/confirm-cancel.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { startWithdrawal } from '../../../src/platform/temporal/starts.ts';
import { settlementStatus } from '../../../src/workflows/messages.ts';
import { testWorkflows } from '../../support/workflows.ts';
import { authorization, openService, type Service } from '../service.ts';

const terms = { asset: 'SOL', amount: '1', destination: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' };

let service: Service;
let connection: NativeConnection;
let worker: Worker;
let running: Promise<void>;

beforeAll(async () => {
  service = await openService();
  connection = await NativeConnection.connect({ address: service.address });
  worker = await Worker.create({
    connection,
    namespace: service.namespace,
    taskQueue: WORKFLOW_TASK_QUEUE,
    workflowBundle: await testWorkflows(),
    activities: { ...createAdmission(service), ...chainWithEmptyWallet(service.ledger) },
    interceptors: { activity: [() => ({ inbound: failureInterceptor })] },
  });
  running = worker.run();
});

afterAll(async () => {
  worker?.shutdown();
  await running;
  await connection?.close();
  await service?.close();
});

/** Composing finds no mint at the destination until the customer confirms, and a mint from then on. All other answers are empty. */
function chainWithEmptyWallet(ledger: Ledger) {
  return {
    async prepareAttempt({ terms: { id } }: { terms: { id: string } }): Promise<Preparation> {
      const row = await ledger.withdrawals.get(id);
      if (row.status === 'cancelled') return { kind: 'ended', status: 'cancelled', reason: row.reason };
      const status = row.confirmedByCustomer ? 'rejected' : 'awaiting_confirmation';
      const reason = { code: row.confirmedByCustomer ? 'mint' : 'empty_wallet', message: 'said by a test' };
      await ledger.settlements.move(id, status, reason);
      return status === 'rejected' ? { kind: 'ended', status, reason } : { kind: 'waiting', status, reason };
    },
  };
}

const post = (url: string, payload?: object) =>
  service.app.inject({
    method: 'POST',
    url,
    headers: { authorization },
    ...(payload === undefined ? {} : { payload }),
  });

async function waiting(id: string): Promise<void> {
  await post('/v1/withdrawals', { id, ...terms });
  await expect.poll(() => statusOf(id), { timeout: 20_000 }).toBe('awaiting_confirmation');
}

async function statusOf(id: string): Promise<string> {
  const answer = await service.app.inject({ url: `/v1/withdrawals/${id}`, headers: { authorization } });
  return answer.json().status;
}

test('confirm signals the waiting workflow, and the workflow continues', async () => {
  await waiting('confirmed');
  const answer = await post('/v1/withdrawals/confirmed/confirm');
  expect([answer.statusCode, answer.json().confirmedByCustomer]).toEqual([200, true]);
  await expect.poll(() => statusOf('confirmed'), { timeout: 20_000 }).toBe('rejected');
});

test('cancel ends the waiting workflow, and a repeated cancel succeeds', async () => {
  await waiting('cancelled');
  const answer = await post('/v1/withdrawals/cancelled/cancel');
  expect([answer.statusCode, answer.json().status]).toEqual([200, 'cancelled']);
  await service.temporal.workflow.getHandle('withdrawal/cancelled').result();
  const again = await post('/v1/withdrawals/cancelled/cancel');
  expect([again.statusCode, again.json().status]).toEqual([200, 'cancelled']);
});

test('confirm of an ended withdrawal is 409 with its state', async () => {
  await waiting('too-late');
  await post('/v1/withdrawals/too-late/cancel');
  const answer = await post('/v1/withdrawals/too-late/confirm');
  expect(answer.json()).toMatchObject({ status: 409, code: 'NotAwaitingConfirmation' });
});

test('the database decides a cancel where no workflow runs', async () => {
  await service.ledger.withdrawals.reserve({ id: 'unstarted', ...terms });
  const answer = await post('/v1/withdrawals/unstarted/cancel');
  expect([answer.statusCode, answer.json().status]).toEqual([200, 'cancelled']);
});

test('the API stores a confirm where no workflow runs, and starts one', async () => {
  await waiting('terminated');
  await service.temporal.workflow.getHandle('withdrawal/terminated').terminate('by a test');
  expect((await post('/v1/withdrawals/terminated/confirm')).statusCode).toBe(200);
  await expect.poll(() => statusOf('terminated'), { timeout: 20_000 }).toBe('rejected');
});

/** The database, where a run of the withdrawal starts and begins to wait just before the note is written. */
function withRunBetween(method: 'confirmDestination' | 'cancel'): Ledger {
  const { settlements, withdrawals } = service.ledger;
  return {
    ...service.ledger,
    withdrawals: late(withdrawals, method),
    settlements: late(settlements, method),
  };
}

function late<T extends object>(record: T, method: string): T {
  return new Proxy(record, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return async (...args: readonly unknown[]) => {
        if (key === method) await runWaits(String(args[0]));
        return member.apply(target, args);
      };
    },
  });
}

async function runWaits(id: string): Promise<void> {
  await startWithdrawal(service.temporal, { id, ...terms });
  const handle = service.temporal.workflow.getHandle(`withdrawal/${id}`);
  const seen = async () => (await handle.query(settlementStatus)).status;
  await expect.poll(seen, { timeout: 20_000 }).toBe('awaiting_confirmation');
}

test('confirm signals a run that began to wait just before the note was stored', async () => {
  await service.ledger.withdrawals.reserve({ id: 'between', ...terms });
  await confirm({ ledger: withRunBetween('confirmDestination'), temporal: service.temporal }, 'between');
  await expect.poll(() => statusOf('between'), { timeout: 20_000 }).toBe('rejected');
});

test('cancel ends a run that began to wait just before the note was stored', async () => {
  await service.ledger.withdrawals.reserve({ id: 'cancel-between', ...terms });
  await cancel({ ledger: withRunBetween('cancel'), temporal: service.temporal }, 'cancel-between');
  const view = await service.temporal.workflow.getHandle('withdrawal/cancel-between').result();
  expect(view).toMatchObject({ status: 'cancelled' });
});

test('the API returns the error code of a refusal by the workflow', async () => {
  await waiting('refused');
  const handle = service.temporal.workflow.getHandle('withdrawal/refused');
  await service.ledger.settlements.move('refused', 'awaiting_funds');
  const answer = await post('/v1/withdrawals/refused/confirm');
  expect([answer.statusCode, answer.json().code]).toEqual([409, 'NotAwaitingConfirmation']);
  await handle.terminate('by a test');
});

test('a malformed address fails a start that bypassed the API, and uses no id', async () => {
  const malformed = { id: 'malformed', ...terms, destination: '0OIl'.repeat(10) };
  await startWithdrawal(service.temporal, malformed);
  const end = service.temporal.workflow.getHandle('withdrawal/malformed').result();
  await expect(end).rejects.toMatchObject({ cause: { type: 'InvalidRequest' } });
  expect(await service.ledger.withdrawals.find('malformed')).toBeUndefined();
});

test('an operator note that a withdrawal is paid ends the waiting run, and a later cancel refunds nothing', async () => {
  await waiting('paid');
  expect((await post('/v1/withdrawals/paid/paid', { reason: 'seen' })).json().code).toBe('NotCancellable');
  const alarm = { kind: 'maybe_paid', subject: 'paid', message: 'look' } as const;
  await service.ledger.alerts.raise(alarm);
  const refused = await post('/v1/withdrawals/paid/cancel');
  expect([refused.statusCode, refused.json().code]).toEqual([503, 'DatabaseIncomplete']);
  const ended = await post('/v1/withdrawals/paid/paid', { reason: 'seen' });
  expect(ended.json()).toMatchObject({ status: 'cancelled', reason: { code: 'paid_already' } });
  const view = await service.temporal.workflow.getHandle('withdrawal/paid').result();
  expect(view).toMatchObject({ status: 'cancelled', reason: { code: 'paid_already' } });
  expect((await post('/v1/withdrawals/paid/cancel')).json().code).toBe('NotCancellable');
});
