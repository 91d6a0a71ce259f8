import { watchNodes, watchWallet } from './activity-proxies.ts';

/** Every minute, by schedule: compares our wallets' signatures with the database, even if nothing is paid. */
export async function walletWatch(): Promise<void> {
  await watchWallet();
}

/** Every minute, by schedule: updates the alerts about broken node rules. */
export async function nodeWatch(): Promise<void> {
  await watchNodes();
}
