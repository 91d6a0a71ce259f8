import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';

/** No Temporal is there: what the run is not told it does not need. One for all, as `temporalAt` says why. */
const client = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });

/** Where an activity runs as in a worker, also one that signals its run. */
export function activityEnvironment(): MockActivityEnvironment {
  return new MockActivityEnvironment({}, { client });
}
