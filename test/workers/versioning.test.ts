import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  LANDING_TASK_QUEUE,
  SIGNER_TASK_QUEUE,
  WATCH_TASK_QUEUE,
  WORKFLOW_TASK_QUEUE,
} from '../../src/domain/ids.ts';
import { readConfig } from '../../src/platform/config.ts';
import { workerOptions } from '../../src/platform/roles/run.ts';
import { type CommandResult, runProgram } from '../support/cli.ts';
import { freshNamespace, namespaceWithoutAttributes, type TestNamespace } from '../support/namespace.ts';
import { temporalAt, temporalClient } from '../support/temporal.ts';
import { testWorkflows } from '../support/workflows.ts';

const WORKER = new URL('../../src/worker.ts', import.meta.url);
const DEPLOYMENT = 'sluice';
const UNVERSIONED = 'none';
const OF_RUNS = [WORKFLOW_TASK_QUEUE, LANDING_TASK_QUEUE, WATCH_TASK_QUEUE];
const TASK = { kind: 'any', key: 'hot', message: 'AA==', terms: {} };
const ATTEMPT = { n: 1, message: 'AA==', signature: null, maxFeeLamports: '0', maxRentLamports: '0' };
/** The task queues of workflows, of their activities, of landings and of the scan. */
const QUEUES = 4;
const { CommandType } = proto.temporal.api.enums.v1;

/** A latch that a test opens once; a step waits for it. */
class Latch {
  open: () => void = () => undefined;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

function verify({ env }: TestNamespace, ...args: string[]): Promise<CommandResult> {
  return runProgram(WORKER, ['--verify', ...args], { env });
}

describe('workers of two versions', () => {
  let place: TestNamespace;
  let client: Client;
  let connection: NativeConnection;
  const latches = [new Latch(), new Latch(), new Latch()] as const;
  const [prepared, scanned, preparedBefore] = latches;
  /** Which build executed which step of which run, in order. */
  const steps: string[] = [];
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    place = await freshNamespace('versions');
    client = temporalClient(place);
    connection = await NativeConnection.connect({ address: place.address });
  });
  afterAll(async () => {
    for (const latch of latches) latch.open();
    await Promise.all(stops.map((stop) => stop()));
    await connection?.close();
  });

  function activitiesOf(build: string) {
    const note = (step: string, id: string) => void steps.push(`${build} ${step} ${id}`);
    return {
      findSettlement: async ({ id }: { id: string }) => {
        note('finds', id);
        return { status: 'requested', reason: null, attempt: null };
      },
      prepareSettlement: async ({ id }: { id: string }) => {
        note('prepares', id);
        if (id === 'before') await preparedBefore.opened;
        if (id === 'first') await prepared.opened;
        return { kind: 'prepared', attempt: { ...ATTEMPT, tasks: [{ ...TASK, terms: { id } }] } };
      },
      signTransaction: async ({ terms }: { terms: { id: string } }) => {
        note('signs', terms.id);
        return { signature: terms.id };
      },
      landAttempt: async ({ id, signature }: { id: string; signature: string }) => {
        note('lands', id);
        return { kind: 'finalized', signature, slot: '1' };
      },
      planCatchUp: async () => ({ behind: false, ranges: [], reason: null }),
      scanTail: async () => {
        note('reads', 'scan');
        await (build === 'a' ? scanned.opened : Promise.all(latches.map(({ opened }) => opened)));
        return { state: 'waiting', cursor: null, tip: null, lag: null, blocksPerSecond: null, at: null };
      },
    };
  }

  async function start(build: string, queues: readonly string[]): Promise<void> {
    const config = readConfig(
      { ...place.env, SLUICE_WORKER_BUILD_ID: build === UNVERSIONED ? '' : build },
      'tool',
    );
    const workflowBundle = await testWorkflows();
    const workers = await Promise.all(
      queues.map((taskQueue) =>
        Worker.create({
          ...workerOptions(config, connection, taskQueue),
          activities: activitiesOf(build),
          ...(taskQueue === WORKFLOW_TASK_QUEUE ? { workflowBundle } : {}),
        }),
      ),
    );
    const running = Promise.all(workers.map((worker) => worker.run()));
    stops.push(async () => {
      for (const worker of workers) worker.shutdown();
      await running;
    });
  }

  /** As `temporal worker deployment set-current-version`, once the server knows every queue of the version. */
  async function makeCurrent(buildId: string): Promise<void> {
    const { workflowService } = temporalAt(place.address);
    const { namespace } = place;
    const deploymentVersion = { deploymentName: DEPLOYMENT, buildId };
    const queues = async () => {
      const request = { namespace, deploymentVersion };
      const found = await workflowService.describeWorkerDeploymentVersion(request).catch(() => null);
      return found?.versionTaskQueues.length;
    };
    await expect.poll(queues, { timeout: 60_000 }).toBe(QUEUES);
    await workflowService.setWorkerDeploymentCurrentVersion({ namespace, ...deploymentVersion });
  }

  const settle = (id: string) =>
    client.workflow.start('settlement', {
      workflowId: `any/${id}`,
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [{ id }],
    });

  it('finish a settlement on its version, move all other runs to the current version, and share one signer', async () => {
    await start('signer', [SIGNER_TASK_QUEUE]);
    await start(UNVERSIONED, OF_RUNS);
    const before = await settle('before');
    await expect
      .poll(() => steps, { timeout: 60_000 })
      .toEqual(['none finds before', 'none prepares before']);
    await start('a', OF_RUNS);
    await makeCurrent('a');
    preparedBefore.open();
    expect(await before.result()).toMatchObject({ status: 'finalized' });
    expect(steps.splice(0).slice(2)).toEqual(['signer signs before', 'a lands before']);

    const first = await settle('first');
    await client.workflow.start('depositScan', {
      workflowId: 'deposit-scan/versions',
      taskQueue: WORKFLOW_TASK_QUEUE,
      args: [{}],
    });
    await expect
      .poll(() => [...steps].sort(), { timeout: 60_000 })
      .toEqual(['a finds first', 'a prepares first', 'a reads scan']);

    await start('b', OF_RUNS);
    await makeCurrent('b');
    const second = await settle('second');
    expect(await second.result()).toMatchObject({ status: 'finalized' });
    expect(await verify(place)).toMatchObject({ code: 0, stdout: '2 open runs replayed, 0 failed\n' });
    for (const latch of latches) latch.open();
    expect(await first.result()).toMatchObject({ status: 'finalized' });

    await expect.poll(() => steps, { timeout: 60_000 }).toContain('b reads scan');
    const of = (id: string) => steps.filter((step) => step.endsWith(id));
    expect(of('first')).toEqual(['a finds first', 'a prepares first', 'signer signs first', 'a lands first']);
    expect(of('second')).toEqual([
      'b finds second',
      'b prepares second',
      'signer signs second',
      'b lands second',
    ]);
    await client.workflow.getHandle('deposit-scan/versions').terminate();
  }, 180_000);
});

describe('worker --verify', () => {
  /** An open run whose first task was completed by code that starts a timer. */
  async function runOfOtherCode({ address, namespace }: TestNamespace, type: string): Promise<string> {
    const { workflowService } = temporalAt(address);
    const { firstExecutionRunId } = await temporalClient({ address, namespace }).workflow.start(type, {
      workflowId: type,
      taskQueue: WORKFLOW_TASK_QUEUE,
    });
    const taskQueue = { name: WORKFLOW_TASK_QUEUE };
    const { taskToken } = await temporalAt(address).withDeadline(Date.now() + 60_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue }),
    );
    const startTimerCommandAttributes = { timerId: '1', startToFireTimeout: { seconds: 86_400 as never } };
    const commandType = CommandType.COMMAND_TYPE_START_TIMER;
    const commands = [{ commandType, startTimerCommandAttributes }];
    await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands });
    return firstExecutionRunId;
  }

  it('names each open run that does not replay, and exits with code 1', async () => {
    const place = await namespaceWithoutAttributes('verify');
    const runs = { walletWatch: '', ofNoCode: '' };
    for (const type of ['walletWatch', 'ofNoCode'] as const) runs[type] = await runOfOtherCode(place, type);
    const client = temporalClient(place);
    await client.workflow.start('restartUnfinished', {
      workflowId: 'no task yet',
      taskQueue: WORKFLOW_TASK_QUEUE,
    });
    const ended = await verify(place, '--limit', '1');
    const [watch, unknown, ...rest] = ended.stdout.split('\n');
    expect(watch).toContain(`replay failed: walletWatch walletWatch, run ${runs.walletWatch}: `);
    expect(unknown).toContain(`replay failed: ofNoCode ofNoCode, run ${runs.ofNoCode}: `);
    expect(rest).toEqual(['2 open runs replayed, 2 failed', '']);
    expect(ended).toMatchObject({ code: 1, stderr: '' });
  }, 120_000);

  it('exits with code 2 for an unknown option', async () => {
    const ended = await runProgram(WORKER, ['--check'], {});
    expect(ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('usage: worker [--verify'),
    });
  }, 60_000);
});
