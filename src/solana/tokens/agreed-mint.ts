import { isAddress } from '../../domain/address.ts';
import { DomainError, isDomainError } from '../../domain/errors.ts';
import { getMultipleAccounts } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { agree, answersIn } from '../rpc/quorum.ts';
import { type MintInfo, readMint } from './mint.ts';

/**
 * A finalized mint as a quorum of the nodes returns it: it is stored, and its program decides where deposits arrive.
 * Throws DomainError AssetRejected if a quorum shows that it is not a mint, NoHealthyNode if too few agree.
 */
export async function agreedMint(
  pool: Pick<NodePool, 'all' | 'quorum' | 'nodes'>,
  address: string,
): Promise<MintInfo> {
  if (!isAddress(address)) throw rejected(address, `${address} is not base58 of 32 bytes`);
  const results = await pool.all(async (node) => {
    const { value } = await getMultipleAccounts(node, [address]);
    return mintOrRefusal(address, value[0] ?? null);
  });
  const agreed = agree(answersIn(results), pool.quorum, isSame);
  if (agreed === null)
    throw new DomainError(
      'NoHealthyNode',
      `fewer than ${pool.quorum} of ${pool.nodes.length} nodes return the same mint ${address}`,
    );
  if (agreed.answer instanceof DomainError) throw rejected(address, agreed.answer.message);
  return agreed.answer;
}

function rejected(address: string, reason: string): DomainError {
  return new DomainError('AssetRejected', reason, { field: 'mint', address });
}

function mintOrRefusal(...account: Parameters<typeof readMint>): MintInfo | DomainError {
  try {
    return readMint(...account);
  } catch (error) {
    if (isDomainError(error, 'AssetRejected')) return error;
    throw error;
  }
}

/** Compares only the stored fields: fees, hooks and pauses change, and the nodes' slots differ. */
function isSame(one: MintInfo | DomainError, other: MintInfo | DomainError): boolean {
  return identity(one) === identity(other);
}

function identity(one: MintInfo | DomainError): string {
  if (one instanceof DomainError) return one.message;
  const { program, decimals, extensions, freezeAuthority, permanentDelegate } = one;
  return JSON.stringify([program, decimals, extensions, freezeAuthority, permanentDelegate]);
}
