import pLimit from 'p-limit';
import { EVERYTHING, type PauseScope } from '../domain/settlement.ts';
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
import type { NodePool } from '../solana/rpc/pool.ts';
import {
  landedThoughDead,
  maybePaidAlarm,
  unknownSpendAlarm,
  unprovedSpendAlarm,
} from './hot-wallet-alerts.ts';

export interface SpendJudgeDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** Transactions read per check. Default 5,000. Dust delays payments, but each check makes progress. */
  readonly readAtMost?: number;
}

export interface Judged {
  /**
   * Signatures without proof: no node returned matching bytes, or too few show that an ended attempt, or one
   * stored with another signature, has landed.
   */
  readonly unproven: ReadonlySet<string>;
  /** The oldest transaction left for the next check. */
  readonly next: WalletSignature | undefined;
}

interface ListedAttempt {
  readonly entry: WalletSignature;
  readonly recorded: RecordedSpend;
}

interface CheckedAttempt extends ListedAttempt {
  readonly check: FailureCheck;
}

const READ_AT_ONCE = 16;
const READ_AT_MOST = 5_000;
/** Signatures kept so that nodes are asked once about each: transactions that are no spends, and proved failures. */
const SIGNATURES_KEPT = 500_000;

/**
 * Compares the signatures of our wallets with the stored attempts. A transaction is a spend if the wallet signed it, with
 * or without success: only our own signer can have made it. A mismatch pauses the given scope.
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

  /** True if the transaction was read and is no spend of this wallet. */
  isHarmless(wallet: string, signature: string): boolean {
    return this.#harmless.has(`${wallet} ${signature}`);
  }

  forget(): void {
    this.#harmless.clear();
    this.#provedFailed.clear();
  }

  /** Judges the oldest transactions first, up to the limit of one check. */
  async judge(wallet: string, entries: readonly WalletSignature[], scope: PauseScope): Promise<Judged> {
    const { ledger, chain, readAtMost = READ_AT_MOST } = this.#deps;
    const signatures = entries.map(({ signature }) => signature);
    const recorded = await ledger.walletHistory.recordOf(signatures);
    const alerted = await ledger.alerts.everRaised('unknown_spend', signatures, scope);
    const known = entries.flatMap((entry) => {
      const spend = recorded.get(entry.signature);
      return spend === undefined ? [] : [{ entry, recorded: spend }];
    });
    const unproven = new Set(await this.#judgeRecorded(known, scope));
    const strange = entries.filter(({ signature }) => !recorded.has(signature) && !alerted.has(signature));
    const read = await pLimit(READ_AT_ONCE).map(strange.slice(0, readAtMost), async (entry) => ({
      entry,
      parties: await partiesOf(chain.pool, entry.signature, verifySignature),
    }));
    for (const { entry, parties } of read)
      if (parties === null || !(await this.#judgeStrange(wallet, entry, parties, scope)))
        unproven.add(entry.signature);
    return { unproven, next: strange[readAtMost] };
  }

  /**
   * Judges spends found by the scan, listed or not. An unproved one is judged again until its wait ends. Then it counts
   * as an unknown spend, unless a quorum returns its block without it: the scanned node invented it.
   */
  async judgeScanned(wallet: string, scope: PauseScope): Promise<void> {
    const { ledger, chain, readAtMost = READ_AT_MOST } = this.#deps;
    const spends = await ledger.spends.unjudged(wallet, readAtMost);
    if (spends.length === 0) return;
    const { unproven } = await this.judge(wallet, spends, scope);
    const judged = spends.filter(({ signature, isOverdue }) => isOverdue || !unproven.has(signature));
    for (const { signature, slot } of judged.filter((one) => unproven.has(one.signature)))
      if (!(await isInvented(chain.pool, { signature, slot })))
        await ledger.pauses.pauseWithAlert(unprovedSpendAlarm(wallet, signature, slot), undefined, scope);
    await ledger.spends.markJudged(
      wallet,
      judged.map(({ signature }) => signature),
    );
  }

  /** Returns the signatures of ended attempts whose outcome the nodes do not prove. */
  async #judgeRecorded(found: readonly ListedAttempt[], scope: PauseScope): Promise<readonly string[]> {
    const givenUp = found.filter(
      ({ entry, recorded: { state } }) =>
        (state === 'dead' || state === 'failed') && !this.#provedFailed.has(entry.signature),
    );
    const unproven: string[] = [];
    // Sequential, so that two attempts of one settlement raise one alert.
    for (const { entry, recorded, check } of await this.#checked(givenUp)) {
      if (typeof check === 'object' && check !== null && check.shownBy.length > 0)
        await this.#secondPayment(recorded, entry.signature, check.shownBy, scope);
      if (check === 'failed') remember(this.#provedFailed, entry.signature);
      if (check === null) unproven.push(entry.signature);
    }
    return unproven;
  }

  async #checked(givenUp: readonly ListedAttempt[]): Promise<readonly CheckedAttempt[]> {
    const { chain } = this.#deps;
    const failed = givenUp.filter(({ recorded }) => recorded.state === 'failed');
    const failures = failed.map(({ entry, recorded: { slot, error } }) => ({ ...entry, slot, error }));
    const checks = await checkFailures(chain, failures);
    const dead = givenUp.filter(({ recorded }) => recorded.state === 'dead');
    const landed = await pLimit(MAX_CONCURRENT_ATTEMPTS).map(dead, async (one) => ({
      ...one,
      check: await proveLanded(chain.pool, one.entry.signature, one.entry.slot),
    }));
    return [...failed.map((one, index) => ({ ...one, check: checks[index] ?? null })), ...landed];
  }

  async #judgeStrange(
    wallet: string,
    entry: WalletSignature,
    parties: Parties,
    scope: PauseScope,
  ): Promise<boolean> {
    const { ledger } = this.#deps;
    // A restored database may lack the signature but know the message.
    const recorded = await ledger.walletHistory.recordOfMessage(parties.messageHash);
    if (recorded !== null) {
      if (!(await this.#takeFound(recorded, entry, parties.signatures))) return false;
      return (await this.#judgeRecorded([{ entry, recorded }], scope)).length === 0;
    }
    if (!parties.signers.includes(wallet)) {
      remember(this.#harmless, `${wallet} ${entry.signature}`);
      return true;
    }
    const searches = scope === EVERYTHING;
    const alarm = unknownSpendAlarm(wallet, entry.signature, entry.slot, searches ? null : []);
    await ledger.pauses.pauseWithAlert(alarm, undefined, scope);
    // Payments stop before the search for withdrawals that it may have paid. Each check repeats an unfinished
    // search.
    if (searches)
      await ledger.alerts.noteMaybePaid(entry.signature, await this.#suspected(entry.signature, parties));
    return true;
  }

  /** Raises an alert for each withdrawal that the transaction may have paid; returns their ids. */
  async #suspected(signature: string, parties: Parties): Promise<readonly string[]> {
    const { ledger } = this.#deps;
    const payees = await payeesOf(this.#deps.chain.pool, signature, verifySignature);
    const named = [...parties.addresses, ...payees.addresses];
    const unpaid = await ledger.withdrawals.unpaidBy(named, payees.hidesOwners);
    const suspects = unpaid.filter((one) => mayHavePaid({ ...payees, addresses: named }, one));
    for (const one of suspects) await ledger.alerts.raise(maybePaidAlarm(one, signature));
    return suspects.map(({ id }) => id);
  }

  /**
   * Stores the signature under which a live attempt has landed. The restore lost that signature, or the signer never
   * returned it. One node's listing is enough for an attempt without a signature. An attempt with another signature
   * may have been sent, so returns false until two nodes, or a quorum's block, prove the new one.
   */
  async #takeFound(
    { settlementId, n }: RecordedSpend,
    { signature, slot }: WalletSignature,
    signatures: readonly string[],
  ): Promise<boolean> {
    const { ledger, chain } = this.#deps;
    if (await ledger.attempts.takeFound(settlementId, n, signatures, false)) return true;
    const proof = await proveLanded(chain.pool, signature, slot);
    return proof !== null && ledger.attempts.takeFound(settlementId, n, signatures, true);
  }

  /** Raises one alert per proof: again after an operator has closed it, if other nodes or another signature appear. */
  async #secondPayment(
    { settlementId, n }: { readonly settlementId: string; readonly n: number },
    signature: string,
    shownBy: readonly string[],
    scope: PauseScope,
  ): Promise<void> {
    const { ledger } = this.#deps;
    if (await ledger.alerts.knowsLanding(settlementId, { signature, shownBy }, scope)) return;
    const later = (await ledger.attempts.of(settlementId)).filter((attempt) => attempt.n > n);
    const others = later.flatMap((attempt) => (attempt.signature === null ? [] : [attempt.signature]));
    const alarm = landedThoughDead(settlementId, n, signature, shownBy, others);
    await ledger.pauses.pauseWithAlert(alarm, settlementId, scope);
  }
}

/** True if a quorum returns the block of the slot without the transaction. */
export async function isInvented(pool: NodePool, { signature, slot }: WalletSignature): Promise<boolean> {
  const block = await confirmedBlock(pool, slot).catch(() => null);
  return block !== null && !block.signatures.has(signature);
}

function remember(signatures: Set<string>, signature: string): void {
  signatures.add(signature);
  const [oldest] = signatures;
  if (signatures.size > SIGNATURES_KEPT && oldest !== undefined) signatures.delete(oldest);
}
