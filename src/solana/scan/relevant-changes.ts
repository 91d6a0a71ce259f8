import type { AccountChange, ScannedTransaction, TokenChange } from '../../domain/deposit.ts';

/**
 * The parts of a transaction that concern our wallets, for which `findingOfTransaction` gives the same result as for
 * the whole transaction. `mayBeOurs` must return true for each of our wallets. Returns null if our wallets neither sign
 * the transaction nor have a balance change in it.
 */
export function relevantChanges(
  transaction: ScannedTransaction,
  mayBeOurs: (address: string) => boolean,
): ScannedTransaction | null {
  const isOurs = (owner: string | null | undefined): boolean => typeof owner === 'string' && mayBeOurs(owner);
  const changedAccounts = new Set(
    transaction.accounts.filter(hasChangedBalance).map(({ address }) => address),
  );
  // A token account of ours is included for a change of its lamports alone: they belong to the wallet too.
  const tokens = transaction.tokens.filter(
    (token) =>
      (isOurs(token.before?.owner) || isOurs(token.after?.owner)) &&
      (isChange(token) || changedAccounts.has(token.account)),
  );
  const isTouched = ({ address, signer }: AccountChange): boolean =>
    (signer || changedAccounts.has(address)) && mayBeOurs(address);
  if (!transaction.accounts.some(isTouched) && !tokens.some(isChange)) return null;
  const ownTokenAccounts = new Set(tokens.map(({ account }) => account));
  // The first account pays the fee. It is included even if it is not ours.
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
