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

/** Sluice's wallets, attempts and asset terms, on which credits depend. */
export interface Ours {
  /** The kind of a watched wallet; undefined if we do not watch it. */
  kindOf(address: string): WatchKind | undefined;
  /** An associated token account. Must not throw: wallet and mint come from other people's transactions. */
  ataOf(wallet: string, mint: string, program: string): string;
  /** The terms of `SOL` or of a mint; undefined if it is not listed. */
  asset(asset: string): AssetTerms | undefined;
  /** True for the signature of an attempt that we composed. A buyer's adopted payment is an ordinary deposit. */
  isAttempt(signature: string): boolean;
  /**
   * Whether the balance of a token account whose owner became a deposit wallet is credited, even if the account is not
   * the associated one. Default: false.
   */
  readonly ownerChangeAllowed?: boolean;
  /**
   * Our wallet whose token account is `owner`; undefined for any other owner. Only audits and reconciliation provide
   * this method, so the scan finds no nested token accounts.
   */
  nestedIn?(owner: string): string | undefined;
}

/**
 * The effects of a finalized block on watched wallets: inflows, credited or not; outflows; and transactions that our
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

/** {@link findingOf} for one transaction. A failed transaction has no inflows, and no outflow except its fee. */
export function findingOfTransaction(transaction: ScannedTransaction, ours: Ours): BlockFinding {
  const changes = changesOf(transaction)
    .flatMap((change) => attributeToWallet(change, ours))
    .filter(({ delta, wallet }) => delta !== 0n && ours.kindOf(wallet) !== undefined);
  const spends = spendsOf(transaction, ours);
  if (changes.length === 0 && spends.length === 0) return NOTHING_FOUND;
  const outflows = changes
    .filter(({ delta }) => delta < 0n)
    .map((change) => ({
      ...movement(transaction, change),
      ownerSigned: isSignedBy(transaction, change.wallet),
    }));
  if (transaction.error !== null) return { inflows: [], outflows, spends };
  const lostAssets = lostByOurSigners(transaction, ours);
  const isOurs = ours.isAttempt(transaction.signature);
  const inflows = changes
    .filter(({ delta }) => delta > 0n)
    .map((change): Inflow => {
      const internal = (isOurs || lostAssets.has(change.asset)) && change.nested !== true;
      return {
        ...movement(transaction, change),
        reason: internal ? 'internal' : reasonAgainst(change, ours),
      };
    });
  return { inflows, outflows, spends };
}

/**
 * The change of one account. A new owner results in two changes: the balance leaves one wallet and enters the other.
 */
interface BalanceDelta {
  readonly account: string;
  readonly wallet: string;
  readonly asset: string;
  readonly delta: bigint;
  readonly program: string | null;
  readonly decimals: number | null;
  readonly ownerChanged: boolean;
  readonly nested?: true;
}

/**
 * Attributes an inflow of a nested token account to its wallet. Its outflows are dropped: the wallet's balances exclude
 * it.
 */
function attributeToWallet(change: BalanceDelta, ours: Ours): readonly BalanceDelta[] {
  const wallet = change.asset === SOL ? undefined : ours.nestedIn?.(change.wallet);
  if (wallet === undefined) return [change];
  return change.delta > 0n ? [{ ...change, wallet, nested: true }] : [];
}

function changesOf({ error, accounts, tokens }: ScannedTransaction): readonly BalanceDelta[] {
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

function tokenChanges({ account, mint, before, after }: TokenChange): readonly BalanceDelta[] {
  const program = after?.program ?? before?.program ?? null;
  const decimals = after?.decimals ?? before?.decimals ?? null;
  const change = (owner: string | null | undefined, delta: bigint, ownerChanged: boolean): BalanceDelta[] =>
    typeof owner === 'string'
      ? [{ account, wallet: owner, asset: mint, delta, program, decimals, ownerChanged }]
      : [];
  const [had, has] = [before?.amount ?? 0n, after?.amount ?? 0n];
  if (before !== null && after !== null && before.owner !== after.owner)
    return [...change(before.owner, -had, true), ...change(after.owner, has, true)];
  return change((after ?? before)?.owner, has - had, false);
}

/** Assets that decreased in our signing wallets, including the lamports of a closed token account but not fees. */
function lostByOurSigners(transaction: ScannedTransaction, ours: Ours): ReadonlySet<string> {
  const { accounts, tokens, feeLamports } = transaction;
  const signers = new Set(
    accounts.flatMap(({ address, signer }) => (signer && ours.kindOf(address) ? [address] : [])),
  );
  if (signers.size === 0) return signers;
  const signerAccounts = new Set(
    tokens.flatMap(({ account, before }) => (signers.has(before?.owner ?? '') ? [account] : [])),
  );
  const lostLamports = accounts.some(({ address, before, after }, index) => {
    const fee = index === 0 ? feeLamports : 0n;
    return (signers.has(address) || signerAccounts.has(address)) && after + fee < before;
  });
  const lostTokens = tokens
    .flatMap(tokenChanges)
    .flatMap(({ wallet, delta, asset }) => (delta < 0n && signers.has(wallet) ? [asset] : []));
  return new Set(lostLamports ? [...lostTokens, 'SOL'] : lostTokens);
}

/**
 * Why an inflow that is not `internal` is not credited; null if it is. The first matching reason applies. Reasons that
 * an operator can change (`unknown_mint`, `deposits_off`, `below_minimum`) come last, so that they imply that every
 * other check passed.
 */
function reasonAgainst(change: BalanceDelta, ours: Ours): NotCreditedReason | null {
  const terms = ours.asset(change.asset);
  if (ours.kindOf(change.wallet) === 'hot') return 'hot_wallet';
  if (change.nested === true) return 'nested_token_account';
  if (change.ownerChanged && ours.ownerChangeAllowed !== true) return 'owner_changed';
  if (!isExpectedAccount(change, terms, ours)) return 'not_associated_account';
  if (terms !== undefined && isRecreated(change, terms)) return 'asset_changed';
  if (terms === undefined) return 'unknown_mint';
  if (!terms.depositsOn) return 'deposits_off';
  return change.delta < terms.minimumDeposit ? 'below_minimum' : null;
}

/** True if the issuer closed the listed mint and recreated it at the same address. */
function isRecreated({ program, decimals }: BalanceDelta, terms: AssetTerms): boolean {
  const isOther = (current: unknown, listed: unknown): boolean => current !== null && current !== listed;
  return isOther(program, terms.program) || isOther(decimals, terms.decimals);
}

/** True for SOL, for an associated token account under the mint's current program, and for an allowed owner change. */
function isExpectedAccount(change: BalanceDelta, terms: AssetTerms | undefined, ours: Ours): boolean {
  const { account, wallet, asset, ownerChanged } = change;
  const program = change.program ?? terms?.program ?? null;
  if (asset === SOL || program === null) return true;
  return ownerChanged || ours.ataOf(wallet, asset, program) === account;
}

function movement({ signature }: ScannedTransaction, { account, wallet, asset, delta }: BalanceDelta) {
  return { signature, account, wallet, asset, amount: delta < 0n ? -delta : delta };
}

function isSignedBy({ accounts }: ScannedTransaction, wallet: string): boolean {
  return accounts.some(({ address, signer }) => signer && address === wallet);
}

function spendsOf({ signature, error, accounts }: ScannedTransaction, ours: Ours): readonly Spend[] {
  return accounts
    .filter(({ address, signer }) => signer && ours.kindOf(address) === 'hot')
    .map(({ address }) => ({ signature, wallet: address, error }));
}
