import { base64 } from '@scure/base';
import type { Lifetime } from '../domain/attempt.ts';
import { DomainError } from '../domain/errors.ts';
import { NONCE_ADVANCE, NONCE_CREATE, readAdvanceSubject, type UsedUp } from '../domain/settlement-kinds.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NonceAccountRow } from '../ledger/settlements/nonces.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { AttemptPosition, Composition, Kind, Refusal } from '../settlement/kind.ts';
import { lifetimeColumns, proveNonces } from '../settlement/lifetimes.ts';
import type { Chain } from '../solana/chain.ts';
import { NONCE_ACCOUNT_SIZE, nonceSeed } from '../solana/nonces/account.ts';
import { type AgreedNonce, agreedNonces } from '../solana/nonces/survey.ts';
import type { FeePlanner } from '../solana/tx/fees.ts';
import { messageHashOf } from '../solana/tx/message.ts';

export interface NonceKindsDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  readonly fees: FeePlanner;
  /** The only wallet whose nonce accounts can be used: the signer has no other key. */
  readonly hotWallet: string;
}

/** The lifetime of the next attempt, or why no attempt is needed. */
type NextLifetime = { readonly kind: 'needed'; readonly lifetime: Lifetime } | Refusal;

const ACCOUNT_EXISTS: Refusal = {
  kind: 'needless',
  reason: { code: 'already_made', message: 'the nonce account exists already' },
};
const NONCE_USED_UP: Refusal = {
  kind: 'needless',
  reason: { code: 'used_up', message: 'the nonce is used up: no transaction that uses it can land any more' },
};

/** The kinds that create a nonce account, or use up the nonce of an attempt that must not land. */
export function nonceKinds(
  deps: NonceKindsDeps,
): Readonly<Record<typeof NONCE_CREATE | typeof NONCE_ADVANCE, Kind>> {
  return {
    [NONCE_CREATE]: nonceKind(
      deps,
      ({ subjectId }) => subjectId,
      (account) => creationLifetime(deps, account),
    ),
    [NONCE_ADVANCE]: nonceKind(
      deps,
      ({ subjectId }) => readAdvanceSubject(subjectId).address,
      (account, { subjectId }) => advanceLifetime(deps, account, readAdvanceSubject(subjectId)),
    ),
  };
}

function nonceKind(
  deps: NonceKindsDeps,
  addressOf: (settlement: SettlementRow) => string,
  lifetimeOf: (account: NonceAccountRow, settlement: SettlementRow) => Promise<NextLifetime>,
): Kind {
  async function accountOf(settlement: SettlementRow): Promise<NonceAccountRow> {
    const address = addressOf(settlement);
    const account = await deps.ledger.nonces.get(address);
    if (account === undefined) throw new DomainError('NotFound', `there is no nonce account ${address}`);
    return account;
  }
  return {
    compose: async (settlement, attemptPosition) => {
      const account = await accountOf(settlement);
      const next = await lifetimeOf(account, settlement);
      return next.kind === 'needed'
        ? compose(deps, settlement, account, next.lifetime, attemptPosition)
        : next;
    },
    tasks: async (settlement, { message, feeLamports, rentLamports, signature }) => {
      if (signature !== null) return [];
      const seed = nonceSeed((await accountOf(settlement)).position);
      const terms = { seed, rentLamports: rentLamports.toString(), maxFeeLamports: feeLamports.toString() };
      return [{ kind: settlement.kind, key: 'hot', message, terms }];
    },
    afterAttemptEnd: async ({ state }) => {
      if (state === 'landed') await proveNonces(deps);
    },
    hasKey: async (settlement) =>
      (await deps.ledger.nonces.get(addressOf(settlement)))?.authority === deps.hotWallet,
  };
}

async function creationLifetime(deps: NonceKindsDeps, { address }: NonceAccountRow): Promise<NextLifetime> {
  if ((await agreedNonce(deps.chain, address)).nonce === null)
    return { kind: 'needed', lifetime: { kind: 'blockhash', ...(await deps.chain.latestBlockhash()) } };
  await proveNonces(deps);
  return ACCOUNT_EXISTS;
}

/** An advance is needed only if a live attempt uses the nonce, or if an attempt that a restore lost may use it. */
async function advanceLifetime(
  { ledger, chain }: NonceKindsDeps,
  { address, state, nonce, slot }: NonceAccountRow,
  subject: UsedUp,
): Promise<NextLifetime> {
  const lifetime = { kind: 'nonce', account: address, nonce: subject.nonce } as const;
  if (state === 'leased' && nonce === subject.nonce && slot !== null)
    return { kind: 'needed', lifetime: { ...lifetime, slot } };
  const lost = await ledger.lostNonces.get(address);
  if (lost?.nonce !== subject.nonce) return NONCE_USED_UP;
  const agreed = await agreedNonce(chain, address);
  if (agreed.slot < lost.slot) throw noQuorum(address);
  return agreed.nonce === subject.nonce
    ? { kind: 'needed', lifetime: { ...lifetime, slot: lost.slot } }
    : NONCE_USED_UP;
}

/** State of the account on which a quorum agrees, so that one wrong node ends no settlement. Throws NoHealthyNode. */
async function agreedNonce({ pool }: Chain, address: string): Promise<AgreedNonce> {
  const [agreed = null] = await agreedNonces(pool, [address]);
  if (agreed === null) throw noQuorum(address);
  return agreed;
}

function noQuorum(address: string): DomainError {
  return new DomainError('NoHealthyNode', `too few nodes agree on the state of nonce account ${address}`);
}

async function compose(
  { chain, fees, hotWallet }: NonceKindsDeps,
  settlement: SettlementRow,
  { position }: NonceAccountRow,
  lifetime: Lifetime,
  { n, salt, lastPrice }: AttemptPosition,
): Promise<Composition> {
  const kind = lifetime.kind === 'nonce' ? 'advance' : 'create';
  const rentLamports = kind === 'create' ? await chain.rentMinimum(NONCE_ACCOUNT_SIZE) : 0n;
  const columns = lifetimeColumns(lifetime);
  const draft = { kind, wallet: hotWallet, seed: nonceSeed(position), rentLamports } as const;
  const plan = await fees.planUpkeep({ ...draft, blockhash: columns.blockhash }, lastPrice, salt);
  const { slot, accounts } = await chain.accounts([hotWallet]);
  const need = {
    asset: 'SOL',
    amount: plan.feeLamports + rentLamports,
    finalizedBalance: accounts[0]?.lamports ?? 0n,
    keep: await chain.rentMinimum(0),
  };
  return {
    kind: 'composed',
    attempt: {
      ...columns,
      settlementId: settlement.id,
      n,
      signers: [hotWallet],
      bareAdvance: kind === 'advance',
      message: base64.encode(plan.message),
      messageHash: messageHashOf(plan.message),
      computeUnitLimit: plan.computeUnitLimit,
      computeUnitPriceMicroLamports: plan.computeUnitPriceMicroLamports,
      feeLamports: plan.feeLamports,
      rentLamports,
    },
    reservations: [{ wallet: hotWallet, observedSlot: slot, needs: [need] }],
  };
}
