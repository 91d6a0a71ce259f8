import type { ScannedTransaction, TokenChange } from './deposit.ts';

/**
 * A transaction without what is nothing to our wallets: by the rules of deposits (`findingOfTransaction`) it comes to the same, where no
 * other wallet is ours than `mayBeOurs` says. Null where it comes to nothing: it names wallets of ours, which neither sign nor gain nor
 * lose.
 */
export function essenceOf(
  transaction: ScannedTransaction,
  mayBeOurs: (address: string) => boolean,
): ScannedTransaction | null {
  const isOurs = (owner: string | null | undefined): boolean => typeof owner === 'string' && mayBeOurs(owner);
  const tokens = transaction.tokens.filter(
    ({ before, after }) => isOurs(before?.owner) || isOurs(after?.owner),
  );
  const native = transaction.accounts.filter(({ address }) => mayBeOurs(address));
  const isTouched = native.some(({ signer, before, after }) => signer || before !== after);
  if (!isTouched && !tokens.some(isChange)) return null;
  const held = new Set(tokens.map(({ account }) => account));
  // The first one pays the fee, whosever it is.
  const accounts = transaction.accounts.filter(
    ({ address }, index) => index === 0 || held.has(address) || mayBeOurs(address),
  );
  return { ...transaction, accounts, tokens };
}

function isChange({ before, after }: TokenChange): boolean {
  return (before?.amount ?? 0n) !== (after?.amount ?? 0n) || before?.owner !== after?.owner;
}
