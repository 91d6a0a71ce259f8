import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../../src/platform/temporal/client.ts';
import { temporalAt, testTemporal } from './temporal.ts';

/** The namespace of all workflows and schedules of one test, or of the tests of one file. */
export interface TestNamespace {
  readonly address: string;
  readonly namespace: string;
  /** The settings of a process in this namespace. */
  readonly env: { readonly TEMPORAL_ADDRESS: string; readonly TEMPORAL_NAMESPACE: string };
}

/** A new namespace, with our search attributes, on the Temporal that all test files share. */
export async function freshNamespace(name = 'test'): Promise<TestNamespace> {
  return createNamespace(name, async (connection, namespace) => {
    await untilDone(() => registerSearchAttributes(connection, namespace));
    await untilDone(() => count(connection, namespace, "sluiceStatus = 'none'"));
  });
}

/** {@link freshNamespace} without our search attributes. */
export async function namespaceWithoutAttributes(name = 'bare'): Promise<TestNamespace> {
  return createNamespace(name, (connection, namespace) => untilDone(() => count(connection, namespace, '')));
}

async function createNamespace(
  name: string,
  open: (connection: Connection, namespace: string) => Promise<unknown>,
): Promise<TestNamespace> {
  const { address } = await testTemporal();
  const namespace = `${name}-${randomBytes(6).toString('hex')}`;
  const connection = temporalAt(address);
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  await open(connection, namespace);
  return { address, namespace, env: { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } };
}

function count(connection: Connection, namespace: string, query: string): Promise<unknown> {
  return connection.workflowService.countWorkflowExecutions({ namespace, query });
}

/** The server learns of a new namespace by polling its own database, and answers with errors until then. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(200);
    }
  }
}
