import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../domain/errors.ts';
import { HISTORY_OFF, isNodeTrouble, NodeFault, RpcError, retryAfterMs } from './errors.ts';
import {
  afterAnswer,
  afterFalseWord,
  afterFault,
  afterOvertaking,
  afterProbe,
  type Demotion,
  demotionOf,
  type Health,
  scoreOf,
  UNKNOWN_HEALTH,
} from './health.ts';
import {
  gapBetween,
  isGrownOver,
  type KnownLedger,
  type LedgerGap,
  type LedgerWindow,
} from './ledger-gap.ts';
import type { SolanaNode } from './node.ts';
import {
  type Clock,
  type NodeFacts,
  type Progress,
  probeFacts,
  probeGenesis,
  probeMethods,
  probeProgress,
} from './probe.ts';
import type { Membership, NodeReport } from './report.ts';

/** How long one that had a fault just now is waited for. */
const SUSPECT_MS = 2_000;

/** One configured node: what it said about itself, how well it serves, and whether it belongs to the pool. */
export class Member {
  readonly node: SolanaNode;
  readonly #now: Clock;
  #membership: Membership = 'silent';
  /** Why it has not joined. */
  #reason = 'not asked yet';
  #sameAs: string | null = null;
  #facts: NodeFacts | null = null;
  #progress: Progress | null = null;
  #window: LedgerWindow | null;
  #gap: LedgerGap | null;
  #health: Health = UNKNOWN_HEALTH;

  /** `known`: what the node showed of its ledger before. */
  constructor(node: SolanaNode, now: Clock, known: KnownLedger | null = null) {
    this.node = node;
    this.#now = now;
    this.#window = known;
    this.#gap = known?.gap ?? null;
  }

  get membership(): Membership {
    return this.#membership;
  }

  /** True where it has joined by another URL. */
  get isSame(): boolean {
    return this.#sameAs !== null;
  }

  get facts(): NodeFacts | null {
    return this.#facts;
  }

  get progress(): Progress | null {
    return this.#progress;
  }

  get score(): number {
    return this.#membership === 'joined' ? scoreOf(this.#health) : 0;
  }

  get demoted(): Demotion | null {
    if (this.#membership === 'joined') return demotionOf(this.#health, this.#now());
    return { cause: this.#membership, reason: this.#reason };
  }

  /** True where it may be asked: it serves, and does not want to be left alone. */
  get askable(): boolean {
    return this.#membership === 'joined' && this.demoted?.cause !== 'retry-after';
  }

  /** True where its answer is worth a wait: it serves, and had no fault just now. */
  get expected(): boolean {
    const cause = this.demoted?.cause;
    return cause === undefined || cause === 'lag' || cause === 'ahead';
  }

  /**
   * Ask, and let the answer count. Where it may not be asked, throws NodeFault at once; after two seconds where it had a fault just now:
   * what it answers later still counts for it, unless nobody waits for it any more.
   */
  async ask<T>(question: (node: SolanaNode) => Promise<T>): Promise<T> {
    const { demoted } = this;
    if (!this.askable && demoted !== null) {
      const reason = demoted.cause === 'retry-after' ? `is left alone: ${demoted.reason}` : demoted.reason;
      throw new NodeFault(this.node.name, reason);
    }
    const answer = this.#observed(() => question(this.node));
    return demoted?.cause === 'fault' ? this.#soon(answer) : answer;
  }

  /** Ask who it is. One that does not say keeps its place, or its silence. */
  async identify(): Promise<void> {
    const before = this.#facts?.version;
    try {
      this.#facts = await this.#observed(() => probeFacts(this.node));
    } catch (error) {
      if (this.#membership === 'silent') this.#reason = reasonOf(error);
      return;
    }
    // Only another version has other methods.
    if (this.#facts.version !== before) await probeMethods(this.node);
  }

  /** Ask how far it is. */
  async advance(): Promise<void> {
    try {
      this.#progress = await this.#observed(() => probeProgress(this.node, this.#now));
    } catch {
      this.#progress = null;
      return;
    }
    this.#health = afterProbe(this.#health, this.#progress.latencyMs);
    this.#watchLedger(this.#progress.finalized);
  }

  join(): void {
    this.#membership = 'joined';
  }

  /** True where it serves, and shows this cluster when it is asked now. One that shows another is refused. */
  async shows(cluster: string): Promise<boolean> {
    if (!this.askable) return false;
    const shown = await this.#observed(() => probeGenesis(this.node)).catch(() => null);
    if (shown !== null && shown !== cluster) this.refuseAs(shown, cluster);
    return shown === cluster;
  }

  /** For good: no later answer brings it back. */
  refuseAs(shown: string, cluster: string): void {
    this.#membership = 'refused';
    this.#reason = `belongs to cluster ${shown}, not ${cluster}: refused for good`;
  }

  /** For good: it must not be its own second witness. */
  refuseAsSame(name: string): void {
    this.#membership = 'refused';
    this.#sameAs = name;
    this.#reason = `is the same node as ${name}: both answer the identity ${this.#facts?.identity}; name another node`;
  }

  /** Let an answer count against it that other nodes have shown to be wrong. */
  blame(error: unknown): void {
    const fault = { reason: reasonOf(error), retryAfterMs: retryAfterMs(error) };
    this.#health = afterFault(this.#health, fault, this.#now());
  }

  /** Let it count against it that another one, asked later, has answered sooner. What it answers itself is no less believed. */
  overtaken(): void {
    this.#health = afterOvertaking(this.#health, this.#now());
  }

  /** Let it count against it that a quorum has denied what it showed. */
  contradicted(reason: string): void {
    this.#health = afterFalseWord(this.#health, reason, this.#now());
  }

  /** How many slots it is behind the others; negative: ahead of them. */
  compare(lagSlots: bigint): void {
    this.#health = { ...this.#health, lagSlots };
  }

  report(): NodeReport {
    return {
      node: this.node.name,
      membership: this.#membership,
      genesisHash: this.#facts?.genesisHash ?? null,
      sameAs: this.#sameAs,
      version: this.#facts?.version ?? null,
      firstAvailableBlock: this.#facts?.firstAvailableBlock ?? null,
      history: this.#facts?.history ?? 'unknown',
      ledgerGap: this.#gap,
      processedSlot: this.#progress?.processed ?? null,
      finalizedSlot: this.#progress?.finalized ?? null,
      lagSlots: this.#health.lagSlots,
      missingMethods: this.node.missingMethods,
      latencyMs: this.#health.latencyMs,
      errorRate: this.#health.errorRate,
      score: this.score,
      demoted: this.demoted,
      calls: this.node.callCount,
    };
  }

  #watchLedger(finalized: bigint): void {
    const first = this.#facts?.firstAvailableBlock;
    if (first === undefined || first === null) return;
    const window = { first, finalized };
    if (this.#window !== null) this.#gap = gapBetween(this.#window, window) ?? this.#gap;
    if (this.#gap !== null && isGrownOver(this.#gap, window)) this.#gap = null;
    this.#window = window;
  }

  async #soon<T>(answer: Promise<T>): Promise<T> {
    const early = new AbortController();
    const late = sleep(SUSPECT_MS, undefined, early).then(() => {
      throw new NodeFault(this.node.name, `has not answered in ${SUSPECT_MS} ms, after a fault`);
    });
    return Promise.race([answer, late]).finally(() => early.abort());
  }

  async #observed<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      this.#health = afterAnswer(this.#health);
      return answer;
    } catch (error) {
      if (isNodeTrouble(error)) this.blame(error);
      if (error instanceof RpcError && error.code === HISTORY_OFF && this.#facts !== null) {
        this.#facts = { ...this.#facts, history: 'off' };
      }
      throw error;
    }
  }
}

/** Why it failed, without the node's name: where it is shown, that stands beside it. */
function reasonOf(error: unknown): string {
  if (error instanceof NodeFault) return error.reason;
  return messageOf(error);
}
