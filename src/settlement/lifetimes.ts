import type { Lifetime } from '../domain/attempt.ts';
import { DomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import type { NonceAccountRow } from '../ledger/settlements/nonces.ts';
import type { Chain } from '../solana/chain.ts';
import { readNonceAccount } from '../solana/nonces/account.ts';
import { agreedNonces } from '../solana/nonces/survey.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';

/** The reason why no attempt can be prepared now. */
export interface Stop {
  readonly kind: 'held';
  readonly reason: StatusReason;
}

/** Source of the next attempt's lifetime. Another `salt` selects another nonce account, if there is one. */
export interface Lifetimes {
  next(salt: bigint): Promise<Lifetime | Stop>;
}

/** Recent blockhashes: the default. */
export function blockhashLifetimes(chain: Chain): Lifetimes {
  return { next: async () => ({ kind: 'blockhash', ...(await chain.latestBlockhash()) }) };
}

export interface NonceLifetimesDeps {
  readonly ledger: Pick<Ledger, 'nonces'>;
  readonly chain: Chain;
  readonly hotWallet: string;
}

/** Preparations share one read of the unproved accounts for this long. */
const PROOF_TTL_MS = 1_000;

const NO_FREE_NONCE: Stop = {
  kind: 'held',
  reason: {
    code: 'no_free_nonce',
    message:
      'no nonce account is free: run "sluice nonces create --count <count>" to create more, or wait until used ones are proved to be advanced',
  },
};

/**
 * Durable nonces of the hot wallet, one account for each attempt. Solana plans to retire durable nonces: use them
 * only if signing takes longer than a blockhash is valid.
 */
export class NonceLifetimes implements Lifetimes {
  readonly #deps: NonceLifetimesDeps;
  readonly #proofs = new TtlCache<void>(PROOF_TTL_MS, 1);

  constructor(deps: NonceLifetimesDeps) {
    this.#deps = deps;
  }

  async next(salt: bigint): Promise<Lifetime | Stop> {
    const account = (await this.#candidate(salt)) ?? (await this.#candidateAfterProof(salt));
    if (account === undefined || account.nonce === null) return NO_FREE_NONCE;
    const { address, nonce } = account;
    const { chain, ledger, hotWallet } = this.#deps;
    const [reading, [agreed = null]] = await Promise.all([
      chain.accounts([address]),
      agreedNonces(chain.pool, [address]),
    ]);
    if (agreed === null) throw noQuorum(chain, address);
    const state = readNonceAccount(reading.accounts[0] ?? null);
    if (state?.nonce === nonce && agreed.nonce === nonce && state.authority === hotWallet)
      return { kind: 'nonce', account: address, nonce, slot: agreed.slot };
    await ledger.nonces.markUnproved(address, nonce);
    return NO_FREE_NONCE;
  }

  #candidate(salt: bigint): Promise<NonceAccountRow | undefined> {
    return this.#deps.ledger.nonces.candidate(this.#deps.hotWallet, salt);
  }

  async #candidateAfterProof(salt: bigint): Promise<NonceAccountRow | undefined> {
    await this.#proofs.get('', () => proveNonces(this.#deps));
    return this.#candidate(salt);
  }
}

/**
 * Frees each unproved account whose finalized nonce, on which a quorum agrees, differs from the nonce that was last
 * used.
 */
export async function proveNonces({ ledger, chain, hotWallet }: NonceLifetimesDeps): Promise<void> {
  const unproved = await ledger.nonces.unprovedAccounts(hotWallet);
  if (unproved.length === 0) return;
  const addresses = unproved.map(({ address }) => address);
  const agreed = await agreedNonces(chain.pool, addresses);
  for (const [index, address] of addresses.entries()) {
    const { nonce, slot } = agreed[index] ?? { nonce: null, slot: 0n };
    if (nonce !== null) await ledger.nonces.prove(address, { nonce, slot });
  }
}

function noQuorum({ pool }: Chain, address: string): DomainError {
  const message = `fewer than ${pool.quorum} of ${pool.nodes.length} nodes agree on the state of nonce account ${address}`;
  return new DomainError('NoHealthyNode', message);
}

export function lifetimeColumns(
  lifetime: Lifetime,
): Pick<
  AttemptRow,
  'blockhash' | 'blockhashSlot' | 'blockhashHeight' | 'lastValidBlockHeight' | 'adoptedFrom' | 'nonceAccount'
> {
  const { slot: blockhashSlot } = lifetime;
  const composed = { blockhashSlot, adoptedFrom: null };
  if (lifetime.kind === 'nonce') {
    const { nonce: blockhash, account: nonceAccount } = lifetime;
    return { ...composed, blockhash, blockhashHeight: null, lastValidBlockHeight: null, nonceAccount };
  }
  const { blockhash, height: blockhashHeight, lastValidBlockHeight } = lifetime;
  return { ...composed, blockhash, blockhashHeight, lastValidBlockHeight, nonceAccount: null };
}
