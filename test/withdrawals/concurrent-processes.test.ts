import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import type { ManagedProcess } from '../../devkit/localstack/process.ts';
import { apiProcess } from '../../devkit/localstack/services.ts';
import type { WithdrawalTerms } from '../../src/client/client.ts';
import { WORKFLOW_TASK_QUEUE, withdrawalWorkflowId } from '../../src/domain/ids.ts';
import { COMPILED } from '../support/compiled.ts';
import { testEnvironment } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { expectDeadThenLanded, settledBooks, waitForStatus, waitForTakeover } from './outcomes-support.ts';
import { NO_AUTOMATIC_SLOTS, useClock, useStack } from './use-stack.ts';

const PATIENCE_MS = 360_000;
const AMOUNT = 3_000_000n;

const use = useStack(NO_AUTOMATIC_SLOTS);
const clock = useClock(use);

function newTerms(id: string): WithdrawalTerms {
  return {
    id,
    asset: 'SOL',
    amount: AMOUNT.toString(),
    destination: newAddress(),
    acceptEmptyWallet: true,
  };
}

async function post(apiUrl: string, terms: WithdrawalTerms): Promise<number> {
  const { status } = await fetch(`${apiUrl}/v1/withdrawals`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${use.stack.apiKey}` },
    body: JSON.stringify(terms),
  });
  return status;
}

/** Starts a withdrawal with a Temporal client, without the API. */
function execute(terms: WithdrawalTerms): Promise<unknown> {
  return use.temporal.workflow.execute('withdrawal', {
    workflowId: withdrawalWorkflowId(terms.id),
    taskQueue: WORKFLOW_TASK_QUEUE,
    args: [terms],
  });
}

async function expectPaidOnce({ id, destination }: WithdrawalTerms): Promise<void> {
  const paid = await use.sluice.waitForFinal(id, { pollMs: 200 });
  expect(paid.status).toBe('finalized');
  const { chain, record, live, openReservations } = await settledBooks(use.stack);
  expect(record).toEqual(chain);
  expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
  expect(await use.chain.paymentsTo(destination)).toMatchObject([
    { signature: paid.attempts.at(-1)?.signature, received: AMOUNT },
  ]);
}

/** A second API process on the same database. */
async function secondApi(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { stack } = use;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...testEnvironment(),
    TEMPORAL_ADDRESS: stack.temporal.address,
    TEMPORAL_NAMESPACE: stack.temporal.namespace,
    DATABASE_URL: stack.databaseUrl,
    SLUICE_RPC_URLS: stack.rpcUrls.join(','),
    SLUICE_HTTP_PORT: String(port),
  };
  const api = apiProcess({ env, logDir: join(stack.logDir, 'second-api'), ...COMPILED }, url);
  await api.start();
  return { url, stop: () => api.stop() };
}

describe('a withdrawal id in concurrent requests to two API processes', () => {
  it(
    'is one withdrawal, new to one request, and is paid once',
    async () => {
      const terms = newTerms('two-apis');
      const other = { ...newTerms('two-apis-conflict'), amount: '4000000' };
      const rival = { ...other, amount: AMOUNT.toString() };
      const second = await secondApi();
      try {
        const urls = Array.from({ length: 20 }, (_, index) => (index % 2 ? second.url : use.stack.apiUrl));
        const answers = await Promise.all(urls.map((url) => post(url, terms)));
        expect(answers.toSorted((a, b) => a - b)).toEqual([...Array(19).fill(200), 202]);
        const conflicting = await Promise.all([post(use.stack.apiUrl, other), post(second.url, rival)]);
        expect(conflicting.toSorted((a, b) => a - b)).toEqual([202, 409]);
      } finally {
        await second.stop();
      }
      await use.sluice.waitForFinal(other.id, { pollMs: 200 });
      await expectPaidOnce(terms);
      expect(await use.chain.paymentsTo(other.destination)).toHaveLength(1);
    },
    PATIENCE_MS,
  );
});

describe('a withdrawal id used again when Temporal has deleted its workflow', () => {
  it(
    'is answered from the database by every entry point, and is never paid again',
    async () => {
      const terms = newTerms('past-retention');
      await use.sluice.withdraw(terms);
      await expectPaidOnce(terms);
      const run = use.temporal.workflow.getHandle(withdrawalWorkflowId(terms.id));
      await run.result();
      await use.temporal.workflowService.deleteWorkflowExecution({
        namespace: use.stack.temporal.namespace,
        workflowExecution: { workflowId: run.workflowId },
      });
      await until(() =>
        run.describe().then(
          () => false,
          () => true,
        ),
      );

      expect(await post(use.stack.apiUrl, terms)).toBe(200);
      await expect(run.describe()).rejects.toThrow();
      expect(await post(use.stack.apiUrl, { ...terms, amount: '4000000' })).toBe(409);
      expect(await execute(terms)).toMatchObject({ status: 'finalized' });
      await expect(execute({ ...terms, destination: newAddress() })).rejects.toMatchObject({
        cause: { type: 'TermsConflict' },
      });
      await expectPaidOnce(terms);
    },
    PATIENCE_MS,
  );
});

describe('a withdrawal with two workers', () => {
  it(
    'is paid once where one worker is suspended while its attempt dies, and resumes later (private-channels #165 and #200)',
    async () => {
      const terms = newTerms('two-workers');
      await use.chain.swallowSends();
      await use.sluice.withdraw(terms);
      await waitForStatus(use.sluice, terms.id, 'sending');
      await clock.pause();
      const [first] = await attempts(terms);
      const other = await use.stack.addWorker('worker-2');
      signal(use.stack.worker, 'SIGSTOP');
      await waitForTakeover(use.stack, terms.id, other);
      expect(await attempts(terms)).toEqual([first]);
      clock.run();
      await use.chain.expireBlockhashes();
      await until(async () => (await attempts(terms)).length > 1);
      signal(use.stack.worker, 'SIGCONT');
      await use.chain.heal();
      await expectPaidOnce(terms);
      const paid = await use.sluice.get(terms.id);
      expectDeadThenLanded(paid);
      expect(paid.attempts[0]).toMatchObject({ signature: first?.signature });
    },
    PATIENCE_MS,
  );
});

async function attempts({ id }: WithdrawalTerms) {
  return (await use.sluice.get(id)).attempts;
}

/** Sends a signal to the whole group of a process, which continues to exist. */
function signal({ pid }: ManagedProcess, name: NodeJS.Signals): void {
  if (pid === undefined) throw new Error('it does not run');
  process.kill(-pid, name);
}
