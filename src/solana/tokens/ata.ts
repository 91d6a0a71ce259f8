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
 * Address of a wallet's associated token account. Throws DomainError DestinationRejected if the owner is off the curve,
 * unless `allowOffCurve` is set, as for a program's vault.
 */
export function deriveAta(owner: string, mint: string, program: string, allowOffCurve = false): string {
  try {
    return getAssociatedTokenAddressSync(
      key(mint),
      key(owner),
      allowOffCurve,
      key(program),
      key(ATA_PROGRAM),
    ).toBase58();
  } catch (error) {
    throw new DomainError(
      'DestinationRejected',
      `${owner} cannot own an associated token account of mint ${mint}`,
      {},
      error,
    );
  }
}

/** Bump of an associated token account: 255 minus the number of bumps whose address is on the curve. */
export function ataBump(owner: string, mint: string, program: string): number {
  const seeds = [owner, program, mint].map((address) => key(address).toBuffer());
  return PublicKey.findProgramAddressSync(seeds, key(ATA_PROGRAM))[1];
}

/** Lamports that creating the account costs. The account can already have lamports, which reduce the cost. */
export function ataRent(account: AccountInfo | null, rentMinimum: bigint): bigint {
  const existingLamports = account?.lamports ?? 0n;
  return existingLamports >= rentMinimum ? 0n : rentMinimum - existingLamports;
}

/**
 * Size in bytes of a new associated token account. `program`: token program of the mint. `mintExtensions`: extensions
 * of the mint, which can require extensions of the account. Under Token-2022, the ATA program also adds
 * ImmutableOwner. ConfidentialTransferMint requires no extension, because owners add theirs later.
 */
export function ataSize(program: string, mintExtensions: ReadonlySet<ExtensionType>): number {
  if (program !== TOKEN_2022_PROGRAM) return getAccountLen([]);
  const requiredExtensions = [...mintExtensions]
    .filter((type) => type !== ExtensionType.ConfidentialTransferMint)
    .map(getAccountTypeOfMintType)
    .filter((type) => type > ExtensionType.Uninitialized);
  return getAccountLen([ExtensionType.ImmutableOwner, ...requiredExtensions]);
}

function key(address: string): PublicKey {
  return new PublicKey(address);
}
