import { DomainError } from '../domain/errors.ts';

/** The nodes of an API that was given none. */
export async function noChain(): Promise<never> {
  throw new DomainError('Unavailable', 'this API knows no nodes: set SLUICE_RPC_URLS');
}
