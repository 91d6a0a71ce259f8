import { BASE58_DIGITS } from '../../src/domain/address.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import type { Chance } from '../chance.ts';

const CHARACTERS = 44;

/** Text of an address's form and length, made sooner than that of 32 bytes. */
export function walletText(chance: Chance): string {
  let text = '';
  for (let index = 0; index < CHARACTERS; index += 1)
    text += BASE58_DIGITS[chance.below(BASE58_DIGITS.length)];
  return text;
}

/** A set of so many wallets. */
export function watchSetOf(wallets: number, chance: Chance): WatchSet {
  const watched = new WatchSet(wallets);
  for (let index = 0; index < wallets; index += 1) watched.add(walletText(chance));
  return watched;
}
