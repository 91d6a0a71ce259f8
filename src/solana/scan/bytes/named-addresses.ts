import { ADDRESS_TEXT } from '../../../domain/address.ts';
import { type JsonBytes, Unreadable } from './json-bytes.ts';
import type { OnAddress } from './shape.ts';

/**
 * Reads an account key and returns the position after it. A key is an object in transactionDetails `accounts` and in
 * encoding `jsonParsed`, and a string in encoding `json`.
 */
export function walkAccountKey(json: JsonBytes, at: number, onAddress: OnAddress): number {
  const wallet = (value: number): number => walkAddress(json, value, true, onAddress);
  if (!json.is(at, '{')) return wallet(at);
  let hasPubkey = false;
  const next = json.object(at, (value, name) => {
    if (name !== 'pubkey') return json.value(value);
    hasPubkey = true;
    return wallet(value);
  });
  if (hasPubkey) return next;
  throw new Unreadable(`the account key at byte ${at} has no pubkey`);
}

/**
 * Reads a token balance and returns the position after it. Throws Unreadable if owner or mint is absent or null. A
 * parse accepts a missing owner in a failed transaction.
 */
export function walkTokenBalance(json: JsonBytes, at: number, onAddress: OnAddress): number {
  let addressCount = 0;
  const next = json.object(at, (value, name) => {
    if (name === 'programId') return walkAddress(json, value, false, onAddress);
    if (name === 'uiTokenAmount') return json.object(value, (part) => json.value(part));
    if (name !== 'owner' && name !== 'mint') return json.value(value);
    addressCount += 1;
    return walkAddress(json, value, name === 'owner', onAddress);
  });
  if (addressCount === 2) return next;
  throw new Unreadable(`the token balance at byte ${at} has no owner or no mint`);
}

/** Reads `loadedAddresses`. Returns the position after the object, and the number of addresses in it. */
export function walkLoadedAddresses(json: JsonBytes, at: number, onAddress: OnAddress) {
  let [listCount, count] = [0, 0];
  const element = (value: number): number => {
    count += 1;
    return walkAddress(json, value, true, onAddress);
  };
  const next = json.object(at, (value, name) => {
    if (name !== 'writable' && name !== 'readonly') return json.value(value);
    listCount += 1;
    return json.array(value, element);
  });
  if (listCount === 2) return { next, count };
  throw new Unreadable(`the loaded addresses at byte ${at} lack the list \`writable\` or \`readonly\``);
}

function walkAddress(json: JsonBytes, at: number, isWallet: boolean, onAddress: OnAddress): number {
  const end = json.is(at, '"') ? json.textEnd(at + 1) : at;
  if (!ADDRESS_TEXT.test(json.text(at + 1, end)))
    throw new Unreadable(`the value at byte ${at} is not an address`);
  onAddress(at + 1, end, isWallet);
  return end + 1;
}
