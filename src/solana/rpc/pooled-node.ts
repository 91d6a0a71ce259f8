import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../domain/errors.ts';
import { HISTORY_OFF, isNodeAtFault, NodeFault, RpcError } from './errors.ts';
import { type Demotion, NodeHealth } from './health.ts';
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

/** A configured node with its identity, its health, and its membership in the pool. */
export class PooledNode {
  readonly node: SolanaNode;
  readonly health: NodeHealth;
  /** The finalized slot at the newest probe; null if that probe failed. */
  finalizedSlot: bigint | null = null;
  readonly #now: Clock;
  #membership: Membership = 'silent';
  #membershipReason = 'not asked yet';
  #sameAs: string | null = null;
  #facts: NodeFacts | null = null;

  constructor(node: SolanaNode, now: Clock) {
    this.node = node;
    this.#now = now;
    this.health = new NodeHealth(now);
  }

  get membership(): Membership {
    return this.#membership;
  }

  /** True if the node is refused because another configured URL leads to it, too. */
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
    return { cause: this.#membership, reason: this.#membershipReason };
  }

  /** True if the node has joined and is not in a Retry-After pause. */
  get isAskable(): boolean {
    return this.#membership === 'joined' && this.demotion?.cause !== 'retry-after';
  }

  /** True if callers should wait for the node's answer: it has joined and is not avoided, except for its lag. */
  get isExpected(): boolean {
    const cause = this.demotion?.cause;
    return cause === undefined || cause === 'lag';
  }

  /**
   * Sends a request and counts its result in the node's health. Throws NodeFault at once if the node cannot be asked.
   * After a recent fault the node has two seconds to answer; a later answer still counts in its health.
   */
  async ask<T>(request: (node: SolanaNode) => Promise<T>): Promise<T> {
    const { demotion } = this;
    if (!this.isAskable && demotion !== null) {
      const reason = demotion.cause === 'retry-after' ? `is paused: ${demotion.reason}` : demotion.reason;
      throw new NodeFault(this.node.name, reason);
    }
    const answer = this.#withHealth(() => request(this.node));
    return demotion?.cause === 'fault' ? this.#withSuspectTimeout(answer) : answer;
  }

  /** Probes the node's identity. If the node does not answer, its membership does not change. */
  async identify(): Promise<void> {
    const previousVersion = this.#facts?.version;
    try {
      this.#facts = await this.#withHealth(() => probeFacts(this.node));
    } catch (error) {
      if (this.#membership === 'silent') this.#membershipReason = reasonOf(error);
      return;
    }
    // The methods of a node change only with its version.
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

  /** Refuses the node permanently: a later answer does not change that. */
  refuseOtherCluster(genesisHash: string, cluster: string): void {
    this.#membership = 'refused';
    this.#membershipReason = `belongs to the cluster with genesis hash ${genesisHash}, not ${cluster}: it is refused until the process restarts`;
  }

  /** Refuses the node permanently, because a node must not confirm its own answers. */
  refuseDuplicate(name: string): void {
    this.#membership = 'refused';
    this.#sameAs = name;
    this.#membershipReason = `is the same node as ${name}: both return the identity ${this.#facts?.identity}. Configure another node`;
  }

  /** Counts an error as a fault of the node. */
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
      demotion: this.demotion,
      calls: this.node.callCount,
    };
  }

  async #withSuspectTimeout<T>(answer: Promise<T>): Promise<T> {
    const timer = new AbortController();
    const timeout = sleep(SUSPECT_TIMEOUT_MS, undefined, timer).then(() => {
      throw new NodeFault(
        this.node.name,
        `did not answer within ${SUSPECT_TIMEOUT_MS} ms after an earlier fault`,
      );
    });
    return Promise.race([answer, timeout]).finally(() => timer.abort());
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

/** The error's message without the node's name, which reports have in another field. */
function reasonOf(error: unknown): string {
  if (error instanceof NodeFault) return error.reason;
  return messageOf(error);
}
