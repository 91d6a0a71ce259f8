import { AlikeReader } from './alike.ts';
import { type JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { Members, type ReadValue } from './members.ts';

/** Versions whose shape is known, as JSON. */
const VERSIONS = ['"legacy"', '0', '1'];

/**
 * Reads entries of a block's `transactions` for the wallets in them: the keys of its accounts and the owners of its token balances, where
 * they stand in plain text.
 */
export class TransactionBytes {
  readonly #json: JsonBytes;
  readonly #onWallet: OnText;
  /**
   * What was seen of the transaction that is being read. `bare`: keys without those of lookup tables; `loaded`: each meta lists
   * those; `names`: lists of signatures.
   */
  #seen = { meta: false, keys: false, bare: false, loaded: true, names: 0 };
  #sides = { before: false, after: false, loaded: false };
  readonly #keys: AlikeReader;
  readonly #tokenBalances: AlikeReader;
  readonly #members: Members;
  readonly #meta: Members;
  readonly #body: Members;

  /** `onWallet` is told of each text that may be a wallet; others may be among them. `onSignature`: of each signature. */
  constructor(json: JsonBytes, onWallet: OnText, onSignature: OnText) {
    const value: ReadValue = (at) => json.value(at);
    const numbers: ReadValue = (at) => json.numbers(at);
    const accountKeys: ReadValue = (at) => json.array(at, this.#accountKey);
    const message = new Members(json, { accountKeys }, value);
    this.#json = json;
    this.#onWallet = onWallet;
    this.#keys = new AlikeReader(json, (at, onText) => walkKey(json, at, onText), onWallet);
    this.#tokenBalances = new AlikeReader(
      json,
      (at, onText) => walkWith(json, 'owner', at, onText),
      onWallet,
    );
    this.#members = new Members(
      json,
      {
        meta: (at) => this.#readMeta(at),
        transaction: (at) => this.#body.read(at),
        version: (at) => this.#version(at),
      },
      value,
    );
    // `accountKeys` stand here (transactionDetails `accounts`) or in the message (`full`); a transaction in base64 is no object.
    this.#body = new Members(
      json,
      {
        accountKeys,
        message: (at) => (json.is(at, '{') ? message.read(at) : json.value(at)),
        signatures: (at) => this.#signatures(at, onSignature),
      },
      value,
    );
    this.#meta = new Members(
      json,
      {
        preBalances: numbers,
        postBalances: numbers,
        preTokenBalances: (at) => this.#balancesOf('before', at),
        postTokenBalances: (at) => this.#balancesOf('after', at),
        loadedAddresses: (at) => this.#loaded(at),
      },
      value,
    );
  }

  /**
   * Reads the transaction at `at` and gives the position after it. Throws Unreadable where it does not name all its wallets in plain
   * text: without account keys, meta, one of the lists of token balances or the owner in one of them, and in a version
   * that may name them elsewhere; and where it has not one list of signatures.
   */
  transaction(at: number): number {
    this.#seen = { meta: false, keys: false, bare: false, loaded: true, names: 0 };
    const next = this.#members.read(at);
    const { meta, keys, bare, loaded, names } = this.#seen;
    if (names !== 1) throw new Unreadable(`the transaction at byte ${at} has ${names} lists of signatures`);
    if (meta && keys && (loaded || !bare)) return next;
    throw new Unreadable(`the transaction at byte ${at} does not name all of its wallets`);
  }

  #signatures(at: number, onSignature: OnText): number {
    this.#seen.names += 1;
    return this.#json.value(at, onSignature);
  }

  #version(at: number): number {
    const next = this.#json.value(at);
    if (VERSIONS.some((known) => this.#json.reads(at, next, known))) return next;
    throw new Unreadable(`the version at byte ${at} is unknown`);
  }

  readonly #accountKey = (at: number): number => {
    this.#seen.keys = true;
    this.#seen.bare ||= !this.#json.is(at, '{');
    return this.#keys.read(at);
  };

  #readMeta(at: number): number {
    const sides = { before: false, after: false, loaded: false };
    this.#sides = sides;
    const next = this.#meta.read(at);
    if (!sides.before || !sides.after) throw new Unreadable(`the meta at byte ${at} lacks token balances`);
    this.#seen.meta = true;
    this.#seen.loaded &&= sides.loaded;
    return next;
  }

  #balancesOf(side: 'before' | 'after', at: number): number {
    this.#sides[side] = true;
    return this.#json.array(at, this.#tokenBalance);
  }

  #loaded(at: number): number {
    this.#sides.loaded = this.#json.is(at, '{');
    return this.#json.value(at, this.#onWallet);
  }

  readonly #tokenBalance = (at: number): number => this.#tokenBalances.read(at);
}

/** A key of transactionDetails `accounts` or encoding `jsonParsed` is described by an object; one of encoding `json` is bare. */
function walkKey(json: JsonBytes, at: number, onKey: OnText): number {
  return json.is(at, '{') ? walkWith(json, 'pubkey', at, onKey) : json.value(at, onKey);
}

/** Passes an object, and tells of the text that is its member `name`. Throws Unreadable where it has none. */
function walkWith(json: JsonBytes, name: string, at: number, onText: OnText): number {
  let told = false;
  const next = json.object(at, (value, start, end) => {
    if (!json.reads(start, end, name)) return json.value(value);
    told = json.is(value, '"');
    return json.value(value, onText);
  });
  if (told) return next;
  throw new Unreadable(`the object at byte ${at} has no ${name}`);
}
