import type { AccountChange, ScannedTransaction, TokenChange } from '../../domain/deposit.ts';

/**
 * Keeps only the parts of a transaction that concern our wallets. The rules of deposits (`findingOfTransaction`) give
 * the same result for both, as long as `mayBeOurs` accepts every wallet of ours. Null if nothing is left: our wallets
 * neither sign nor gain nor lose.
 */
export function relevantChanges(
  transaction: ScannedTransaction,
  mayBeOurs: (address: string) => boolean,
): ScannedTransaction | null {
  const isOurs = (owner: string | null | undefined): boolean => typeof owner === 'string' && mayBeOurs(owner);
  const changedAccounts = new Set(
    transaction.accounts.filter(hasChangedBalance).map(({ address }) => address),
  );
  // The lamports in a token account of ours are ours, too.
  const tokens = transaction.tokens.filter(
    (token) =>
      (isOurs(token.before?.owner) || isOurs(token.after?.owner)) &&
      (isChange(token) || changedAccounts.has(token.account)),
  );
  const isTouched = ({ address, signer }: AccountChange): boolean =>
    (signer || changedAccounts.has(address)) && mayBeOurs(address);
  if (!transaction.accounts.some(isTouched) && !tokens.some(isChange)) return null;
  const ownTokenAccounts = new Set(tokens.map(({ account }) => account));
  // The first account pays the fee, and is always kept.
  const accounts = transaction.accounts.filter(
    (account, index) => index === 0 || ownTokenAccounts.has(account.address) || isTouched(account),
  );
  return { ...transaction, accounts, tokens };
}

function hasChangedBalance({ before, after }: AccountChange): boolean {
  return before !== after;
}

function isChange({ before, after }: TokenChange): boolean {
  return (before?.amount ?? 0n) !== (after?.amount ?? 0n) || before?.owner !== after?.owner;
}
