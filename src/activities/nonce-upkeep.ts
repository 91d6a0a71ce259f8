import { base58, base64 } from '@scure/base';
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { formatLamports } from '../domain/amount.ts';
import type { Lifetime } from '../domain/attempt.ts';
import { DomainError } from '../domain/errors.ts';
import type { NonceUpkeepEnd, NonceUpkeepRequest, NonceUpkeepTask } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NonceUpkeepRow } from '../ledger/nonce-upkeeps.ts';
import type { NonceAccountRow } from '../ledger/nonces.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import { attemptOfRow } from '../solana/examination.ts';
import type { FeePlanner } from '../solana/fees.ts';
import type { LandingWatcher } from '../solana/landing.ts';
import { messageHashOf } from '../solana/message.ts';
import { NONCE_ACCOUNT_SIZE, nonceSeed, readNonceAccount } from '../solana/nonces.ts';
import { assembleTransaction } from '../solana/transactions.ts';
import { beating } from './beating.ts';
import { notYet } from './failures.ts';
import { lifetimeColumns, proveNonces } from './lifetimes.ts';

export interface NonceUpkeepDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  readonly fees: FeePlanner;
  readonly watcher: LandingWatcher;
  readonly hotWallet: string;
}

const RETRY_MS = 5_000;

/** Makes nonce accounts, and uses up the nonce of an attempt that shall not land any more. Proves nothing: the ordinary judges do. */
export function createNonceUpkeep(deps: NonceUpkeepDeps) {
  const { ledger, watcher } = deps;
  return {
    /** The transaction to sign, on record; null where the account exists, or does not hold the nonce, any more or already. */
    async prepareUpkeep(request: NonceUpkeepRequest): Promise<NonceUpkeepTask | null> {
      const account = await ledger.nonces.get(request.address);
      if (account === undefined)
        throw new DomainError('NotFound', `there is no nonce account ${request.address}`);
      const live = await ledger.nonceUpkeeps.live(account.address);
      if (live !== undefined) return taskOf(live, account);
      const lifetime = await lifetimeFor(deps, request, account);
      return lifetime === null ? null : taskOf(await prepare(deps, account, lifetime), account);
    },

    /** Sends it until it has landed or is proved dead; that is on record by then. */
    landUpkeep({
      messageHash,
      signature,
    }: {
      readonly messageHash: string;
      readonly signature: string;
    }): Promise<NonceUpkeepEnd> {
      return beating(async () => {
        const row = await storeBytes(ledger, messageHash, signature);
        if (row.state === 'signed' && row.raw !== null)
          await settle(ledger, watcher, row, row.raw, signature);
        const { state } = await ledger.nonceUpkeeps.get(messageHash);
        if (state === 'prepared' || state === 'signed')
          throw new DomainError('IllegalTransition', `nonce upkeep ${messageHash} is still ${state}`);
        if (state === 'landed') await proveNonces(deps);
        return { state, signature };
      });
    },
  };
}

/** What the transaction lives by; null where it is not needed. */
async function lifetimeFor(
  deps: NonceUpkeepDeps,
  request: NonceUpkeepRequest,
  account: NonceAccountRow,
): Promise<Lifetime | null> {
  if (request.kind === 'advance') return carried(deps, account, request.nonce);
  if ((await heldNonce(deps.chain, account.address)) === null)
    return { kind: 'blockhash', ...(await deps.chain.latestBlockhash()) };
  await proveNonces(deps);
  return null;
}

/** The nonce, where a living attempt carries it, or one may that only a lost record knew. */
async function carried(
  { ledger, chain }: NonceUpkeepDeps,
  { address, state, nonce, slot }: NonceAccountRow,
  wanted: string,
): Promise<Lifetime | null> {
  if (state === 'leased' && nonce === wanted && slot !== null)
    return { kind: 'nonce', account: address, nonce, slot };
  const lost = await ledger.lostNonces.get(address);
  if (lost?.nonce !== wanted || (await heldNonce(chain, address)) !== wanted) return null;
  return { kind: 'nonce', account: address, nonce: wanted, slot: lost.slot };
}

async function heldNonce(chain: Chain, address: string): Promise<string | null> {
  const { accounts } = await chain.accounts([address]);
  return readNonceAccount(accounts[0] ?? null)?.nonce ?? null;
}

async function prepare(
  { ledger, chain, fees, hotWallet }: NonceUpkeepDeps,
  { address, position }: NonceAccountRow,
  lifetime: Lifetime,
): Promise<NonceUpkeepRow> {
  const kind = lifetime.kind === 'nonce' ? 'advance' : 'create';
  const rentLamports = kind === 'create' ? await chain.rentMinimum(NONCE_ACCOUNT_SIZE) : 0n;
  const { nonceAccount: _account, ...columns } = lifetimeColumns(lifetime);
  const draft = { kind, wallet: hotWallet, seed: nonceSeed(position), rentLamports } as const;
  const { message, feeLamports } = await fees.planUpkeep({ ...draft, blockhash: columns.blockhash });
  const { slot, accounts } = await chain.accounts([hotWallet]);
  const need = {
    asset: 'SOL',
    amount: feeLamports + rentLamports,
    finalizedBalance: accounts[0]?.lamports ?? 0n,
    keep: await chain.rentMinimum(0),
  };
  const written = await ledger.nonceUpkeeps.prepare(
    {
      ...columns,
      kind,
      address,
      wallet: hotWallet,
      message: base64.encode(message),
      messageHash: messageHashOf(message),
      feeLamports,
      rentLamports,
    },
    { wallet: hotWallet, observedSlot: slot, needs: [need] },
  );
  if (!('missing' in written)) return written;
  const why = `the hot wallet lacks ${formatLamports(written.missing)} SOL for a nonce account`;
  throw notYet('insufficient_funds', why, RETRY_MS * Math.min(6, activityInfo().attempt));
}

function taskOf(row: NonceUpkeepRow, { position }: NonceAccountRow): NonceUpkeepTask {
  return {
    kind: row.kind,
    messageHash: row.messageHash,
    seed: nonceSeed(position),
    message: row.message,
    rentLamports: row.rentLamports.toString(),
    maxFeeLamports: row.feeLamports.toString(),
  };
}

async function storeBytes(ledger: Ledger, messageHash: string, signature: string): Promise<NonceUpkeepRow> {
  const { message, wallet } = await ledger.nonceUpkeeps.get(messageHash);
  const [bytes, signed] = [base64.decode(message), base58.decode(signature)];
  if (!verifySignature(wallet, bytes, signed))
    throw new DomainError('SigningRefused', `the signature for ${messageHash} is not one of ${wallet}`);
  return ledger.nonceUpkeeps.storeSignature(messageHash, signature, assembleTransaction(bytes, signed).raw);
}

async function settle(
  ledger: Ledger,
  watcher: LandingWatcher,
  row: NonceUpkeepRow,
  raw: string,
  signature: string,
): Promise<void> {
  const nonceAccount = row.kind === 'advance' ? row.address : null;
  const watched = { ...attemptOfRow({ ...row, nonceAccount }, signature), raw };
  const hooks = { signal: cancellationSignal(), onOutlook: () => undefined };
  const { verdict, evidence, times, spending } = await watcher.watch(watched, hooks);
  await ledger.nonceUpkeeps.settle(row.messageHash, {
    state: verdict.kind,
    ...(verdict.kind === 'dead' ? {} : { slot: verdict.slot }),
    ...(verdict.kind === 'failed' ? { error: verdict.error } : {}),
    ...(spending.feeLamports === null ? {} : { feeLamports: spending.feeLamports }),
    proof: { ...times, ...evidence },
  });
}

export type NonceUpkeepActivities = ReturnType<typeof createNonceUpkeep>;
