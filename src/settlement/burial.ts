import { isDomainError, messageOf } from '../domain/errors.ts';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import type { Finding } from '../solana/examination.ts';
import { HISTORY_BOUNDS, type HistoryBounds } from '../solana/history-pages.ts';
import { examineUnsigned, unsignedCache } from '../solana/unsigned-investigation.ts';
import { examineUnsignedNonce } from '../solana/unsigned-nonce.ts';
import { confirmOneCluster } from './one-cluster.ts';
import { unsignedAttemptOf, unsignedNonceAttemptOf } from './unsigned-attempt.ts';

export interface BurialDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** How much of the wallet's history one round reads. */
  readonly history?: HistoryBounds;
}

/** A proof reads every block of a minute twice: after so long no other one begins in this round. */
const ROUND_MS = 30_000;
const ROWS_A_ROUND = 200;

/**
 * Attempts that are not signed: nobody watches them, and only a proof of death frees their settlements. The signer has refused them, or
 * takes longer than the blockhash lives, or somebody may have used up their durable nonce. The alert `evidence_missing` says what keeps
 * one from being examined.
 */
export function createBurial({ ledger, chain, history = HISTORY_BOUNDS }: BurialDeps) {
  const cache = unsignedCache(history);
  /** The settlements with an open alert of this process. */
  const told = new Set<string>();

  async function examine(row: AttemptRow): Promise<Finding | null> {
    const nonceAttempt = unsignedNonceAttemptOf(row);
    if (nonceAttempt !== null)
      return examineUnsignedNonce(chain, nonceAttempt, cache.blocks, verifySignature);
    const attempt = unsignedAttemptOf(row);
    return attempt === null ? null : examineUnsigned(chain, attempt, cache, verifySignature);
  }

  async function bury(row: AttemptRow): Promise<boolean> {
    const found = await examine(row);
    if (found?.verdict.kind !== 'dead') return false;
    await confirmOneCluster(ledger, chain.pool);
    const { settlementId, n, signature } = row;
    const proof = { ...found.times, ...found.evidence };
    await ledger.attempts.settle(settlementId, n, { state: 'dead', signature, proof });
    return true;
  }

  async function tell({ settlementId: subject, n }: AttemptRow, error: unknown): Promise<void> {
    const message = `attempt ${n} without a signature cannot be examined: ${messageOf(error)}`;
    await ledger.alerts.raise({ kind: 'evidence_missing', subject, message });
    told.add(subject);
  }

  async function closeOthers(failing: ReadonlySet<string>): Promise<void> {
    for (const subject of [...told].filter((id) => !failing.has(id))) {
      await ledger.alerts.close('evidence_missing', subject);
      told.delete(subject);
    }
  }

  return {
    /** Answers how many are proved dead. One that cannot be proved now, or is signed meanwhile, waits for the next round. */
    async buryUnsigned(): Promise<number> {
      const end = performance.now() + ROUND_MS;
      let buried = 0;
      const failing = new Set<string>();
      for (const row of await ledger.attempts.unsigned(ROWS_A_ROUND)) {
        if (performance.now() > end) break;
        try {
          if (await bury(row)) buried += 1;
        } catch (error) {
          // Signed or settled meanwhile, it needs no look.
          if (isDomainError(error, 'IllegalTransition')) continue;
          failing.add(row.settlementId);
          await tell(row, error);
        }
      }
      await closeOthers(failing);
      return buried;
    },
  };
}
