import pLimit from 'p-limit';
import { ALL_SETTLEMENTS, type PauseScope } from '../domain/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RecordedSpend } from '../ledger/settlements/wallet-history.ts';
import { verifySignature } from '../signing/ed25519.ts';
import type { Chain } from '../solana/chain.ts';
import type { WalletSignature } from '../solana/history/pages.ts';
import { mayHavePaid, type Parties, partiesOf, payeesOf } from '../solana/history/wallet-history.ts';
import {
  checkFailures,
  type FailureCheck,
  MAX_CONCURRENT_ATTEMPTS,
  proveLanded,
} from '../solana/proof/confirm-outcome.ts';
import { confirmedBlock } from '../solana/proof/linked-blocks.ts';
import { nullIfNodesFail } from '../solana/rpc/errors.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import {
  deadAttemptLandedAlarm,
  maybePaidAlarm,
  unknownSpendAlarm,
  unprovedSpendAlarm,
} from './hot-wallet-alerts.ts';

export interface SpendJudgeDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /**
   * Maximum number of transactions that one check reads; default 5,000. Many dust transfers can delay payments, but
   * each check makes progress.
   */
  readonly maxReads?: number;
}

export interface JudgedHistory {
  /**
   * Signatures without proof: no node returned the signed bytes, or too few nodes confirm that an ended attempt, or
   * one with another stored signature, has landed.
   */
  readonly unprovenSignatures: ReadonlySet<string>;
  /** The oldest transaction that is left for the next check. */
  readonly next: WalletSignature | undefined;
}

interface ListedAttempt {
  readonly entry: WalletSignature;
  readonly recorded: RecordedSpend;
}

interface CheckedAttempt extends ListedAttempt {
  readonly check: FailureCheck;
}

const READ_CONCURRENCY = 16;
const DEFAULT_MAX_READS = 5_000;
/** Limit on cached signatures, each of which saves a query: transactions that are no spends, and proved failures. */
const MAX_CACHED_SIGNATURES = 500_000;

/**
 * Compares the signatures of our wallets with the stored attempts. A transaction is a spend if the wallet signed it,
 * successful or not, because only our own signer can have done so. A mismatch pauses the given scope.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export class SpendJudge {
  readonly #deps: SpendJudgeDeps;
  /** Keyed by wallet and signature: a transfer between two of our wallets is a spend of the sender only. */
  readonly #harmless = new Set<string>();
  readonly #provedFailed = new Set<string>();

  constructor(deps: SpendJudgeDeps) {
    this.#deps = deps;
  }

  /** True if the transaction was read, and the wallet did not sign it. */
  isHarmless(wallet: string, signature: string): boolean {
    return this.#harmless.has(`${wallet} ${signature}`);
  }

  forget(): void {
    this.#harmless.clear();
    this.#provedFailed.clear();
  }

  /** Judges the oldest transactions first, up to the limit of one check. */
  async judge(
    wallet: string,
    entries: readonly WalletSignature[],
    scope: PauseScope,
  ): Promise<JudgedHistory> {
    const { ledger, chain, maxReads = DEFAULT_MAX_READS } = this.#deps;
    const signatures = entries.map(({ signature }) => signature);
    const recorded = await ledger.walletHistory.attemptsBySignature(signatures);
    const alerted = await ledger.alerts.subjectsEverRaised('unknown_spend', signatures, scope);
    const known = entries.flatMap((entry) => {
      const spend = recorded.get(entry.signature);
      return spend === undefined ? [] : [{ entry, recorded: spend }];
    });
    const unprovenSignatures = new Set(await this.#judgeRecorded(known, scope));
    const unrecorded = entries.filter(({ signature }) => !recorded.has(signature) && !alerted.has(signature));
    const read = await pLimit(READ_CONCURRENCY).map(unrecorded.slice(0, maxReads), async (entry) => ({
      entry,
      parties: await partiesOf(chain.pool, entry.signature, verifySignature),
    }));
    for (const { entry, parties } of read)
      if (parties === null || !(await this.#judgeUnrecorded(wallet, entry, parties, scope)))
        unprovenSignatures.add(entry.signature);
    return { unprovenSignatures, next: unrecorded[maxReads] };
  }

  /**
   * Judges spends that the scan found, listed or not. An unproved spend is judged again until it is overdue. Then it
   * counts as an unknown spend, unless a quorum returns its block without it: the node of the scan invented it.
   */
  async judgeScanned(wallet: string, scope: PauseScope): Promise<void> {
    const { ledger, chain, maxReads = DEFAULT_MAX_READS } = this.#deps;
    const spends = await ledger.spends.unjudged(wallet, maxReads);
    if (spends.length === 0) return;
    const { unprovenSignatures } = await this.judge(wallet, spends, scope);
    const judged = spends.filter(
      ({ signature, isOverdue }) => isOverdue || !unprovenSignatures.has(signature),
    );
    for (const { signature, slot } of judged.filter((spend) => unprovenSignatures.has(spend.signature)))
      if (!(await isInvented(chain.pool, { signature, slot })))
        await ledger.pauses.pauseWithAlert(unprovedSpendAlarm(wallet, signature, slot), undefined, scope);
    await ledger.spends.markJudged(
      wallet,
      judged.map(({ signature }) => signature),
    );
  }

  /** Returns the signatures of ended attempts whose outcome the nodes do not prove. */
  async #judgeRecorded(found: readonly ListedAttempt[], scope: PauseScope): Promise<readonly string[]> {
    const endedUnpaid = found.filter(
      ({ entry, recorded: { state } }) =>
        (state === 'dead' || state === 'failed') && !this.#provedFailed.has(entry.signature),
    );
    const unprovenSignatures: string[] = [];
    // One after another, so that two attempts of one settlement raise one alert.
    for (const { entry, recorded, check } of await this.#checkOutcomes(endedUnpaid)) {
      if (typeof check === 'object' && check !== null && check.shownBy.length > 0)
        await this.#alertSecondPayment(recorded, entry.signature, check.shownBy, scope);
      if (check === 'failed') remember(this.#provedFailed, entry.signature);
      if (check === null) unprovenSignatures.push(entry.signature);
    }
    return unprovenSignatures;
  }

  async #checkOutcomes(endedUnpaid: readonly ListedAttempt[]): Promise<readonly CheckedAttempt[]> {
    const { chain } = this.#deps;
    const failed = endedUnpaid.filter(({ recorded }) => recorded.state === 'failed');
    const failures = failed.map(({ entry, recorded: { slot, error } }) => ({ ...entry, slot, error }));
    const checks = await checkFailures(chain, failures);
    const dead = endedUnpaid.filter(({ recorded }) => recorded.state === 'dead');
    const landed = await pLimit(MAX_CONCURRENT_ATTEMPTS).map(dead, async (one) => ({
      ...one,
      check: await proveLanded(chain.pool, one.entry.signature, one.entry.slot),
    }));
    return [...failed.map((one, index) => ({ ...one, check: checks[index] ?? null })), ...landed];
  }

  async #judgeUnrecorded(
    wallet: string,
    entry: WalletSignature,
    parties: Parties,
    scope: PauseScope,
  ): Promise<boolean> {
    const { ledger } = this.#deps;
    // A restored database may lack the signature but have the message.
    const recorded = await ledger.walletHistory.attemptOfMessage(parties.messageHash);
    if (recorded !== null) {
      if (!(await this.#storeFoundSignatures(recorded, entry, parties.signatures))) return false;
      return (await this.#judgeRecorded([{ entry, recorded }], scope)).length === 0;
    }
    if (!parties.signers.includes(wallet)) {
      remember(this.#harmless, `${wallet} ${entry.signature}`);
      return true;
    }
    const mayPayWithdrawals = scope === ALL_SETTLEMENTS;
    const alarm = unknownSpendAlarm(wallet, entry.signature, entry.slot, mayPayWithdrawals ? null : []);
    await ledger.pauses.pauseWithAlert(alarm, undefined, scope);
    // The pause comes before the search for withdrawals that the transaction may have paid, because the search can
    // fail. Each check repeats an unfinished search.
    if (mayPayWithdrawals)
      await ledger.alerts.noteMaybePaid(entry.signature, await this.#alertSuspects(entry.signature, parties));
    return true;
  }

  /** Raises an alert for each withdrawal that the transaction may have paid; returns their ids. */
  async #alertSuspects(signature: string, parties: Parties): Promise<readonly string[]> {
    const { ledger } = this.#deps;
    const payees = await payeesOf(this.#deps.chain.pool, signature, verifySignature);
    const addresses = [...parties.addresses, ...payees.addresses];
    const unpaid = await ledger.withdrawals.findUnpaid(addresses, payees.hidesOwners);
    const suspects = unpaid.filter((withdrawal) => mayHavePaid({ ...payees, addresses }, withdrawal));
    for (const suspect of suspects) await ledger.alerts.raise(maybePaidAlarm(suspect, signature));
    return suspects.map(({ id }) => id);
  }

  /**
   * Stores the signatures under which a live attempt has landed: a restore lost them, or the signer never returned
   * them. For an unsigned attempt, the listing of one node is enough. An attempt with a different signature may have
   * been sent, so the result is false until two nodes, or a block on which a quorum agrees, prove the new signatures.
   */
  async #storeFoundSignatures(
    { settlementId, n }: RecordedSpend,
    { signature, slot }: WalletSignature,
    signatures: readonly string[],
  ): Promise<boolean> {
    const { ledger, chain } = this.#deps;
    if (await ledger.attempts.storeFoundSignatures(settlementId, n, signatures, false)) return true;
    const proof = await proveLanded(chain.pool, signature, slot);
    return proof !== null && ledger.attempts.storeFoundSignatures(settlementId, n, signatures, true);
  }

  /**
   * Raises one alert for each proof. An alert that an operator closed is raised again if other nodes or another
   * signature prove the payment.
   */
  async #alertSecondPayment(
    { settlementId, n }: { readonly settlementId: string; readonly n: number },
    signature: string,
    shownBy: readonly string[],
    scope: PauseScope,
  ): Promise<void> {
    const { ledger } = this.#deps;
    if (await ledger.alerts.isLandingKnown(settlementId, { signature, shownBy }, scope)) return;
    const later = (await ledger.attempts.of(settlementId)).filter((attempt) => attempt.n > n);
    const others = later.flatMap((attempt) => (attempt.signature === null ? [] : [attempt.signature]));
    const alarm = deadAttemptLandedAlarm({ settlementId, n, signature, shownBy, others });
    await ledger.pauses.pauseWithAlert(alarm, settlementId, scope);
  }
}

/** True if a quorum returns the block of the slot without the transaction. */
export async function isInvented(pool: NodePool, { signature, slot }: WalletSignature): Promise<boolean> {
  const block = await confirmedBlock(pool, slot).catch(nullIfNodesFail);
  return block !== null && !block.signatures.has(signature);
}

function remember(signatures: Set<string>, signature: string): void {
  signatures.add(signature);
  const [oldest] = signatures;
  if (signatures.size > MAX_CACHED_SIGNATURES && oldest !== undefined) signatures.delete(oldest);
}
