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

/**
 * `unproved`: why the message may have landed under another signature, or null. `landedWith`: the signatures with which
 * a block contains it, if a quorum agrees on that block. `proof`: null if none was needed.
 */
export type MessageVerdict =
  | { readonly unproved: string; readonly landedWith?: readonly string[] }
  | { readonly unproved: null; readonly proof: MessageProof | null };

const PROOFS_AT_ONCE = 4;
/** Settlements whose proof does not fit into the queue stay held and try again later. */
const MAX_QUEUED_PROOFS = 64;
const NOT_LANDED: MessageVerdict = { unproved: null, proof: null };

/**
 * Checks whether an attempt landed under another signature than the stored one. A randomized signer returns a new
 * signature each time, and the chain accepts only one transaction for each message. Of our own signatures only the
 * first stored one is sent, but a restored database can have lost that one. A buyer can send any of theirs.
 * Source: docs/decisions/0017-signatures.md.
 */
export class SameMessage {
  readonly #ledger: Ledger;
  readonly #chain: Chain;
  readonly #cache = unsignedCache();
  /** Each proof reads the accounts of a minute of blocks; concurrent proofs share them. */
  readonly #proofs = pLimit(PROOFS_AT_ONCE);

  constructor(ledger: Ledger, chain: Chain) {
    this.#ledger = ledger;
    this.#chain = chain;
  }

  async judge(attempt: AttemptRow, evidence: Evidence | NonceEvidence): Promise<MessageVerdict> {
    if ('use' in evidence && evidence.use !== null) return this.#byUse(attempt, evidence.use.signature);
    const { adoptedFrom, epoch } = attempt;
    const isUnbroken = await this.#ledger.continuity.isUnbrokenSince(epoch);
    if (isUnbroken && adoptedFrom === null) return NOT_LANDED;
    const cause = isUnbroken ? SIGNED_TWICE_CAUSE : RESTORE_CAUSE;
    if (this.#proofs.pendingCount >= MAX_QUEUED_PROOFS)
      return {
        unproved: `${cause}, and ${MAX_QUEUED_PROOFS} other proofs are queued: Sluice tries again later`,
      };
    return this.#proofs(() => this.#byBlocks(attempt, cause));
  }

  async #byUse({ messageHash }: AttemptRow, signature: string): Promise<MessageVerdict> {
    const parties = await partiesOf(this.#chain.pool, signature, verifySignature);
    if (parties === null)
      return { unproved: `no node returns transaction ${signature}, which used the nonce of the attempt` };
    return parties.messageHash === messageHash
      ? { unproved: `the message of the attempt has landed with signature ${signature}` }
      : NOT_LANDED;
  }

  async #byBlocks(row: AttemptRow, cause: string): Promise<MessageVerdict> {
    const unproved = `${cause}, and it is not proved yet that the message has not landed under another signature`;
    const found = await examineUnsigned(this.#chain, row, this.#cache, verifySignature);
    if (found?.verdict.kind === 'dead')
      return { unproved: null, proof: { ...found.times, ...found.evidence } };
    // A buyer may sign a message twice. A message of our own under another signature shows a database restore, so that
    // the watch of the wallet, which pauses payments, stores that signature.
    const landedAs = row.adoptedFrom === null ? null : (found?.landedAs ?? null);
    const parties = landedAs === null ? null : await partiesOf(this.#chain.pool, landedAs, verifySignature);
    if (parties?.messageHash === row.messageHash)
      return {
        unproved: `the message of the attempt has landed with signature ${landedAs}`,
        landedWith: parties.signatures,
      };
    return { unproved: found?.obstacle ? `${unproved}: ${found.obstacle}` : unproved };
  }
}

const RESTORE_CAUSE = 'the database was restored from a backup after the attempt was prepared';
const SIGNED_TWICE_CAUSE = 'the caller that composed the message may have signed it twice';
