import { isAddress } from '../../domain/address.ts';
import { DomainError, isDomainError } from '../../domain/errors.ts';
import { getMultipleAccounts } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
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
  const answers = await pool.all(async (node) => {
    const { value } = await getMultipleAccounts(node, [address]);
    return mintOrRefusal(address, value[0] ?? null);
  });
  const shown = answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
  const agreed = shown.find((one) => shown.filter((other) => isSame(one, other)).length >= pool.quorum);
  if (agreed === undefined)
    throw new DomainError(
      'NoHealthyNode',
      `${address} is not shown alike by ${pool.quorum} of ${pool.nodes.length} nodes`,
    );
  if (agreed instanceof DomainError) throw rejected(address, agreed.message);
  return agreed;
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
