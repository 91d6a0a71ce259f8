import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

export interface ChainDeps {
  readonly ledger: Ledger;
  /** Rejects if there is no quorum of nodes. Absent if the API has no nodes. */
  readonly chain?: () => Promise<Chain>;
}

export async function noChain(): Promise<never> {
  throw new DomainError('Unavailable', 'the API has no Solana nodes: set SLUICE_RPC_URLS');
}
