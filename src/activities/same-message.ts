import pLimit from 'p-limit';
import type { Evidence, NonceEvidence } from '../domain/attempt.ts';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import { examineUnsigned, unsignedCache } from '../solana/unsigned-investigation.ts';
import { partiesOf } from '../solana/wallet-history.ts';
import { unsignedAttemptOf } from './unsigned-attempt.ts';

/**
 * Looks for an attempt under another signature than the one on record. A signer that draws randomness gives another one each time, and the
 * chain takes a message once, whichever comes first. The first on record is the only one that is ever sent; only a record
 * that was restored may have forgotten which that was.
 * Source: docs/decisions/0017-signatures.md.
 */
export class SameMessage {
  readonly #ledger: Ledger;
  readonly #chain: Chain;
  readonly #cache = unsignedCache();
  /** A proof reads the accounts of a minute of blocks. */
  readonly #oneByOne = pLimit(1);

  constructor(ledger: Ledger, chain: Chain) {
    this.#ledger = ledger;
    this.#chain = chain;
  }

  /** Why an attempt whose signature is proved dead may have landed under another one; null where it cannot have. */
  async doubt(attempt: AttemptRow, evidence: Evidence | NonceEvidence): Promise<string | null> {
    if ('use' in evidence && evidence.use !== null) return this.#doubtOfUse(attempt, evidence.use.signature);
    if (await this.#ledger.continuity.isUnbrokenSince(attempt.generation)) return null;
    return this.#oneByOne(() => this.#doubtOfBlocks(attempt));
  }

  async #doubtOfUse({ messageHash }: AttemptRow, signature: string): Promise<string | null> {
    const parties = await partiesOf(this.#chain.pool, signature, verifySignature);
    if (parties === null) return `no node shows the bytes of ${signature}, which used up its nonce`;
    return parties.messageHash === messageHash ? `its message has landed as ${signature}` : null;
  }

  async #doubtOfBlocks(row: AttemptRow): Promise<string | null> {
    const attempt = unsignedAttemptOf(row);
    if (attempt === null) return RESTORED;
    const found = await examineUnsigned(this.#chain, attempt, this.#cache, verifySignature);
    if (found?.verdict.kind === 'dead') return null;
    return found?.obstacle ? `${RESTORED}: ${found.obstacle}` : RESTORED;
  }
}

const RESTORED =
  'the record was restored since, and nothing proves yet that its message has not landed under another signature';
