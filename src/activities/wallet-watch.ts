import { type Alarm, WHOLE } from '../domain/alerts.ts';
import { BLOCKHASH_LIFE } from '../domain/judge.ts';
import { judgeSpend, type RecordedSpend } from '../domain/spends.ts';
import type { Gap } from '../ledger/continuity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';
import { askHeights } from '../solana/heights.ts';
import { TtlCache } from '../solana/ttl-cache.ts';
import {
  newestOf,
  type Parties,
  partiesOf,
  signaturesAbove,
  type WalletSignature,
} from '../solana/wallet-history.ts';

export interface WalletWatchDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  readonly hotWallet: string;
}

/** One look serves every preparation that begins within so long. */
const SHARED_MS = 3_000;
/** Nodes list a transaction a little after it is final: so many newest slots are read again, and so many blocks are waited. */
const LISTED_LATE = 150n;
/** Transactions that are no attempts, in the slots that are read again: each is asked for once. */
const PARTIES_KEPT = 5_000;

/**
 * Holds the record against what the hot wallet really signed, and against its own past. What it finds wrong stops all preparations
 * in Postgres, for every worker; it repairs nothing.
 * Source: DESIGN "When an attempt is dead", last paragraph; docs/decisions/0010-wallet-history.md.
 */
export class WalletWatch {
  readonly #deps: WalletWatchDeps;
  readonly #looks = new TtlCache<void>(SHARED_MS, 1);
  readonly #parties = new TtlCache<Parties>(Number.POSITIVE_INFINITY, PARTIES_KEPT);

  constructor(deps: WalletWatchDeps) {
    this.#deps = deps;
  }

  /** Resolves when the wallet's history was judged at a moment at most three seconds ago. Throws where no node tells. */
  look(): Promise<void> {
    return this.#looks.get('', () => this.#look());
  }

  async #look(): Promise<void> {
    const { ledger } = this.#deps;
    const gap = await ledger.continuity.pulse();
    if (gap === null) await this.#judgeHistory();
    else if (!(await this.#bridges(gap))) return;
    await ledger.alerts.close('record_restored', WHOLE);
  }

  /**
   * Ends a gap in the record as an attempt is proved dead: first a quorum has finalized what every attempt of before can live to,
   * then the nodes are asked what the wallet signed. Whatever a lost row paid is known from then on. True where it has ended.
   */
  async #bridges(gap: Gap): Promise<boolean> {
    const { ledger, chain } = this.#deps;
    await ledger.alerts.raise(restoredAlarm(gap));
    const end = gap.quarantineHeight;
    if (end === null) {
      const confirmed = await askHeights(chain.pool, 'confirmed');
      const highest = confirmed.reduce((high, { answer }) => (answer > high ? answer : high), 0n);
      if (highest > 0n) await ledger.continuity.quarantine(highest + BLOCKHASH_LIFE + LISTED_LATE);
    }
    const finalized = await askHeights(chain.pool, 'finalized');
    const quorate = await this.#judgeHistory();
    const past = end !== null && finalized.filter(({ answer }) => answer > end).length >= chain.pool.quorum;
    if (past && quorate) await ledger.continuity.heal(end);
    return past && quorate;
  }

  /** True where a quorum of nodes listed the wallet's transactions, so that none can be missing. */
  async #judgeHistory(): Promise<boolean> {
    const { ledger, chain, hotWallet } = this.#deps;
    const from = await ledger.walletHistory.judgedTo(hotWallet);
    if (from === null) return this.#begin();
    const { entries, newestSlot, quorate } = await signaturesAbove(chain.pool, hotWallet, from);
    const signatures = entries.map(({ signature }) => signature);
    const recorded = await ledger.walletHistory.recordOf(signatures);
    const known = await ledger.alerts.everRaised('unknown_spend', signatures);
    for (const entry of entries) {
      if (!known.has(entry.signature)) await this.#judge(entry, recorded.get(entry.signature) ?? null);
    }
    const judged = newestSlot - LISTED_LATE;
    if (quorate && judged > from) await ledger.walletHistory.advance(hotWallet, judged);
    return quorate;
  }

  /** A wallet that this record has never paid from: what it did before is not ours to judge. */
  async #begin(): Promise<boolean> {
    const { ledger, chain, hotWallet } = this.#deps;
    const { newestSlot, quorate } = await newestOf(chain.pool, hotWallet);
    if (quorate) await ledger.walletHistory.advance(hotWallet, newestSlot);
    return quorate;
  }

  async #judge({ signature, slot }: WalletSignature, recorded: RecordedSpend | null): Promise<void> {
    const { ledger, chain, hotWallet } = this.#deps;
    const parties =
      recorded === null
        ? await this.#parties.get(signature, () => partiesOf(chain.pool, signature))
        : { signers: [], all: [] };
    const verdict = judgeSpend(hotWallet, parties.signers, recorded);
    if (verdict.kind === 'dead_attempt_landed') await this.#secondPayment(verdict, signature);
    if (verdict.kind !== 'unknown_spend') return;
    // First those that it may have paid: the alarm of the spend is what says that it was seen.
    const suspects = await ledger.walletHistory.unpaidTo(parties.all);
    for (const id of suspects) await ledger.alerts.raise(maybePaidAlarm(id, signature));
    await ledger.pauses.sound(unknownSpendAlarm(signature, slot, suspects));
  }

  async #secondPayment(
    { withdrawalId, n }: { readonly withdrawalId: string; readonly n: number },
    signature: string,
  ): Promise<void> {
    const { ledger } = this.#deps;
    const told = await ledger.alerts.everRaised('dead_attempt_landed', [withdrawalId]);
    if (told.has(withdrawalId)) return;
    const later = (await ledger.attempts.of(withdrawalId)).filter((attempt) => attempt.n > n);
    const others = later.flatMap((attempt) => (attempt.signature === null ? [] : [attempt.signature]));
    const alarm = landedThoughDead(withdrawalId, n, signature, others);
    await ledger.pauses.sound(alarm, withdrawalId);
  }
}

function restoredAlarm({ why, quarantineHeight }: Gap): Alarm {
  const until =
    quarantineHeight === null ? '' : `; nothing is prepared before block height ${quarantineHeight} is final`;
  return { kind: 'record_restored', subject: WHOLE, message: `${why}${until}` };
}

function unknownSpendAlarm(signature: string, slot: bigint, suspects: readonly string[]): Alarm {
  return {
    kind: 'unknown_spend',
    subject: signature,
    message: `the hot wallet signed ${signature}, and no attempt on record is that: a restored record or a leaked key`,
    details: { signature, slot: slot.toString(), maybePaid: suspects },
  };
}

function maybePaidAlarm(id: string, signature: string): Alarm {
  const message = `${signature} may have paid it already: cancel it, or close this alert to have it paid`;
  return { kind: 'maybe_paid', subject: id, message, details: { signature } };
}

function landedThoughDead(id: string, n: number, signature: string, others: readonly string[]): Alarm {
  const beside = others.length === 0 ? 'no later attempt is signed' : `later: ${others.join(', ')}`;
  return {
    kind: 'dead_attempt_landed',
    subject: id,
    message: `attempt ${n} was proved dead, but the chain shows ${signature}; ${beside}`,
    details: { signature, n, others },
  };
}
