import { createHash } from 'node:crypto';
import { signingRefused } from './checks.ts';

export interface FeeSpendOptions {
  /** Maximum fees in lamports that each key signs within one hour. */
  readonly lamportsPerHour: bigint;
  /** Called with a sentence when a key reaches the limit. */
  readonly onLimit: (message: string) => void;
  readonly now?: () => number;
}

interface SignedFee {
  readonly feeLamports: bigint;
  readonly at: number;
  /** Signatures of the message that were not discarded. */
  signatures: number;
}

const HOUR_MS = 3_600_000;

/**
 * Counts the fees that the keys of this process sign within one hour, whatever the task and the database say. A message
 * that is signed again counts once. The counts are in memory: a new process begins at zero.
 */
export class FeeSpend {
  readonly #options: FeeSpendOptions;
  readonly #now: () => number;
  /** Signed messages of each key by their hash, oldest first. */
  readonly #signed = new Map<string, Map<string, SignedFee>>();
  readonly #spent = new Map<string, bigint>();
  readonly #limitedKeys = new Set<string>();

  constructor(options: FeeSpendOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Counts a message that the key is about to sign. @throws SigningRefused if the key has reached its limit. */
  add(key: string, message: Uint8Array, feeLamports: bigint): void {
    const { lamportsPerHour, onLimit } = this.#options;
    const signed = this.#lastHour(key);
    const hash = hashOf(message);
    const known = signed.get(hash);
    if (known !== undefined) {
      known.signatures += 1;
      return;
    }
    const spent = (this.#spent.get(key) ?? 0n) + feeLamports;
    if (spent > lamportsPerHour) {
      const reason = `key ${key} would sign ${spent} lamports of fees within one hour; at most ${lamportsPerHour} are allowed`;
      if (!this.#limitedKeys.has(key)) onLimit(reason);
      this.#limitedKeys.add(key);
      throw signingRefused(reason);
    }
    this.#limitedKeys.delete(key);
    signed.set(hash, { feeLamports, at: this.#now(), signatures: 1 });
    this.#spent.set(key, spent);
  }

  /**
   * Ends the count of one signature, which is not stored and has not left this process. The message counts until all its
   * signatures are discarded.
   */
  discard(key: string, message: Uint8Array): void {
    const signed = this.#lastHour(key);
    const hash = hashOf(message);
    const known = signed.get(hash);
    if (known === undefined) return;
    known.signatures -= 1;
    if (known.signatures > 0) return;
    signed.delete(hash);
    this.#spent.set(key, (this.#spent.get(key) ?? 0n) - known.feeLamports);
  }

  #lastHour(key: string): Map<string, SignedFee> {
    const signed = this.#signed.get(key) ?? new Map<string, SignedFee>();
    this.#signed.set(key, signed);
    const start = this.#now() - HOUR_MS;
    for (const [hash, { feeLamports, at }] of signed) {
      if (at > start) break;
      signed.delete(hash);
      this.#spent.set(key, (this.#spent.get(key) ?? 0n) - feeLamports);
    }
    return signed;
  }
}

function hashOf(message: Uint8Array): string {
  return createHash('sha256').update(message).digest('base64');
}
