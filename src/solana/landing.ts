import { setTimeout as sleep } from 'node:timers/promises';
import type { Evidence, NodeTestimony, Sighting, Verdict } from '../domain/attempt.ts';
import { deathHeight, judgeAttempt } from '../domain/judge.ts';
import { BlockCache } from './blocks.ts';
import type { Chain } from './chain.ts';
import {
  finalizedHeight,
  investigate,
  outcomeEvidence,
  type SignedAttempt,
  secondOutcome,
} from './investigation.ts';

/** A signed attempt to keep on its way: `raw` is the base64 wire transaction. */
export type WatchedAttempt = SignedAttempt & { readonly raw: string };

/** How an attempt ended, and what proves it. `feeLamports` is what the chain charged; null for a dead one. */
export interface LandingOutcome {
  readonly verdict: Extract<Verdict, { kind: 'landed' | 'failed' | 'dead' }>;
  readonly evidence: Evidence;
  readonly feeLamports: bigint | null;
}

/** What a caller hears while it waits. A hook that fails ends the wait with its error. */
export interface LandingHooks {
  onCommitment(seen: 'processed' | 'confirmed' | 'lost'): unknown;
  /** The attempt is past its last height and the evidence is not complete: nothing may be signed. */
  onUnknown?(why: string): unknown;
  readonly signal: AbortSignal;
}

/** Rhythms in milliseconds. They set the load on the nodes; no verdict depends on them. */
export interface LandingOptions {
  readonly pollMs?: number;
  readonly resendMs?: number;
  readonly heightMs?: number;
}

interface Watch {
  readonly attempt: WatchedAttempt;
  readonly hooks: LandingHooks;
  readonly finish: (outcome: LandingOutcome) => void;
  readonly fail: (error: unknown) => void;
  seen: 'processed' | 'confirmed' | 'finalized' | null;
  sentAt: number;
  concluding: boolean;
  why: string | null;
}

const STATUSES_PER_CALL = 256;

/**
 * Watches every attempt of this process in one loop: one status question for all, one rebroadcast of the same bytes
 * for those not yet confirmed, and past their last height the search for a proof of death. Only `judgeAttempt` ends a watch.
 */
export class LandingWatcher {
  readonly #chain: Chain;
  readonly #options: Required<LandingOptions>;
  readonly #watches = new Set<Watch>();
  readonly #blocks = new BlockCache();
  #running = false;
  #burying = false;
  #heightAt = 0;

  constructor(chain: Chain, options: LandingOptions = {}) {
    this.#chain = chain;
    this.#options = { pollMs: 400, resendMs: 2_000, heightMs: 4_000, ...options };
  }

  /** Sends the attempt and follows it to its end. Rejects with the signal's reason when aborted; the attempt stays as it is. */
  async watch(attempt: WatchedAttempt, hooks: LandingHooks): Promise<LandingOutcome> {
    hooks.signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#watches.delete(watch);
        hooks.signal.removeEventListener('abort', abort);
      };
      const fail = (error: unknown): void => {
        end();
        reject(error);
      };
      const abort = (): void => fail(hooks.signal.reason);
      const finish = (outcome: LandingOutcome): void => {
        end();
        resolve(outcome);
      };
      const watch: Watch = {
        attempt,
        hooks,
        finish,
        fail,
        seen: null,
        sentAt: 0,
        concluding: false,
        why: null,
      };
      hooks.signal.addEventListener('abort', abort, { once: true });
      this.#watches.add(watch);
      this.#send(watch);
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#watches.size > 0) {
      this.#resend();
      await sleep(this.#options.pollMs);
      const watches = [...this.#watches];
      for (let at = 0; at < watches.length; at += STATUSES_PER_CALL) {
        await this.#poll(watches.slice(at, at + STATUSES_PER_CALL));
      }
      void this.#bury();
    }
    this.#running = false;
  }

  #resend(): void {
    const due = performance.now() - this.#options.resendMs;
    for (const watch of this.#watches) {
      if (watch.seen !== 'confirmed' && watch.seen !== 'finalized' && watch.sentAt < due) this.#send(watch);
    }
  }

  // Not awaited: a node that does not answer must not hold up the others. Chain.send never throws.
  #send(watch: Watch): void {
    watch.sentAt = performance.now();
    void this.#chain.send(watch.attempt.raw);
  }

  async #poll(watches: readonly Watch[]): Promise<void> {
    const signatures = watches.map((watch) => watch.attempt.signature);
    const answer = await this.#chain.recentStatuses(signatures).catch(() => null);
    if (answer === null) return;
    watches.forEach((watch, index) => {
      const sighting = answer.sightings[index];
      if (sighting !== undefined && this.#watches.has(watch)) this.#take(watch, answer.node, sighting);
    });
  }

  #take(watch: Watch, node: string, sighting: Sighting): void {
    const now = sighting.kind === 'seen' ? sighting.commitment : null;
    if (now === 'finalized') {
      watch.seen = now;
      void this.#conclude(watch, { node, sequence: 1, answer: sighting });
      return;
    }
    if (now === watch.seen) return;
    // Only what was confirmed and is gone or lower again is worth a word; a node that lags says less, not otherwise.
    const lost =
      watch.seen !== null && (now === null || watch.seen === 'confirmed' || watch.seen === 'finalized');
    watch.seen = now;
    const word = lost ? 'lost' : now;
    if (word !== null) this.#tell(watch, () => watch.hooks.onCommitment(word));
  }

  /** One question at a time for each attempt; a fault of the second node is only a reason to ask again. */
  async #conclude(watch: Watch, witness: NodeTestimony<Sighting>): Promise<void> {
    if (watch.concluding) return;
    watch.concluding = true;
    const { signature } = watch.attempt;
    const outcome = await secondOutcome(this.#chain, witness.node, signature).catch(() => null);
    watch.concluding = false;
    const evidence = outcomeEvidence(this.#chain.pool.quorum, witness, outcome);
    this.#settle(watch, evidence, outcome?.feeLamports ?? null);
  }

  /** Past its last height and not known to be finalized: look for the proof. */
  async #bury(): Promise<void> {
    const now = performance.now();
    if (this.#burying || (this.#heightAt !== 0 && now - this.#heightAt < this.#options.heightMs)) return;
    const waiting = [...this.#watches].filter((watch) => watch.seen !== 'finalized');
    if (waiting.length === 0) return;
    this.#burying = true;
    this.#heightAt = now;
    const height = await finalizedHeight(this.#chain).catch(() => 0n);
    // One after the other, so that the blocks fetched for the first serve the rest.
    for (const watch of waiting.filter(({ attempt }) => height > deathHeight(attempt))) {
      if (this.#watches.has(watch)) await this.#investigate(watch);
    }
    this.#burying = false;
  }

  async #investigate(watch: Watch): Promise<void> {
    try {
      const { evidence, feeLamports } = await investigate(this.#chain, watch.attempt, this.#blocks);
      this.#settle(watch, evidence, feeLamports);
    } catch (error) {
      this.#doubt(watch, error instanceof Error ? error.message : String(error));
    }
  }

  #settle(watch: Watch, evidence: Evidence, feeLamports: bigint | null): void {
    if (!this.#watches.has(watch)) return;
    const verdict = judgeAttempt(watch.attempt, evidence);
    if (verdict.kind === 'landed' || verdict.kind === 'failed' || verdict.kind === 'dead') {
      watch.finish({ verdict, evidence, feeLamports });
    } else if (verdict.kind === 'unknown') {
      this.#doubt(watch, verdict.why);
    }
  }

  #doubt(watch: Watch, why: string): void {
    if (watch.why === why) return;
    watch.why = why;
    this.#tell(watch, () => watch.hooks.onUnknown?.(why));
  }

  #tell(watch: Watch, hook: () => unknown): void {
    void (async () => hook())().catch(watch.fail);
  }
}
