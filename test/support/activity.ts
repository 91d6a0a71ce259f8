import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';

/** No Temporal is connected: the run gets only the values of the test. One for all, as `temporalAt` explains. */
const client = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });

/** Runs an activity as in a worker, including signals to its run. */
export function activityEnvironment(): MockActivityEnvironment {
  return new MockActivityEnvironment({}, { client });
}
