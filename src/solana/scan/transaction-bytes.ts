import { type JsonBytes, Unreadable } from './json-bytes.ts';

/** What of an entry of `transactions` was seen so far. */
interface Seen {
  meta: boolean;
  keys: boolean;
  /** Whether keys are bare strings, without those of lookup tables. */
  bareKeys: boolean;
  /** Whether each meta lists the keys of lookup tables. */
  loadedKeys: boolean;
}

/**
 * Passes an entry of `transactions` and gives the position after it. Throws Unreadable where it lacks what names its wallets in plain
 * text: the keys of all accounts, a meta, both lists of token balances, an owner for each of them; or has a version that may do
 * so in a way of its own.
 */
export function readTransaction(json: JsonBytes, at: number): number {
  const seen: Seen = { meta: false, keys: false, bareKeys: false, loadedKeys: true };
  const next = json.object(at, (value, start, end) => {
    if (json.reads(start, end, 'meta')) return readMeta(json, value, seen);
    if (json.reads(start, end, 'transaction')) return readBody(json, value, seen);
    if (json.reads(start, end, 'version')) return readVersion(json, value);
    return json.value(value);
  });
  if (!seen.meta || !seen.keys || (seen.bareKeys && !seen.loadedKeys)) {
    throw new Unreadable(`the transaction at byte ${at} does not name all of its wallets`);
  }
  return next;
}

function readMeta(json: JsonBytes, at: number, seen: Seen): number {
  let [before, after, loaded] = [false, false, false];
  const next = json.object(at, (value, start, end) => {
    if (json.reads(start, end, 'preTokenBalances')) {
      before = true;
      return json.array(value, (balance) => readTokenBalance(json, balance));
    }
    if (json.reads(start, end, 'postTokenBalances')) {
      after = true;
      return json.array(value, (balance) => readTokenBalance(json, balance));
    }
    if (json.reads(start, end, 'loadedAddresses')) loaded = json.is(value, '{');
    return json.value(value);
  });
  if (!before || !after) throw new Unreadable(`the meta at byte ${at} lacks token balances`);
  seen.meta = true;
  seen.loadedKeys &&= loaded;
  return next;
}

function readTokenBalance(json: JsonBytes, at: number): number {
  let owned = false;
  const next = json.object(at, (value, start, end) => {
    if (json.reads(start, end, 'owner')) owned = json.is(value, '"');
    return json.value(value);
  });
  if (!owned) throw new Unreadable(`the token balance at byte ${at} has no owner`);
  return next;
}

/** The keys are in it (transactionDetails `accounts`) or in its message (`full`). Encodings other than JSON have no object here. */
function readBody(json: JsonBytes, at: number, seen: Seen): number {
  return json.object(at, (value, start, end) => {
    if (json.reads(start, end, 'accountKeys')) return readKeys(json, value, seen);
    if (!json.reads(start, end, 'message') || !json.is(value, '{')) return json.value(value);
    return json.object(value, (inner, innerStart, innerEnd) =>
      json.reads(innerStart, innerEnd, 'accountKeys') ? readKeys(json, inner, seen) : json.value(inner),
    );
  });
}

function readKeys(json: JsonBytes, at: number, seen: Seen): number {
  return json.array(at, (key) => {
    seen.keys = true;
    seen.bareKeys ||= !json.is(key, '{');
    return json.value(key);
  });
}

/** Shapes that we know are those of `legacy`, 0 and 1. */
function readVersion(json: JsonBytes, at: number): number {
  const next = json.value(at);
  const known = ['"legacy"', '0', '1'].some((version) => json.reads(at, next, version));
  if (!known) throw new Unreadable(`the transaction at byte ${at} is of an unknown version`);
  return next;
}
