import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../domain/errors.ts';
import { HISTORY_OFF, isNodeAtFault, NodeFault, RpcError } from './errors.ts';
import { type Demotion, Health } from './health.ts';
import type { SolanaNode } from './node.ts';
import {
  type Clock,
  type NodeFacts,
  probeFacts,
  probeFinalized,
  probeMethods,
  UNKNOWN_FACTS,
} from './probe.ts';
import type { Membership, NodeReport } from './report.ts';

const SUSPECT_TIMEOUT_MS = 2_000;

/** One configured node: its facts, its health, and its membership in the pool. */
export class PooledNode {
  readonly node: SolanaNode;
  readonly health: Health;
  /** From the newest probe; null if it failed. */
  finalizedSlot: bigint | null = null;
  readonly #now: Clock;
  #membership: Membership = 'silent';
  #reason = 'not asked yet';
  #sameAs: string | null = null;
  #facts: NodeFacts | null = null;

  constructor(node: SolanaNode, now: Clock) {
    this.node = node;
    this.#now = now;
    this.health = new Health(now);
  }

  get membership(): Membership {
    return this.#membership;
  }

  /** True if the node has joined under another URL. */
  get isDuplicate(): boolean {
    return this.#sameAs !== null;
  }

  get facts(): NodeFacts | null {
    return this.#facts;
  }

  get score(): number {
    return this.#membership === 'joined' ? this.health.score : 0;
  }

  get demotion(): Demotion | null {
    if (this.#membership === 'joined') return this.health.demotion;
    return { cause: this.#membership, reason: this.#reason };
  }

  /** True if requests may be sent: the node has joined, and did not ask for a pause. */
  get isAskable(): boolean {
    return this.#membership === 'joined' && this.demotion?.cause !== 'retry-after';
  }

  /** True if its answer is worth waiting for: the node has joined, and had no fault just now. */
  get isExpected(): boolean {
    const cause = this.demotion?.cause;
    return cause === undefined || cause === 'lag';
  }

  /**
   * Sends a request and counts its result in the node's health. Throws NodeFault at once if the node may not be
   * asked, and after two seconds if it had a fault just now. A later answer still counts, unless the request was
   * given up.
   */
  async ask<T>(question: (node: SolanaNode) => Promise<T>): Promise<T> {
    const { demotion } = this;
    if (!this.isAskable && demotion !== null) {
      const reason = demotion.cause === 'retry-after' ? `is paused: ${demotion.reason}` : demotion.reason;
      throw new NodeFault(this.node.name, reason);
    }
    const answer = this.#withHealth(() => question(this.node));
    return demotion?.cause === 'fault' ? this.#withSuspectTimeout(answer) : answer;
  }

  /** Probes the identity. A node that does not answer keeps its membership. */
  async identify(): Promise<void> {
    const previousVersion = this.#facts?.version;
    try {
      this.#facts = await this.#withHealth(() => probeFacts(this.node));
    } catch (error) {
      if (this.#membership === 'silent') this.#reason = reasonOf(error);
      return;
    }
    // Only another version can have other methods.
    if (this.#facts.version !== previousVersion) await probeMethods(this.node);
  }

  async probeProgress(): Promise<void> {
    const startedAt = this.#now();
    try {
      this.finalizedSlot = await this.#withHealth(() => probeFinalized(this.node));
      this.health.recordLatency(this.#now() - startedAt);
    } catch {
      this.finalizedSlot = null;
    }
  }

  join(): void {
    this.#membership = 'joined';
  }

  /** Refuses the node for good: no later answer undoes it. */
  refuseOtherCluster(genesisHash: string, cluster: string): void {
    this.#membership = 'refused';
    this.#reason = `belongs to cluster ${genesisHash}, not ${cluster}: refused for good`;
  }

  /** Refuses the node for good: it must not confirm its own answers. */
  refuseDuplicate(name: string): void {
    this.#membership = 'refused';
    this.#sameAs = name;
    this.#reason = `is the same node as ${name}: both return the identity ${this.#facts?.identity}; configure another node`;
  }

  /** Counts an answer as a fault. */
  blame(error: unknown): void {
    this.health.recordFault(reasonOf(error), error instanceof NodeFault ? error.retryAfterMs : null);
  }

  report(): NodeReport {
    return {
      node: this.node.name,
      membership: this.#membership,
      ...(this.#facts ?? UNKNOWN_FACTS),
      sameAs: this.#sameAs,
      finalizedSlot: this.finalizedSlot,
      lagSlots: this.health.lagSlots,
      missingMethods: this.node.missingMethods,
      latencyMs: this.health.latencyMs,
      errorRate: this.health.errorRate,
      score: this.score,
      demoted: this.demotion,
      calls: this.node.callCount,
    };
  }

  async #withSuspectTimeout<T>(answer: Promise<T>): Promise<T> {
    const early = new AbortController();
    const late = sleep(SUSPECT_TIMEOUT_MS, undefined, early).then(() => {
      throw new NodeFault(this.node.name, `has not answered in ${SUSPECT_TIMEOUT_MS} ms, after a fault`);
    });
    return Promise.race([answer, late]).finally(() => early.abort());
  }

  async #withHealth<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      this.health.recordAnswer();
      return answer;
    } catch (error) {
      if (isNodeAtFault(error)) this.blame(error);
      if (error instanceof RpcError && error.code === HISTORY_OFF && this.#facts !== null) {
        this.#facts = { ...this.#facts, history: 'off' };
      }
      throw error;
    }
  }
}

/** The reason without the node's name, which reports show beside it. */
function reasonOf(error: unknown): string {
  if (error instanceof NodeFault) return error.reason;
  return messageOf(error);
}
