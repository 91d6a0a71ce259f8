import pLimit from 'p-limit';
import type { Evidence, InvestigationTimes, NonceEvidence } from '../domain/attempt.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { verifySignature } from '../signing/ed25519.ts';
import type { Chain } from '../solana/chain.ts';
import { partiesOf } from '../solana/history/wallet-history.ts';
import { examineUnsigned, unsignedCache } from '../solana/proof/investigate-unsigned.ts';

/** Proof that a message landed under no signature, and when the nodes were asked. */
export type MessageProof = (Evidence | NonceEvidence) & InvestigationTimes;

/** `unproved`: why another signature may have landed, or null. `proof`: set if a proof was needed. */
export type MessageVerdict =
  | { readonly unproved: string }
  | { readonly unproved: null; readonly proof: MessageProof | null };

const PROOFS_AT_ONCE = 4;
/** Limit on queued proofs. Settlements beyond it stay held and try again later. */
const MAX_WAITING = 64;
const SURE: MessageVerdict = { unproved: null, proof: null };

/**
 * Checks whether an attempt landed under another signature than the stored one. A randomized signer returns a
 * new signature each time, and the chain accepts only one transaction per message. Of our signatures only the
 * first stored one is sent, but a restored database may have lost it. A buyer may send any of its own.
 * Source: docs/decisions/0017-signatures.md.
 */
export class SameMessage {
  readonly #ledger: Ledger;
  readonly #chain: Chain;
  readonly #cache = unsignedCache();
  /** A proof reads the accounts of a minute of blocks; concurrent proofs share them. */
  readonly #proofs = pLimit(PROOFS_AT_ONCE);

  constructor(ledger: Ledger, chain: Chain) {
    this.#ledger = ledger;
    this.#chain = chain;
  }

  async judge(attempt: AttemptRow, evidence: Evidence | NonceEvidence): Promise<MessageVerdict> {
    if ('use' in evidence && evidence.use !== null) return this.#byUse(attempt, evidence.use.signature);
    const { adoptedFrom, generation } = attempt;
    const isWhole = await this.#ledger.continuity.isUnbrokenSince(generation);
    if (isWhole && adoptedFrom === null) return SURE;
    const cause = isWhole ? SIGNED_TWICE : RESTORED;
    if (this.#proofs.pendingCount >= MAX_WAITING)
      return {
        unproved: `${cause}, and ${MAX_WAITING} other proofs are queued: Sluice tries again later`,
      };
    return this.#proofs(() => this.#byBlocks(attempt, cause));
  }

  async #byUse({ messageHash }: AttemptRow, signature: string): Promise<MessageVerdict> {
    const parties = await partiesOf(this.#chain.pool, signature, verifySignature);
    if (parties === null)
      return { unproved: `no node returns the transaction ${signature}, which used its nonce` };
    return parties.messageHash === messageHash
      ? { unproved: `its message has landed as ${signature}` }
      : SURE;
  }

  async #byBlocks(row: AttemptRow, cause: string): Promise<MessageVerdict> {
    const unproved = `${cause}, and no proof shows yet that its message has not landed under another signature`;
    const found = await examineUnsigned(this.#chain, row, this.#cache, verifySignature);
    if (found?.verdict.kind === 'dead')
      return { unproved: null, proof: { ...found.times, ...found.evidence } };
    return { unproved: found?.obstacle ? `${unproved}: ${found.obstacle}` : unproved };
  }
}

const RESTORED = 'the database was restored from a backup since then';
const SIGNED_TWICE = 'the caller that composed its message may have signed it twice';
