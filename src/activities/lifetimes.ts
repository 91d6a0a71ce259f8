import type { Lifetime } from '../domain/attempt.ts';
import type { StatusReason } from '../domain/withdrawal.ts';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NonceAccountRow } from '../ledger/nonces.ts';
import type { Chain } from '../solana/chain.ts';
import { askNonces } from '../solana/nonce-investigation.ts';
import { readNonceAccount } from '../solana/nonces.ts';
import { TtlCache } from '../solana/ttl-cache.ts';

/** Nothing may be prepared now: for this withdrawal or for any. */
export interface Stop {
  readonly kind: 'held';
  readonly reason: StatusReason;
}

/** Where the next attempt's lifetime comes from. Another `salt` is another choice, where there is one. */
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

/** One look at the unproved accounts serves every preparation that begins within so long. */
const PROOF_SHARED_MS = 1_000;

const NO_FREE_NONCE: Stop = {
  kind: 'held',
  reason: {
    code: 'no_free_nonce',
    message:
      'no nonce account is free: "sluice nonces create" makes more, and each is free again once proved advanced',
  },
};

/**
 * Durable nonces of the hot wallet, one account for each attempt on its way. Solana plans to retire them (solana §0): use them only
 * where a signature takes longer than a blockhash lives.
 */
export class NonceLifetimes implements Lifetimes {
  readonly #deps: NonceLifetimesDeps;
  readonly #proofs = new TtlCache<void>(PROOF_SHARED_MS, 1);

  constructor(deps: NonceLifetimesDeps) {
    this.#deps = deps;
  }

  async next(salt: bigint): Promise<Lifetime | Stop> {
    const account = (await this.#candidate(salt)) ?? (await this.#proven(salt));
    if (account === undefined || account.nonce === null) return NO_FREE_NONCE;
    const { address, nonce } = account;
    const { slot, accounts } = await this.#deps.chain.accounts([address]);
    const state = readNonceAccount(accounts[0] ?? null);
    if (state?.nonce === nonce && state.authority === this.#deps.hotWallet)
      return { kind: 'nonce', account: address, nonce, slot };
    await this.#deps.ledger.nonces.doubt(address, nonce);
    return NO_FREE_NONCE;
  }

  #candidate(salt: bigint): Promise<NonceAccountRow | undefined> {
    return this.#deps.ledger.nonces.candidate(this.#deps.hotWallet, salt);
  }

  async #proven(salt: bigint): Promise<NonceAccountRow | undefined> {
    await this.#proofs.get('', () => proveNonces(this.#deps));
    return this.#candidate(salt);
  }
}

/** Frees every unproved account for which a quorum's finalized banks agree on another value than the one last carried. */
export async function proveNonces({ ledger, chain, hotWallet }: NonceLifetimesDeps): Promise<void> {
  const unproved = await ledger.nonces.unproved(hotWallet);
  if (unproved.length === 0) return;
  const addresses = unproved.map(({ address }) => address);
  const { slot } = await chain.accounts(addresses.slice(0, 1));
  const nonces = await askNonces(chain.pool, addresses);
  for (const address of addresses) {
    const answers = (nonces.get(address) ?? []).map(({ answer }) => answer);
    const nonce = answers.find(
      (value) => answers.filter((other) => other === value).length >= chain.pool.quorum,
    );
    if (nonce !== undefined) await ledger.nonces.prove(address, { nonce, slot });
  }
}

/** The part of an attempt's row that says how long it lives. */
export function lifetimeColumns(
  lifetime: Lifetime,
): Pick<
  AttemptRow,
  'blockhash' | 'blockhashSlot' | 'blockhashHeight' | 'lastValidBlockHeight' | 'nonceAccount'
> {
  const { slot: blockhashSlot } = lifetime;
  if (lifetime.kind === 'nonce') {
    const { nonce: blockhash, account: nonceAccount } = lifetime;
    return { blockhash, blockhashSlot, blockhashHeight: null, lastValidBlockHeight: null, nonceAccount };
  }
  const { blockhash, height: blockhashHeight, lastValidBlockHeight } = lifetime;
  return { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, nonceAccount: null };
}
