import { z } from 'zod';
import { isNonceSeed } from '../../solana/nonces/account.ts';
import { composeUpkeep } from '../../solana/nonces/upkeep.ts';
import {
  checkComposed,
  checkLimits,
  type Policy,
  readMessage,
  readTerms,
  type SigningBounds,
  type SigningRule,
  signingRefused,
} from '../checks.ts';

/** Creation or advance of a nonce account, whose address is derived from `signer` (its authority) and `seed`. */
export interface UpkeepRequest {
  readonly kind: 'create' | 'advance';
  readonly signer: string;
  readonly seed: string;
  /** Decimal lamports that a new account receives; `0` for `advance`. */
  readonly rentLamports: string;
  /** Maximum fee of the transaction, in decimal lamports. */
  readonly maxFeeLamports: string;
}

const termsSchema = z.object({ seed: z.string(), rentLamports: z.string(), maxFeeLamports: z.string() });

export const nonceCreateRule: SigningRule = { roles: ['hot'], policy: policyOf('create') };
export const nonceAdvanceRule: SigningRule = { roles: ['hot'], policy: policyOf('advance') };

function policyOf(kind: UpkeepRequest['kind']): Policy {
  return (message, terms, signer, bounds) =>
    checkUpkeep(message, { kind, signer, ...readTerms(termsSchema, terms) }, bounds);
}

/** Several times the rent of 80 bytes. The wallet can withdraw the lamports, so this only limits a mistake. */
const MAX_RENT_LAMPORTS = 5_000_000n;

/** Throws DomainError SigningRefused unless the message only does what `request` describes, within `bounds`. */
export function checkUpkeep(message: Uint8Array, request: UpkeepRequest, bounds: SigningBounds): void {
  const { kind, signer, seed, rentLamports } = request;
  if (!isNonceSeed(seed)) throw signingRefused(`${seed} is not the seed of a nonce account`);
  const rent = BigInt(rentLamports);
  if (rent > MAX_RENT_LAMPORTS)
    throw signingRefused(
      `the rent of ${rent} lamports for a nonce account is above the maximum of ${MAX_RENT_LAMPORTS}`,
    );
  const limits = checkLimits(readMessage(message), request, bounds);
  checkComposed(message, () => composeUpkeep({ kind, wallet: signer, seed, rentLamports: rent, ...limits }));
}
