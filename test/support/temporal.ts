import { Client, Connection } from '@temporalio/client';
import { sharedService } from './services.ts';

const connections = new Map<string, Connection>();

/** The Temporal development server that all test files share. Use task queues and workflow ids of your own. */
export async function testTemporal(): Promise<{ address: string; namespace: string }> {
  const { address, namespace } = await sharedService<{ address: string; namespace: string }>('temporal');
  return { address, namespace };
}

/**
 * One connection to that server for the whole process; it is never closed. Each connection has an `AsyncLocalStorage`, and Node 20
 * visits every used storage whenever a promise is made: a connection for each test took a fifth of the time of all tests.
 */
export function temporalAt(address: string): Connection {
  const connection = connections.get(address) ?? Connection.lazy({ address });
  connections.set(address, connection);
  return connection;
}

/** The Temporal clients of an operator or any other caller in a namespace. */
export function temporalClient({ address, namespace }: { address: string; namespace: string }): Client {
  return new Client({ connection: temporalAt(address), namespace });
}
