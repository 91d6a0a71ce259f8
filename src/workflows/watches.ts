import { watchWallet } from './activity-proxies.ts';

/** Compares the transactions of our wallets with the database. A schedule starts it every minute. */
export async function walletWatch(): Promise<void> {
  await watchWallet();
}
