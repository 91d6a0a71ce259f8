import pLimit from 'p-limit';
import { EVERYTHING, type PauseScope } from '../domain/pause-scope.ts';
import { isGivenUp, judgeSpend, type RecordedSpend } from '../domain/spends.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import type { WalletSignature } from '../solana/history/pages.ts';
import { mayHavePaid, type Parties, partiesOf, payeesOf } from '../solana/history/wallet-history.ts';
import {
  ATTEMPTS_AT_ONCE,
  checkFailures,
  type FailureCheck,
  proveLanded,
} from '../solana/proof/confirm-outcome.ts';
import { landedThoughDead, maybePaidAlarm, unknownSpendAlarm } from './hot-wallet-alerts.ts';

export interface SpendJudgeDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** Transactions that one look reads: dust sent to the wallet delays payments, but every look gets ahead of it. Default 5,000. */
  readonly readAtMost?: number;
}

/** What became of one list of transactions. */
export interface Judged {
  /** Listed, but no node shows bytes that prove it, or too few nodes show that an attempt which was given up, or has another signature, has landed. */
  readonly unproven: ReadonlySet<string>;
  /** The oldest that is left for the next look. */
  readonly next: WalletSignature | undefined;
}

/** A listed transaction, and the attempt that the database has for it. */
interface Found {
  readonly entry: WalletSignature;
  readonly recorded: RecordedSpend;
}

interface Checked extends Found {
  readonly check: FailureCheck;
}

const READ_AT_ONCE = 16;
export const READ_AT_MOST = 5_000;
/** Signatures, in the slots that are listed again, of no spends and of attempts that nodes proved failed: nodes are asked once about each. */
const SIGNATURES_KEPT = 500_000;

/** Holds what wallets of ours signed against the attempts on record. What it finds wrong pauses the scope that it is given. */
export class SpendJudge {
  readonly #deps: SpendJudgeDeps;
  /** A wallet and a signature: a transfer by one wallet of ours to another one is a spend of the first alone. */
  readonly #harmless = new Set<string>();
  readonly #provedFailed = new Set<string>();

  constructor(deps: SpendJudgeDeps) {
    this.#deps = deps;
  }

  /** True for a transaction that was read, and is no spend of this wallet. */
  isHarmless(wallet: string, signature: string): boolean {
    return this.#harmless.has(`${wallet} ${signature}`);
  }

  /** Everything is read again. */
  forget(): void {
    this.#harmless.clear();
    this.#provedFailed.clear();
  }

  /** Judges the oldest first, and only so many as one look may read. */
  async judge(wallet: string, entries: readonly WalletSignature[], scope: PauseScope): Promise<Judged> {
    const { ledger, chain, readAtMost = READ_AT_MOST } = this.#deps;
    const signatures = entries.map(({ signature }) => signature);
    const recorded = await ledger.walletHistory.recordOf(signatures);
    const told = await ledger.alerts.everRaised('unknown_spend', signatures, scope);
    const known = entries.flatMap((entry) => {
      const spend = recorded.get(entry.signature);
      return spend === undefined ? [] : [{ entry, recorded: spend }];
    });
    const unproven = new Set(await this.#judgeRecorded(wallet, known, scope));
    const strange = entries.filter(({ signature }) => !recorded.has(signature) && !told.has(signature));
    const read = await pLimit(READ_AT_ONCE).map(strange.slice(0, readAtMost), async (entry) => ({
      entry,
      parties: await partiesOf(chain.pool, entry.signature, verifySignature),
    }));
    for (const { entry, parties } of read)
      if (parties === null || !(await this.#judgeStrange(wallet, entry, parties, scope)))
        unproven.add(entry.signature);
    return { unproven, next: strange[readAtMost] };
  }

  /** The signatures of attempts that were given up, while nodes do not prove what became of them. */
  async #judgeRecorded(
    wallet: string,
    found: readonly Found[],
    scope: PauseScope,
  ): Promise<readonly string[]> {
    const givenUp = found.filter(
      ({ entry, recorded }) => isGivenUp(recorded) && !this.#provedFailed.has(entry.signature),
    );
    const unproven: string[] = [];
    // One after the other: two attempts of one settlement raise one alert.
    for (const { entry, recorded, check } of await this.#checked(givenUp)) {
      const shownBy = typeof check === 'object' && check !== null ? check.shownBy : [];
      const verdict = judgeSpend(wallet, [], recorded, shownBy.length > 0);
      if (verdict.kind === 'dead_attempt_landed')
        await this.#secondPayment(verdict, entry.signature, shownBy, scope);
      if (check === 'failed') remember(this.#provedFailed, entry.signature);
      if (check === null) unproven.push(entry.signature);
    }
    return unproven;
  }

  /** What nodes show of attempts that were given up. */
  async #checked(givenUp: readonly Found[]): Promise<readonly Checked[]> {
    const { chain } = this.#deps;
    const failed = givenUp.filter(({ recorded }) => recorded.state === 'failed');
    const failures = failed.map(({ entry, recorded: { slot, error } }) => ({ ...entry, slot, error }));
    const checks = await checkFailures(chain, failures);
    const dead = givenUp.filter(({ recorded }) => recorded.state === 'dead');
    const landed = await pLimit(ATTEMPTS_AT_ONCE).map(dead, async (one) => ({
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
    // The record may be older than the signature, and know the message all the same.
    const recorded = await ledger.walletHistory.recordOfMessage(parties.messageHash);
    if (recorded !== null) {
      if (!(await this.#takeFound(recorded, entry, parties.signatures))) return false;
      return (await this.#judgeRecorded(wallet, [{ entry, recorded }], scope)).length === 0;
    }
    if (judgeSpend(wallet, parties.signers, null, false).kind === 'not_a_spend') {
      remember(this.#harmless, `${wallet} ${entry.signature}`);
      return true;
    }
    const searches = scope === EVERYTHING;
    const alarm = unknownSpendAlarm(wallet, entry.signature, entry.slot, searches ? null : []);
    await ledger.pauses.sound(alarm, undefined, scope);
    // Payments stop before the search for what it may have paid. Each look repeats that search until it has ended.
    if (searches)
      await ledger.alerts.noteMaybePaid(entry.signature, await this.#suspected(entry.signature, parties));
    return true;
  }

  /** Raises the alert about each withdrawal that the transaction may have paid; their ids. */
  async #suspected(signature: string, parties: Parties): Promise<readonly string[]> {
    const { ledger } = this.#deps;
    const payees = await payeesOf(this.#deps.chain.pool, signature, verifySignature);
    const named = [...parties.all, ...payees.all];
    const unpaid = await ledger.walletHistory.unpaidBy(named, payees.hidesOwners);
    const suspects = unpaid.filter((one) => mayHavePaid({ ...payees, all: named }, one));
    for (const one of suspects) await ledger.alerts.raise(maybePaidAlarm(one, signature));
    return suspects.map(({ id }) => id);
  }

  /**
   * A living attempt that has landed under a signature that was lost with the record, or that its signer never handed out, goes on under
   * that one. An attempt without a signature takes it from one node's listing. One with a signature may have been sent under that: false
   * until two nodes, or a quorum's block, show the other one.
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

  /** Once for each proof: also after people have closed the alert as false, where other nodes show it now, or another signature. */
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
    const alarm = landedThoughDead(settlementId, { n, signature, shownBy, others });
    await ledger.pauses.sound(alarm, settlementId, scope);
  }
}

function remember(signatures: Set<string>, signature: string): void {
  signatures.add(signature);
  const [oldest] = signatures;
  if (signatures.size > SIGNATURES_KEPT && oldest !== undefined) signatures.delete(oldest);
}
