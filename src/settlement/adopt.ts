import { base58, base64 } from '@scure/base';
import { DomainError } from '../domain/errors.ts';
import type { NewAttempt } from '../ledger/settlements/attempts.ts';
import { verifySignature } from '../signing/verify.ts';
import { acceptedIn, adoptedLife, type SharedLives } from '../solana/proof/adopted.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { blockhashOf, messageHashOf } from '../solana/tx/message.ts';
import { readSigned, type SignedTransaction } from '../solana/tx/signed-transaction.ts';
import type { Place } from './kind.ts';

/** What an adopted message costs at most: a kind reads it from the message before it accepts it. */
export type Cost = Pick<
  NewAttempt,
  'computeUnitLimit' | 'computeUnitPriceMicroLamports' | 'feeLamports' | 'rentLamports'
>;

/** Who reports how long a message lives. */
export interface Adopting {
  readonly pool: NodePool;
  /** Shared by many payments. Default: nodes are asked each time. */
  readonly lives?: SharedLives;
}

/** A transaction that its buyer has made. */
export interface BuyersTransaction {
  /** Wire bytes; 64 zero bytes stand for a signature that is missing. */
  readonly wire: Uint8Array;
  /**
   * The slot of a block that a node shows it in, or in which a node accepted its blockhash. Null: nobody asked, which is enough where a
   * key of ours is still to sign.
   */
  readonly slot: bigint | null;
}

/**
 * The attempt that adopts a transaction with the signatures that are there; those of `ours`, addresses, may be missing. Throws
 * InvalidRequest for bytes that are no transaction of version legacy or 0, for a signature that is not over its message or that nobody
 * here can give, for one signed by all without its slot, and for a blockhash that is not accepted; NoHealthyNode where too few nodes tell how long it lives.
 */
export async function adopt(
  { pool, lives }: Adopting,
  settlementId: string,
  { n }: Place,
  { wire, slot }: BuyersTransaction,
  ours: readonly string[],
  cost: Cost,
): Promise<NewAttempt> {
  const signed = readSigned(wire);
  if (signed === null) throw invalid('the bytes are no transaction');
  const { message, signers } = signed;
  const blockhash = blockhashOf(message);
  const signatures = signaturesOf(signed, ours);
  const isWhole = !signatures.includes(null);
  if (isWhole && slot === null)
    throw invalid('it is signed by all: the slot of a node that shows or accepts it is missing');
  const shared = isWhole || slot === null ? null : ((await lives?.of(slot)) ?? null);
  // Asked before the heights: they say how long a blockhash lives only where a node had it before them.
  const isUnknown = slot === null || (lives !== undefined && !isWhole && shared === null);
  if (isUnknown && (await acceptedIn(pool, blockhash)) === null)
    throw invalid(`no node accepts its blockhash ${blockhash}: it is expired, or unknown yet`);
  return {
    ...(shared ?? (await adoptedLife(pool, isWhole ? slot : null))),
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
    if (isMissing) throw invalid(`signature ${index + 1}, of ${signer}, is missing`);
    if (verifySignature(signer, message, signature)) return base58.encode(signature);
    throw invalid(`signature ${index + 1} is not one of ${signer} over the message`);
  });
}

function invalid(message: string): DomainError {
  return new DomainError('InvalidRequest', message);
}
