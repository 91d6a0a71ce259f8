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
const ALERTS_READ = 10_000;

/**
 * Attempts that are not signed: nobody watches them, and only a proof of death frees their settlements. The signer has refused them, or
 * takes longer than the blockhash lives, or somebody may have used up their durable nonce. The alert `evidence_missing` says what keeps
 * one from being examined.
 */
export function createBurial({ ledger, chain, history = HISTORY_BOUNDS }: BurialDeps) {
  const cache = unsignedCache(history);
  const troubles = new Troubles(ledger);

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

  return {
    /** Answers how many are proved dead. One that cannot be proved now, or is signed meanwhile, waits for the next round. */
    async buryUnsigned(): Promise<number> {
      const end = performance.now() + ROUND_MS;
      let buried = 0;
      for (const row of await ledger.attempts.unsigned(ROWS_A_ROUND)) {
        if (performance.now() > end) break;
        try {
          if (await bury(row)) buried += 1;
        } catch (error) {
          // Signed or settled meanwhile, it needs no look.
          if (isDomainError(error, 'IllegalTransition')) continue;
          await troubles.tell(row, error);
        }
      }
      await troubles.endRound();
      return buried;
    },
  };
}

/** Keeps an alert open about each attempt whose examination fails in one round after the other. */
class Troubles {
  readonly #ledger: Pick<Ledger, 'alerts' | 'settlements'>;
  /** The settlements with an open alert from a round before. Null before the first round ends: an earlier process may have left some. */
  #open: ReadonlySet<string> | null = null;
  #failing = new Set<string>();

  constructor(ledger: Pick<Ledger, 'alerts' | 'settlements'>) {
    this.#ledger = ledger;
  }

  async tell({ settlementId: subject, n }: AttemptRow, error: unknown): Promise<void> {
    const message = `attempt ${n} without a signature cannot be examined: ${messageOf(error)}`;
    await this.#ledger.alerts.raise({ kind: 'evidence_missing', subject, message });
    this.#failing.add(subject);
  }

  /** Closes the alerts of the round before that this one has not raised again. */
  async endRound(): Promise<void> {
    for (const subject of this.#open ?? (await this.#leftOpen()))
      if (!this.#failing.has(subject)) await this.#ledger.alerts.close('evidence_missing', subject);
    this.#open = this.#failing;
    this.#failing = new Set();
  }

  /** The settlements with an open alert that no judgement of a signed attempt keeps: such a judgement holds its settlement first. */
  async #leftOpen(): Promise<ReadonlySet<string>> {
    const { rows } = await this.#ledger.alerts.list({ open: true, limit: ALERTS_READ });
    const left = new Set<string>();
    for (const { kind, subject } of rows) {
      if (kind !== 'evidence_missing') continue;
      const row = await this.#ledger.settlements.find(subject);
      if (row?.status !== 'held' || row.reason?.code !== 'evidence_missing') left.add(subject);
    }
    return left;
  }
}
