import { watchWallet } from './activity-proxies.ts';

/** Every minute, by schedule: compares our wallets' signatures with the database, even if nothing is paid. */
export async function walletWatch(): Promise<void> {
  await watchWallet();
}
