import { DomainError } from '../domain/errors.ts';

/** The `chain` of an API without configured nodes. */
export async function noChain(): Promise<never> {
  throw new DomainError('Unavailable', 'this API knows no nodes: set SLUICE_RPC_URLS');
}
