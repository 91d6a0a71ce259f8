import { sharedService } from './services.ts';

/** The Temporal development server that all test files share. Use task queues and workflow ids of your own. */
export async function testTemporal(): Promise<{ address: string; namespace: string }> {
  const { address, namespace } = await sharedService<{ address: string; namespace: string }>('temporal');
  return { address, namespace };
}
