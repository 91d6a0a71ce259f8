import { PublicKey } from '@solana/web3.js';
import { DomainError } from '../../domain/errors.ts';
import {
  ExtensionType,
  getAccountLen,
  getAccountTypeOfMintType,
  getAssociatedTokenAddressSync,
} from '../../shims/spl-token.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import { ATA_PROGRAM, TOKEN_2022_PROGRAM } from '../tx/programs.ts';

/**
 * The associated token account of a wallet. Throws DomainError DestinationRejected for an off-curve owner, unless
 * `offCurve` allows it, as for a program's vault.
 */
export function deriveAta(owner: string, mint: string, program: string, offCurve = false): string {
  try {
    return getAssociatedTokenAddressSync(
      key(mint),
      key(owner),
      offCurve,
      key(program),
      key(ATA_PROGRAM),
    ).toBase58();
  } catch (error) {
    throw new DomainError(
      'DestinationRejected',
      `${owner} cannot own an associated token account`,
      {},
      error,
    );
  }
}

/** The bump of an associated token account: 255 minus the number of rejected on-curve addresses. */
export function ataBump(owner: string, mint: string, program: string): number {
  const seeds = [owner, program, mint].map((address) => key(address).toBuffer());
  return PublicKey.findProgramAddressSync(seeds, key(ATA_PROGRAM))[1];
}

/** Lamports that creating the account costs: the difference to its rent minimum. */
export function ataRent(account: AccountInfo | null, rentMinimum: bigint): bigint {
  const present = account?.lamports ?? 0n;
  return present >= rentMinimum ? 0n : rentMinimum - present;
}

/**
 * Bytes of a new associated token account for a mint of this program with extensions of these types. Under Token-2022
 * the ATA program adds ImmutableOwner, and the mint's extensions require others. A confidential one requires none.
 */
export function ataSize(program: string, types: ReadonlySet<ExtensionType>): number {
  if (program !== TOKEN_2022_PROGRAM) return getAccountLen([]);
  const required = [...types]
    .filter((type) => type !== ExtensionType.ConfidentialTransferMint)
    .map(getAccountTypeOfMintType)
    .filter((type) => type > ExtensionType.Uninitialized);
  return getAccountLen([ExtensionType.ImmutableOwner, ...required]);
}

function key(address: string): PublicKey {
  return new PublicKey(address);
}
