import { proxyActivities } from '@temporalio/workflow';
import type { WatchActivities } from '../activities/watches.ts';
import { WATCH } from './options.ts';

const { watchWallet } = proxyActivities<WatchActivities>({
  ...WATCH,
  summary: 'hold the wallet against the record',
});
const { watchNodes } = proxyActivities<WatchActivities>({
  ...WATCH,
  summary: 'hold the nodes against the rules',
});

/** Every minute, by schedule: compares our wallets' signatures with the database, even if nothing is paid. */
export async function walletWatch(): Promise<void> {
  await watchWallet();
}

/** Every minute, by schedule: updates the alerts about broken node rules. */
export async function nodeWatch(): Promise<void> {
  await watchNodes();
}
