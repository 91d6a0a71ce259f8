import { z } from 'zod';
import { isNonceSeed } from '../../solana/nonces/account.ts';
import { composeUpkeep } from '../../solana/nonces/upkeep.ts';
import {
  checkComposed,
  checkLimits,
  type Policy,
  readMessage,
  readTerms,
  refused,
  type SigningBounds,
  type SigningRule,
} from '../checks.ts';

/** Terms of a nonce account's upkeep. The signer and `seed` give its address; the signer is its authority. */
export interface UpkeepRequest {
  readonly kind: 'create' | 'advance';
  readonly signer: string;
  readonly seed: string;
  /** Decimal lamports for a new account; `0` for `advance`. */
  readonly rentLamports: string;
  /** Upper limit of the whole fee, in decimal lamports. */
  readonly maxFeeLamports: string;
}

const terms = z.object({ seed: z.string(), rentLamports: z.string(), maxFeeLamports: z.string() });

export const nonceCreateRule: SigningRule = { roles: ['hot'], policy: policyOf('create') };
export const nonceAdvanceRule: SigningRule = { roles: ['hot'], policy: policyOf('advance') };

function policyOf(kind: UpkeepRequest['kind']): Policy {
  return (message, asked, signer, bounds) =>
    checkUpkeep(message, { kind, signer, ...readTerms(terms, asked) }, bounds);
}

/** Several times the rent of 80 bytes. The wallet keeps control of the lamports, so this only limits a mistake. */
const RENT_CAP_LAMPORTS = 5_000_000n;

/**
 * Throws DomainError SigningRefused unless the message does exactly one thing within `bounds`: it creates a nonce
 * account with the wallet's own seed and authority, or advances such an account.
 */
export function checkUpkeep(message: Uint8Array, asked: UpkeepRequest, bounds: SigningBounds): void {
  const { kind, signer, seed, rentLamports } = asked;
  if (!isNonceSeed(seed)) throw refused('the seed is not one of a nonce account');
  const rent = BigInt(rentLamports);
  if (rent > RENT_CAP_LAMPORTS) throw refused(`a nonce account does not need ${rent} lamports`);
  const limits = checkLimits(readMessage(message), asked, bounds);
  checkComposed(message, () => composeUpkeep({ kind, wallet: signer, seed, rentLamports: rent, ...limits }));
}
