import { startDueAudits } from '../deposits/backfill/due-audits.ts';
import { createUnsignedExpiry, type UnsignedExpiryDeps } from '../settlement/expire-unsigned.ts';
import { createOrphans, type OrphansDeps } from '../settlement/restart-unfinished.ts';
import type { WalletWatch } from '../treasury/hot-wallet-watch.ts';

export interface WatchDeps extends OrphansDeps, UnsignedExpiryDeps {
  readonly walletWatch: WalletWatch;
}

export function createWatchActivities(deps: WatchDeps) {
  const expiry = createUnsignedExpiry(deps);
  return {
    ...createOrphans(deps),
    /**
     * Proves that unsigned attempts can no longer land, so that the next `restartOrphans` can restart their
     * settlements.
     */
    buryRefused: () => expiry.expireUnsigned(),
    startDueAudits: () => startDueAudits(deps),
    /** Checks new transactions of our wallets, and stores a heartbeat, which later reveals a database restore. */
    watchWallet: async (): Promise<void> => {
      try {
        await deps.walletWatch.look();
      } finally {
        await deps.walletWatch.judgeFeePayers();
      }
    },
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
