import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import { HISTORY_BOUNDS, type HistoryBounds } from '../solana/history-pages.ts';
import { examineUnsigned, unsignedCache } from '../solana/unsigned-investigation.ts';
import { confirmOneCluster } from './one-cluster.ts';
import { unsignedAttemptOf } from './unsigned-attempt.ts';

export interface BurialDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** How much of the wallet's history one round reads. */
  readonly history?: HistoryBounds;
}

/** A proof reads every block of a minute twice: after so long no other one begins in this round. */
const ROUND_MS = 30_000;
const ROWS_A_ROUND = 200;

/** Attempts that the signer refused: nobody signs them, so nobody watches them, and only a proof of death frees their settlements. */
export function createBurial({ ledger, chain, history = HISTORY_BOUNDS }: BurialDeps) {
  const cache = unsignedCache(history);

  async function bury(row: AttemptRow): Promise<boolean> {
    const attempt = unsignedAttemptOf(row);
    if (attempt === null) return false;
    const found = await examineUnsigned(chain, attempt, cache, verifySignature);
    if (found?.verdict.kind !== 'dead') return false;
    await confirmOneCluster(ledger, chain.pool);
    const proof = { ...found.times, ...found.evidence };
    await ledger.attempts.settle(row.settlementId, row.n, { state: 'dead', signature: null, proof });
    return true;
  }

  return {
    /** Answers how many are proved dead. One that cannot be proved now, or is signed meanwhile, waits for the next round. */
    async buryRefused(): Promise<number> {
      const end = performance.now() + ROUND_MS;
      let buried = 0;
      for (const row of await ledger.attempts.refused(ROWS_A_ROUND)) {
        if (performance.now() > end) break;
        if (await bury(row).catch(() => false)) buried += 1;
      }
      return buried;
    },
  };
}
