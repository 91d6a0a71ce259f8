import { DomainError } from '../domain/errors.ts';

export async function noChain(): Promise<never> {
  throw new DomainError('Unavailable', 'this API knows no nodes: set SLUICE_RPC_URLS');
}
