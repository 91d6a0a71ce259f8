import { isAddress } from '../../domain/address.ts';
import { DomainError, isDomainError } from '../../domain/errors.ts';
import { getMultipleAccounts } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { agree, answersIn } from '../rpc/quorum.ts';
import { type MintInfo, readMint } from './mint.ts';

/**
 * Reads a finalized mint. A quorum of nodes must agree, because the mint is stored and its program determines the token
 * accounts that receive deposits. Throws DomainError AssetRejected if a quorum agrees that the account is not a usable
 * mint, and NoHealthyNode if too few nodes agree.
 */
export async function agreedMint(
  pool: Pick<NodePool, 'all' | 'quorum' | 'nodes'>,
  address: string,
): Promise<MintInfo> {
  if (!isAddress(address))
    throw assetRejection(address, `${address} is not an address: it must be base58 of 32 bytes`);
  const results = await pool.all(async (node) => {
    const { value } = await getMultipleAccounts(node, [address]);
    return mintOrRejection(address, value[0] ?? null);
  });
  const agreed = agree(answersIn(results), pool.quorum, isSame);
  if (agreed === null)
    throw new DomainError(
      'NoHealthyNode',
      `fewer than ${pool.quorum} of ${pool.nodes.length} nodes agree on mint ${address}`,
    );
  if (agreed.answer instanceof DomainError) throw assetRejection(address, agreed.answer.message);
  return agreed.answer;
}

function assetRejection(address: string, reason: string): DomainError {
  return new DomainError('AssetRejected', reason, { field: 'mint', address });
}

function mintOrRejection(...account: Parameters<typeof readMint>): MintInfo | DomainError {
  try {
    return readMint(...account);
  } catch (error) {
    if (isDomainError(error, 'AssetRejected')) return error;
    throw error;
  }
}

/** Compares only the stored fields: nodes at different slots can return different fees, hooks and pauses. */
function isSame(one: MintInfo | DomainError, other: MintInfo | DomainError): boolean {
  return storedFields(one) === storedFields(other);
}

function storedFields(one: MintInfo | DomainError): string {
  if (one instanceof DomainError) return one.message;
  const { program, decimals, extensions, freezeAuthority, permanentDelegate } = one;
  return JSON.stringify([program, decimals, extensions, freezeAuthority, permanentDelegate]);
}
