import { startDueAudits } from '../deposits/backfill/due-audits.ts';
import { createUnsignedExpiry, type UnsignedExpiryDeps } from '../settlement/expire-unsigned.ts';
import { createMissingRunStarter, type OrphansDeps } from '../settlement/restart-unfinished.ts';
import type { WalletWatch } from '../treasury/hot-wallet-watch.ts';

export interface WatchDeps extends OrphansDeps, UnsignedExpiryDeps {
  readonly walletWatch: WalletWatch;
}

export function createWatchActivities(deps: WatchDeps) {
  const expiry = createUnsignedExpiry(deps);
  return {
    ...createMissingRunStarter(deps),
    /**
     * Proves that unsigned attempts can no longer land, so that the next `startMissingRuns` can restart their
     * settlements.
     */
    expireUnsigned: () => expiry.expireUnsigned(),
    startDueAudits: () => startDueAudits(deps),
    /** Checks new transactions of our wallets, and stores a heartbeat, which later reveals a database restore. */
    watchWallet: async (): Promise<void> => {
      try {
        await deps.walletWatch.check();
      } finally {
        await deps.walletWatch.judgeFeePayers();
      }
    },
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
