import { AlikeReader } from './alike.ts';
import { type JsonBytes, type OnText, Unreadable, type VisitMember } from './json-bytes.ts';

/** Versions whose shape is known, as JSON. */
const VERSIONS = ['"legacy"', '0', '1'];

/**
 * Reads entries of a block's `transactions` for the wallets in them: the keys of its accounts and the owners of its token balances, where
 * they stand in plain text.
 */
export class TransactionBytes {
  readonly #json: JsonBytes;
  readonly #onWallet: OnText;
  readonly #onSignature: OnText;
  /** What was seen of the transaction that is being read. `bare`: keys without those of lookup tables; `loaded`: each meta lists those. */
  #seen = { meta: false, keys: false, bare: false, loaded: true };
  #sides = { before: false, after: false, loaded: false };
  readonly #keys: AlikeReader;
  readonly #tokenBalances: AlikeReader;

  /** `onWallet` is told of each text that may be a wallet; others may be among them. `onSignature`: of each signature. */
  constructor(json: JsonBytes, onWallet: OnText, onSignature: OnText) {
    this.#json = json;
    this.#onSignature = onSignature;
    this.#onWallet = onWallet;
    this.#keys = new AlikeReader(json, (at, onText) => walkKey(json, at, onText), onWallet);
    this.#tokenBalances = new AlikeReader(
      json,
      (at, onText) => walkWith(json, 'owner', at, onText),
      onWallet,
    );
  }

  /**
   * Reads the transaction at `at` and gives the position after it. Throws Unreadable where it does not name all its wallets in plain
   * text: without account keys, meta, one of the lists of token balances or the owner in one of them, and in a version
   * that may name them elsewhere.
   */
  transaction(at: number): number {
    this.#seen = { meta: false, keys: false, bare: false, loaded: true };
    const next = this.#json.object(at, this.#member);
    const { meta, keys, bare, loaded } = this.#seen;
    if (meta && keys && (loaded || !bare)) return next;
    throw new Unreadable(`the transaction at byte ${at} does not name all of its wallets`);
  }

  readonly #member: VisitMember = (value, start, end) => {
    const json = this.#json;
    if (json.reads(start, end, 'meta')) return this.#meta(value);
    if (json.reads(start, end, 'transaction')) return json.object(value, this.#memberOfBody);
    const next = json.value(value);
    if (json.reads(start, end, 'version') && !VERSIONS.some((known) => json.reads(value, next, known))) {
      throw new Unreadable(`the version at byte ${value} is unknown`);
    }
    return next;
  };

  /** `accountKeys` stand here (transactionDetails `accounts`) or in the message (`full`); a transaction in base64 is no object. */
  readonly #memberOfBody: VisitMember = (value, start, end) => {
    const json = this.#json;
    if (json.reads(start, end, 'signatures')) return json.value(value, this.#onSignature);
    if (!json.reads(start, end, 'message') || !json.is(value, '{'))
      return this.#memberOfMessage(value, start, end);
    return json.object(value, this.#memberOfMessage);
  };

  readonly #memberOfMessage: VisitMember = (value, start, end) =>
    this.#json.reads(start, end, 'accountKeys')
      ? this.#json.array(value, this.#accountKey)
      : this.#json.value(value);

  readonly #accountKey = (at: number): number => {
    this.#seen.keys = true;
    this.#seen.bare ||= !this.#json.is(at, '{');
    return this.#keys.read(at);
  };

  #meta(at: number): number {
    const sides = { before: false, after: false, loaded: false };
    this.#sides = sides;
    const next = this.#json.object(at, this.#memberOfMeta);
    if (!sides.before || !sides.after) throw new Unreadable(`the meta at byte ${at} lacks token balances`);
    this.#seen.meta = true;
    this.#seen.loaded &&= sides.loaded;
    return next;
  }

  readonly #memberOfMeta: VisitMember = (value, start, end) => {
    const json = this.#json;
    if (json.reads(start, end, 'preTokenBalances')) {
      this.#sides.before = true;
      return json.array(value, this.#tokenBalance);
    }
    if (json.reads(start, end, 'postTokenBalances')) {
      this.#sides.after = true;
      return json.array(value, this.#tokenBalance);
    }
    if (json.reads(start, end, 'preBalances') || json.reads(start, end, 'postBalances'))
      return json.numbers(value);
    if (!json.reads(start, end, 'loadedAddresses')) return json.value(value);
    this.#sides.loaded = json.is(value, '{');
    return json.value(value, this.#onWallet);
  };

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
