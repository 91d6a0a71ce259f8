import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';

/** No Temporal is connected: the run gets only the values of the test. One for all, as `temporalAt` explains. */
const client = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });

/** Runs an activity as in a worker, including signals to its run. */
export function activityEnvironment(): MockActivityEnvironment {
  return new MockActivityEnvironment({}, { client });
}

/** {@link activityEnvironment} in the workflow run with this id: by default a new run. */
export function environmentOfRun(runId: string = randomUUID()): MockActivityEnvironment {
  return new MockActivityEnvironment({ workflowExecution: { workflowId: 'test', runId } }, { client });
}

/** Runs one activity, as a worker would. */
export function runActivity<T>(work: () => Promise<T>): Promise<T> {
  return activityEnvironment().run(work);
}
