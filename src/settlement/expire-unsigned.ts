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
  /** Limits on the wallet history read per round. */
  readonly history?: HistoryBounds;
  /** Attempts examined per round. Default 200. */
  readonly rowsARound?: number;
}

/** Milliseconds after which a round begins no other proof: each proof reads every block of a minute twice. */
const ROUND_MS = 30_000;
const ROWS_A_ROUND = 200;
const ALERTS_READ = 10_000;

/**
 * Examines attempts without a signature. No watcher follows them, and only a proof of death frees their
 * settlements. The signer refused them or is too slow, or their durable nonce was used up. The alert
 * `evidence_missing` reports an attempt that cannot be examined.
 */
export function createUnsignedExpiry({
  ledger,
  chain,
  history = HISTORY_BOUNDS,
  rowsARound = ROWS_A_ROUND,
}: UnsignedExpiryDeps) {
  const cache = unsignedCache(history);
  const failures = new FailureAlerts(ledger);
  /** Attempts already examined in this pass that still have no proof. The next round skips them. */
  let left = 0;

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
     * Runs one round and returns the number of attempts proved dead. Each round continues where the last one ended,
     * and starts again at the oldest after the last attempt. So attempts without a proof never block younger ones.
     */
    async expireUnsigned(): Promise<number> {
      const end = performance.now() + ROUND_MS;
      const rows = await ledger.attempts.unsigned(rowsARound, left);
      let [examined, ended] = [0, 0];
      for (const row of rows) {
        if (performance.now() > end) break;
        examined += 1;
        try {
          if (await expire(row)) ended += 1;
        } catch (error) {
          // The attempt was signed or settled meanwhile.
          if (isDomainError(error, 'IllegalTransition')) continue;
          await failures.raise(row, error);
        }
      }
      left += examined - ended;
      if (examined === rows.length && rows.length < rowsARound) {
        left = 0;
        await failures.endRounds();
      }
      return ended;
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

  /** Ends a full pass: closes the alerts about unsigned attempts that it did not raise. */
  async endRounds(): Promise<void> {
    for (const subject of await this.#alerted())
      if (!this.#failing.has(subject)) await this.#ledger.alerts.close('evidence_missing', subject);
    this.#failing = new Set();
  }

  /** Settlements whose open alert is about an unsigned attempt: a signed one is held before its alert. */
  async #alerted(): Promise<readonly string[]> {
    const { rows } = await this.#ledger.alerts.list({ open: true, limit: ALERTS_READ });
    const subjects: string[] = [];
    for (const { kind, subject } of rows) {
      if (kind !== 'evidence_missing') continue;
      const row = await this.#ledger.settlements.find(subject);
      if (row?.status !== 'held' || row.reason?.code !== 'evidence_missing') subjects.push(subject);
    }
    return subjects;
  }
}
