import { DomainError, isDomainError } from '../domain/errors.ts';
import type { Chain, ShownAccount } from '../solana/chain.ts';
import type { AccountInfo } from '../solana/rpc/schemas.ts';

/** What a reading of accounts means: `refused` ends the withdrawal for good, `doubtful` may be what a node does not show. */
export type Weight = 'sure' | 'doubtful' | 'refused';

/**
 * What `read` makes of accounts that one node shows. Where that is anything but sure, another node must bear it out: by the word of one
 * alone nothing is rejected for good, and nothing is paid to an address only because it seems to hold nothing. AssetRejected, thrown by
 * `read`, is a refusal. Throws NodeFault where one node refuses what the other does not.
 */
export async function readTwice<T>(
  chain: Chain,
  shown: readonly ShownAccount[],
  read: (accounts: readonly (AccountInfo | null)[]) => T,
  weigh: (reading: T) => Weight,
): Promise<T> {
  const first = shown.map(({ account }) => account);
  const weight = weightOf(() => weigh(read(first)));
  if (weight !== 'sure') {
    const second = await Promise.all(shown.map((one) => chain.accountElsewhere(one)));
    const isRefused = weightOf(() => weigh(read(second))) === 'refused';
    if (isRefused !== (weight === 'refused')) throw contradiction(shown);
  }
  return read(first);
}

function weightOf(weigh: () => Weight): Weight {
  try {
    return weigh();
  } catch (error) {
    if (isDomainError(error) && error.code === 'AssetRejected') return 'refused';
    throw error;
  }
}

function contradiction(shown: readonly ShownAccount[]): DomainError {
  const said = shown.map(({ address, node }) => `what ${node} shows of ${address}`);
  return new DomainError('NodeFault', `no second node bears out ${said.join(' and ')}`);
}
