import { proxyActivities } from '@temporalio/workflow';
import type { baselineActivities } from './activities.ts';

const { first, second, third } = proxyActivities<typeof baselineActivities>({
  startToCloseTimeout: '30 seconds',
});

/** A workflow of three empty activities: the minimum cost of a durable workflow on this server. */
export async function threeActivities(text: string): Promise<string> {
  return third(await second(await first(text)));
}
