import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

export interface ChainDeps {
  readonly ledger: Ledger;
  /** The nodes; rejects without a quorum. Absent in an API without nodes. */
  readonly chain?: () => Promise<Chain>;
}

export async function noChain(): Promise<never> {
  throw new DomainError('Unavailable', 'this API knows no nodes: set SLUICE_RPC_URLS');
}
