import { setTimeout } from 'node:timers/promises';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBackfillEnd } from '../../src/activities/deposits.ts';
import type { RescanCommand } from '../../src/domain/backfill.ts';
import { AUDIT_TASK_QUEUE } from '../../src/domain/ids.ts';
import { authorization, openService, type Service } from '../http/service.ts';
import { START } from '../ledger/chain-of-blocks.ts';
import { startWorkers } from './workers.ts';

let service: Service;
let stop: () => Promise<void>;

/** Reads nothing: it fails permanently, or continues until it is cancelled. */
async function backfill({ reason }: RescanCommand): Promise<never> {
  if (reason === 'to fail') throw ApplicationFailure.nonRetryable('no node returns them', 'InvalidRequest');
  for (;;) {
    heartbeat();
    await setTimeout(50);
    cancellationSignal().throwIfAborted();
  }
}

beforeAll(async () => {
  service = await openService();
  await service.ledger.scan.start(START);
  stop = await startWorkers(service, { ...createBackfillEnd(service), backfill }, [
    { taskQueue: AUDIT_TASK_QUEUE },
  ]);
});
afterAll(async () => {
  await stop?.();
  await service?.close();
});

it.each([
  ['to fail', 'no node returns them'],
  ['to be cancelled', 'the workflow run was cancelled'],
])(
  'a backfill whose run ends before it has read all slots is stored as given up, with the reason: %s',
  async (reason, trouble) => {
    const ask = {
      headers: { authorization },
      url: '/v1/backfills',
      payload: { from: '100', to: '100', reason },
    };
    expect((await service.app.inject({ method: 'POST', ...ask })).json()).toMatchObject({ state: 'reading' });
    const run = service.temporal.workflow.getHandle('backfill/blocks/100-100');
    if (reason === 'to be cancelled') await run.cancel();
    await expect(run.result()).rejects.toThrow(WorkflowFailedError);
    const list = { headers: { authorization }, url: '/v1/backfills' };
    const { backfills } = (await service.app.inject({ method: 'GET', ...list })).json();
    expect(backfills[0]).toMatchObject({ reason, state: 'given_up', trouble });
  },
);
