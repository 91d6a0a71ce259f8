import { createNodeWatch, type NodeWatchDeps } from './node-watch.ts';
import { createOrphans, type OrphansDeps } from './orphans.ts';
import type { WalletWatch } from './wallet-watch.ts';

export interface WatchDeps extends OrphansDeps, NodeWatchDeps {
  readonly walletWatch: WalletWatch;
}

/** Every activity of the scheduled workflows. */
export function createWatchActivities(deps: WatchDeps) {
  return {
    ...createOrphans(deps),
    ...createNodeWatch(deps),
    /** Judges what the hot wallet signed since the last time, and says that the record is in use. */
    watchWallet: () => deps.walletWatch.look(),
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
