import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';

/** The run of the workflow that an activity runs for: a new run each time, or that one. */
export function runOf(runId: string = randomUUID()): MockActivityEnvironment {
  return new MockActivityEnvironment({ workflowExecution: { workflowId: 'test', runId } });
}
