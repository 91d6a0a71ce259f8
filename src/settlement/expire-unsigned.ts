import { isDomainError, messageOf } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { verifySignature } from '../signing/ed25519.ts';
import type { Chain } from '../solana/chain.ts';
import { HISTORY_BOUNDS, type HistoryBounds } from '../solana/history/pages.ts';
import { attemptEvidence } from '../solana/proof/attempt-evidence.ts';
import { attemptOfRow } from '../solana/proof/examine.ts';
import { examineUnsigned, unsignedCache } from '../solana/proof/investigate-unsigned.ts';
import { confirmOneCluster } from './record-verdict.ts';

export interface UnsignedExpiryDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** Limits on the wallet history that one round reads. */
  readonly history?: HistoryBounds;
  /** Maximum number of attempts that one round examines. Default 200. */
  readonly maxRowsPerRound?: number;
}

/** A round begins no other proof after this time: each proof reads all blocks of a minute twice. */
const MAX_ROUND_MS = 30_000;
const DEFAULT_MAX_ROWS = 200;
const MAX_ALERTS_READ = 10_000;

/**
 * Examines attempts without a signature: the signer refused them or is too slow, or their durable nonce was used up.
 * No watcher follows them, so only a proof that they can no longer land frees their settlements. The alert
 * `evidence_missing` reports an attempt that cannot be examined.
 */
export function createUnsignedExpiry({
  ledger,
  chain,
  history = HISTORY_BOUNDS,
  maxRowsPerRound = DEFAULT_MAX_ROWS,
}: UnsignedExpiryDeps) {
  const cache = unsignedCache(history);
  const failures = new FailureAlerts(ledger);
  /** Number of attempts that this pass has examined without a proof. The next round skips them. */
  let skipCount = 0;

  async function expire(row: AttemptRow): Promise<boolean> {
    const found = await examineUnsigned(chain, row, cache, verifySignature);
    if (found?.verdict.kind !== 'dead') return false;
    await confirmOneCluster(ledger, chain.pool);
    const { settlementId, n, signature } = row;
    const proof = attemptEvidence(attemptOfRow(row, signature), found.evidence, found.times);
    await ledger.attempts.settle(settlementId, n, { state: 'dead', signature, proof });
    return true;
  }

  return {
    /**
     * Runs one round and returns the number of attempts proved dead. A round continues where the last one ended, and
     * after the last attempt starts again at the oldest. Attempts without a proof therefore never block younger ones.
     */
    async expireUnsigned(): Promise<number> {
      const end = performance.now() + MAX_ROUND_MS;
      const rows = await ledger.attempts.listUnsigned(maxRowsPerRound, skipCount);
      let [examinedCount, deadCount] = [0, 0];
      for (const row of rows) {
        if (performance.now() > end) break;
        examinedCount += 1;
        try {
          if (await expire(row)) deadCount += 1;
        } catch (error) {
          // The attempt was signed or settled meanwhile.
          if (isDomainError(error, 'IllegalTransition')) continue;
          await failures.raise(row, error);
        }
      }
      skipCount += examinedCount - deadCount;
      if (examinedCount === rows.length && rows.length < maxRowsPerRound) {
        skipCount = 0;
        await failures.endPass();
      }
      return deadCount;
    },
  };
}

/** Keeps an alert open for each attempt whose examination failed in the last full pass. */
class FailureAlerts {
  readonly #ledger: Pick<Ledger, 'alerts' | 'settlements'>;
  #failing = new Set<string>();

  constructor(ledger: Pick<Ledger, 'alerts' | 'settlements'>) {
    this.#ledger = ledger;
  }

  async raise({ settlementId: subject, n }: AttemptRow, error: unknown): Promise<void> {
    const message = `attempt ${n} without a signature cannot be examined: ${messageOf(error)}`;
    await this.#ledger.alerts.raise({ kind: 'evidence_missing', subject, message });
    this.#failing.add(subject);
  }

  /** Ends a full pass: closes the alerts about unsigned attempts that were not raised during the pass. */
  async endPass(): Promise<void> {
    for (const subject of await this.#alertedSettlements())
      if (!this.#failing.has(subject)) await this.#ledger.alerts.close('evidence_missing', subject);
    this.#failing = new Set();
  }

  /**
   * Settlements whose open alert is about an unsigned attempt. If the attempt is signed, its settlement is held
   * before the alert is raised.
   */
  async #alertedSettlements(): Promise<readonly string[]> {
    const { rows } = await this.#ledger.alerts.list({ open: true, limit: MAX_ALERTS_READ });
    const subjects: string[] = [];
    for (const { kind, subject } of rows) {
      if (kind !== 'evidence_missing') continue;
      const row = await this.#ledger.settlements.find(subject);
      if (row?.status !== 'held' || row.reason?.code !== 'evidence_missing') subjects.push(subject);
    }
    return subjects;
  }
}
