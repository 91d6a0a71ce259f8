import { base58, base64 } from '@scure/base';
import { DomainError } from '../domain/errors.ts';
import type { NewAttempt } from '../ledger/settlements/attempts.ts';
import { verifySignature } from '../signing/ed25519.ts';
import { type AdoptedLifetimes, acceptingSlot, adoptedLifetime } from '../solana/proof/adopted.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { blockhashOf, messageHashOf } from '../solana/tx/message.ts';
import { readSigned, type SignedTransaction } from '../solana/tx/signed-transaction.ts';
import type { AttemptPosition } from './kind.ts';

/** Upper bounds on the cost of an adopted message. The kind reads them from the message before it accepts it. */
export type CostLimits = Pick<
  NewAttempt,
  'computeUnitLimit' | 'computeUnitPriceMicroLamports' | 'feeLamports' | 'rentLamports'
>;

export interface AdoptDeps {
  readonly pool: NodePool;
  /** Blockhash lifetimes that many payments share. Default: the nodes are asked for each payment. */
  readonly lifetimes?: AdoptedLifetimes;
}

export interface BuyersTransaction {
  /** Wire format. A missing signature is 64 zero bytes. */
  readonly wire: Uint8Array;
  /**
   * Slot of a block that contains the transaction, or slot at which a node accepted its blockhash. Null if no node
   * was asked, which is allowed only while one of our signatures is missing.
   */
  readonly slot: bigint | null;
}

export interface Adoption {
  readonly settlementId: string;
  readonly position: AttemptPosition;
  readonly transaction: BuyersTransaction;
  /** Addresses whose signatures may be missing. */
  readonly ours: readonly string[];
  readonly cost: CostLimits;
}

/**
 * Builds the attempt for a buyer's transaction.
 * @throws InvalidRequest if the bytes are not a legacy or version 0 transaction, a signature is missing or invalid, a
 * fully signed transaction has no slot, or no node accepts the blockhash
 * @throws NoHealthyNode if too few nodes report how long the blockhash is valid
 */
export async function adopt(
  { pool, lifetimes }: AdoptDeps,
  { settlementId, position: { n }, transaction: { wire, slot }, ours, cost }: Adoption,
): Promise<NewAttempt> {
  const signed = readSigned(wire);
  if (signed === null) throw invalidRequest('the bytes are not a legacy or version 0 transaction');
  const { message, signers } = signed;
  const blockhash = blockhashOf(message);
  const signatures = signaturesOf(signed, ours);
  const isComplete = !signatures.includes(null);
  if (isComplete && slot === null)
    throw invalidRequest(
      'the transaction is fully signed, so the slot at which a node returned or accepted it is required',
    );
  const cachedLifetime = isComplete || slot === null ? null : ((await lifetimes?.of(slot)) ?? null);
  // Ask about the blockhash first: heights that are read later bound its lifetime only if a node already knew the
  // blockhash.
  const mustAskNodes = slot === null || (lifetimes !== undefined && !isComplete && cachedLifetime === null);
  if (mustAskNodes && (await acceptingSlot(pool, blockhash)) === null)
    throw invalidRequest(
      `no node accepts the blockhash ${blockhash}: the blockhash has expired, or the nodes do not know it yet`,
    );
  return {
    ...(cachedLifetime ?? (await adoptedLifetime(pool, isComplete ? slot : null))),
    ...cost,
    settlementId,
    n,
    signers,
    signatures,
    message: base64.encode(message),
    messageHash: messageHashOf(message),
    blockhash,
    nonceAccount: null,
    bareAdvance: false,
  };
}

function signaturesOf(
  { message, signers, signatures }: SignedTransaction,
  ours: readonly string[],
): (string | null)[] {
  return signatures.map((signature, index) => {
    const signer = signers[index] ?? '';
    const isMissing = signature.every((byte) => byte === 0);
    if (isMissing && ours.includes(signer)) return null;
    if (isMissing) throw invalidRequest(`signature ${index + 1}, by ${signer}, is missing`);
    if (verifySignature(signer, message, signature)) return base58.encode(signature);
    throw invalidRequest(`signature ${index + 1} is not a valid signature of the message by ${signer}`);
  });
}

function invalidRequest(message: string): DomainError {
  return new DomainError('InvalidRequest', message);
}
