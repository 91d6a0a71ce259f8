import { startDueAudits } from '../deposits/backfill/due-audits.ts';
import { type BurialDeps, createBurial } from '../settlement/expire-unsigned.ts';
import { createOrphans, type OrphansDeps } from '../settlement/restart-unfinished.ts';
import type { WalletWatch } from '../treasury/hot-wallet-watch.ts';
import { createNodeWatch, type NodeWatchDeps } from './node-watch.ts';

export interface WatchDeps extends OrphansDeps, NodeWatchDeps, BurialDeps {
  readonly walletWatch: WalletWatch;
}

/** Every activity of the scheduled workflows. */
export function createWatchActivities(deps: WatchDeps) {
  const burial = createBurial(deps);
  return {
    ...createNodeWatch(deps),
    ...createOrphans(deps),
    /** Frees what the signer refused of attempts that are proved dead, for the next round of orphans. */
    buryRefused: () => burial.buryUnsigned(),
    /** Starts the audits that the record waits for. */
    startDueAudits: () => startDueAudits(deps),
    /** Judges what the hot wallet and the fee payers signed since the last time, and says that the record is in use. */
    watchWallet: async (): Promise<void> => {
      try {
        await deps.walletWatch.look();
      } finally {
        await deps.walletWatch.lookAtFeePayers();
      }
    },
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
