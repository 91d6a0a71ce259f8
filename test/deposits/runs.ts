import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';

/** Where an activity runs for a workflow: for another run of it each time, or for that one. */
export function runOf(runId: string = randomUUID()): MockActivityEnvironment {
  return new MockActivityEnvironment({ workflowExecution: { workflowId: 'test', runId } });
}
