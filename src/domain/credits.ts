import {
  type BlockFinding,
  type Inflow,
  NOTHING_FOUND,
  type NotCreditedReason,
  type ScannedBlock,
  type ScannedTransaction,
  type Spend,
  type TokenChange,
  type WatchKind,
} from './deposit.ts';
import { type AssetTerms, SOL } from './deposit-asset.ts';

/** What the rules of deposits must know about us. */
export interface Ours {
  /** Why we watch a wallet; undefined for one that is nothing to us. */
  kindOf(address: string): WatchKind | undefined;
  /** The associated token account of a wallet that we watch, of any kind. Never throws: anybody may send anything to any wallet. */
  ataOf(wallet: string, mint: string, program: string): string;
  /** The terms of `SOL` or of a mint; undefined where it is not among the assets. */
  asset(asset: string): AssetTerms | undefined;
  /** True for the signature of an attempt that we composed: the payment of a buyer, though adopted, is a deposit as any other. */
  isAttempt(signature: string): boolean;
  /**
   * Whether a token account that was handed over to a deposit wallet is credited, with all that it holds then. Such an account is
   * not the associated one, so that rule does not bind it. Default: no.
   */
  readonly ownerChangeAllowed?: boolean;
  /**
   * The wallet of ours whose token account is the owner of another token account; undefined for any other owner. Default: none. The scan
   * does not know these owners, audits and reconciliation do.
   */
  nestedIn?(owner: string): string | undefined;
}

/**
 * What a finalized block means for us: what arrived in every account of every watched wallet, credited or not, what left, and what our
 * hot wallets signed. Source: docs/interface.md, Deposit detection rules 3 to 5.
 */
export function findingOf({ transactions }: Pick<ScannedBlock, 'transactions'>, ours: Ours): BlockFinding {
  const findings = transactions.map((transaction) => findingOfTransaction(transaction, ours));
  return {
    inflows: findings.flatMap(({ inflows }) => inflows),
    outflows: findings.flatMap(({ outflows }) => outflows),
    spends: findings.flatMap(({ spends }) => spends),
  };
}

/**
 * {@link findingOf} for one transaction. One that failed moves no more than its fee, which is an outflow: nothing that a node says it
 * brought is believed.
 */
export function findingOfTransaction(transaction: ScannedTransaction, ours: Ours): BlockFinding {
  const changes = changesOf(transaction)
    .flatMap((change) => ofWallet(change, ours))
    .filter(({ delta, wallet }) => delta !== 0n && ours.kindOf(wallet) !== undefined);
  const spends = spendsOf(transaction, ours);
  if (changes.length === 0 && spends.length === 0) return NOTHING_FOUND;
  const outflows = changes.filter(({ delta }) => delta < 0n).map((change) => movement(transaction, change));
  if (transaction.error !== null) return { inflows: [], outflows, spends };
  const lost = lostByOurSigners(transaction, ours);
  const isOurs = ours.isAttempt(transaction.signature);
  const inflows = changes
    .filter(({ delta }) => delta > 0n)
    .map((change): Inflow => {
      const internal = (isOurs || lost.has(change.asset)) && change.nested !== true;
      return {
        ...movement(transaction, change),
        reason: internal ? 'internal' : reasonAgainst(change, ours),
      };
    });
  return { inflows, outflows, spends };
}

/** How one account of a wallet changed; a change of owner is two: all leaves the one, all arrives at the other. */
interface Change {
  readonly account: string;
  readonly wallet: string;
  readonly asset: string;
  readonly delta: bigint;
  readonly program: string | null;
  readonly decimals: number | null;
  readonly ownerChanged: boolean;
  readonly nested?: true;
}

/** What leaves a nested token account is no movement of the wallet: its balances do not count what is there. */
function ofWallet(change: Change, ours: Ours): readonly Change[] {
  const wallet = change.asset === SOL ? undefined : ours.nestedIn?.(change.wallet);
  if (wallet === undefined) return [change];
  return change.delta > 0n ? [{ ...change, wallet, nested: true }] : [];
}

function changesOf({ error, accounts, tokens }: ScannedTransaction): readonly Change[] {
  const native = accounts.map(({ address, before, after }) => ({
    account: address,
    wallet: address,
    asset: 'SOL',
    delta: after - before,
    program: null,
    decimals: null,
    ownerChanged: false,
  }));
  return error === null ? [...native, ...tokens.flatMap(tokenChanges)] : native;
}

function tokenChanges({ account, mint, before, after }: TokenChange): readonly Change[] {
  const program = after?.program ?? before?.program ?? null;
  const decimals = after?.decimals ?? before?.decimals ?? null;
  const change = (owner: string | null | undefined, delta: bigint, ownerChanged: boolean): Change[] =>
    typeof owner === 'string'
      ? [{ account, wallet: owner, asset: mint, delta, program, decimals, ownerChanged }]
      : [];
  const [had, has] = [before?.amount ?? 0n, after?.amount ?? 0n];
  if (before !== null && after !== null && before.owner !== after.owner)
    return [...change(before.owner, -had, true), ...change(after.owner, has, true)];
  return change((after ?? before)?.owner, has - had, false);
}

/**
 * The assets of which a wallet of ours signed away some. A fee is nothing that can arrive anywhere, so it does not count; the
 * lamports of a token account do, when its owner closes it.
 */
function lostByOurSigners(transaction: ScannedTransaction, ours: Ours): ReadonlySet<string> {
  const { accounts, tokens, feeLamports } = transaction;
  const signers = new Set(
    accounts.flatMap(({ address, signer }) => (signer && ours.kindOf(address) ? [address] : [])),
  );
  if (signers.size === 0) return signers;
  const held = new Set(
    tokens.flatMap(({ account, before }) => (signers.has(before?.owner ?? '') ? [account] : [])),
  );
  const lostLamports = accounts.some(({ address, before, after }, index) => {
    const fee = index === 0 ? feeLamports : 0n;
    return (signers.has(address) || held.has(address)) && after + fee < before;
  });
  const lostTokens = tokens
    .flatMap(tokenChanges)
    .flatMap(({ wallet, delta, asset }) => (delta < 0n && signers.has(wallet) ? [asset] : []));
  return new Set(lostLamports ? [...lostTokens, 'SOL'] : lostTokens);
}

/**
 * Why what arrived by somebody else's hand is not the user's to have; null where it is. The first that holds, `internal` before all of
 * them: whose it is (`hot_wallet`), how it came (`nested_token_account`, `owner_changed`, `not_associated_account`, `asset_changed`), and
 * last what an operator may change (`unknown_mint`, `deposits_off`, `below_minimum`), so that such a reason says that nothing else was wrong.
 */
function reasonAgainst(change: Change, ours: Ours): NotCreditedReason | null {
  const terms = ours.asset(change.asset);
  if (ours.kindOf(change.wallet) === 'hot') return 'hot_wallet';
  if (change.nested === true) return 'nested_token_account';
  if (change.ownerChanged && ours.ownerChangeAllowed !== true) return 'owner_changed';
  if (!isInItsPlace(change, terms, ours)) return 'not_associated_account';
  if (terms !== undefined && isRemade(change, terms)) return 'asset_changed';
  if (terms === undefined) return 'unknown_mint';
  if (!terms.depositsOn) return 'deposits_off';
  return change.delta < terms.minimumDeposit ? 'below_minimum' : null;
}

/** True where the mint is not the one that was listed: its issuer has closed it, and made another one at the same address. */
function isRemade({ program, decimals }: Change, terms: AssetTerms): boolean {
  const isOther = (shown: unknown, listed: unknown): boolean => shown !== null && shown !== listed;
  return isOther(program, terms.program) || isOther(decimals, terms.decimals);
}

/** True for SOL, and for an associated token account under the mint's program of now, or one handed over where that is allowed. */
function isInItsPlace(change: Change, terms: AssetTerms | undefined, ours: Ours): boolean {
  const { account, wallet, asset, ownerChanged } = change;
  const program = change.program ?? terms?.program ?? null;
  if (asset === SOL || program === null) return true;
  return ownerChanged || ours.ataOf(wallet, asset, program) === account;
}

function movement({ signature }: ScannedTransaction, { account, wallet, asset, delta }: Change) {
  return { signature, account, wallet, asset, amount: delta < 0n ? -delta : delta };
}

function spendsOf({ signature, error, accounts }: ScannedTransaction, ours: Ours): readonly Spend[] {
  return accounts
    .filter(({ address, signer }) => signer && ours.kindOf(address) === 'hot')
    .map(({ address }) => ({ signature, wallet: address, error }));
}
