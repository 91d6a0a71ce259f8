import { proxyActivities } from '@temporalio/workflow';
import type { baselineActivities } from './activities.ts';

const { first, second, third } = proxyActivities<typeof baselineActivities>({
  startToCloseTimeout: '30 seconds',
});

/** The bare minimum that a durable workflow of three steps costs on this server. */
export async function threeActivities(text: string): Promise<string> {
  return third(await second(await first(text)));
}
