import { type JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { walkKey, walkLoaded, walkTokenBalance } from './named-addresses.ts';
import { Members, type ReadValue } from './object-keys.ts';
import { AlikeReader } from './shape.ts';

/** Versions with a known shape, as JSON. */
const VERSIONS = ['"legacy"', '0', '1'];
/** The status of a successful transaction, as nodes write it. */
const OK = '{"Ok":null}';

interface Seen {
  hasSignatures: boolean;
  hasMessage: boolean;
  /** Keys as objects; keys from lookup tables are included. */
  described: number;
  /** Keys as strings; keys from lookup tables follow in `meta.loadedAddresses`. */
  bare: number;
  loaded: number | null;
  lamportsBefore: number;
  lamportsAfter: number;
  tokenLists: number;
  err: 'absent' | 'null' | 'shown';
  isStatusOk: boolean;
}

/** Reads entries of a block's `transactions` for wallets in plain text: account keys and owners of token balances. */
export class TransactionBytes {
  readonly #json: JsonBytes;
  readonly #onWallet: OnText;
  #seen = nothingSeen();
  readonly #keys: AlikeReader;
  readonly #tokenBalances: AlikeReader;
  readonly #members: Members;

  /** `onWallet` receives each text that may be a wallet, and possibly others; `onSignature` each signature. */
  constructor(json: JsonBytes, onWallet: OnText, onSignature: OnText) {
    const value: ReadValue = (at) => json.value(at);
    this.#json = json;
    this.#onWallet = onWallet;
    this.#keys = new AlikeReader(json, (at, onAddress) => walkKey(json, at, onAddress), onWallet);
    this.#tokenBalances = new AlikeReader(
      json,
      (at, onAddress) => walkTokenBalance(json, at, onAddress),
      onWallet,
    );
    const [meta, body] = [this.#metaMembers(value), this.#bodyMembers(value, onSignature)];
    this.#members = new Members(
      json,
      {
        meta: (at) => meta.read(at),
        transaction: (at) => body.read(at),
        version: (at) => this.#version(at),
      },
      value,
    );
  }

  /**
   * Reads the transaction at `at` and returns the position after it. Throws Unreadable if only a parse can judge it:
   * a wallet is not in plain text (see {@link lackOf}), a key is duplicated, or an address is invalid. The same holds
   * for a version that may name wallets elsewhere.
   */
  transaction(at: number): number {
    this.#seen = nothingSeen();
    const next = this.#members.read(at);
    const lack = lackOf(this.#seen);
    if (lack === null) return next;
    throw new Unreadable(`the transaction at byte ${at} ${lack}`);
  }

  #metaMembers(value: ReadValue): Members {
    const json = this.#json;
    return new Members(
      json,
      {
        err: (at) => this.#err(at),
        status: (at) => this.#status(at),
        preBalances: (at) => {
          const next = json.numbers(at);
          this.#seen.lamportsBefore = json.count;
          return next;
        },
        postBalances: (at) => {
          const next = json.numbers(at);
          this.#seen.lamportsAfter = json.count;
          return next;
        },
        preTokenBalances: (at) => this.#tokens(at),
        postTokenBalances: (at) => this.#tokens(at),
        loadedAddresses: (at) => this.#loaded(at),
      },
      value,
    );
  }

  /** `accountKeys` are here (transactionDetails `accounts`) or in the message (`full`); base64 is not an object. */
  #bodyMembers(value: ReadValue, onSignature: OnText): Members {
    const json = this.#json;
    const accountKeys: ReadValue = (at) => json.array(at, this.#accountKey);
    const header: ReadValue = (at) => json.object(at, value);
    const message = new Members(json, { accountKeys, header }, value);
    return new Members(
      json,
      {
        accountKeys,
        message: (at) => {
          this.#seen.hasMessage = true;
          return message.read(at);
        },
        signatures: (at) => {
          this.#seen.hasSignatures = true;
          return json.value(at, onSignature);
        },
      },
      value,
    );
  }

  #version(at: number): number {
    const next = this.#json.value(at);
    if (VERSIONS.some((known) => this.#json.reads(at, next, known))) return next;
    throw new Unreadable(`the version at byte ${at} is unknown`);
  }

  #err(at: number): number {
    const next = this.#json.value(at);
    this.#seen.err = this.#json.reads(at, next, 'null') ? 'null' : 'shown';
    return next;
  }

  #status(at: number): number {
    const json = this.#json;
    if (json.reads(at, at + OK.length, OK)) return at + OK.length;
    let others = 0;
    let isOk = false;
    const next = json.object(at, (value, name) => {
      const end = json.value(value);
      if (name === 'Ok' && json.reads(value, end, 'null')) isOk = true;
      else others += 1;
      return end;
    });
    this.#seen.isStatusOk = isOk && others === 0;
    return next;
  }

  #tokens(at: number): number {
    this.#seen.tokenLists += 1;
    return this.#json.array(at, this.#tokenBalance);
  }

  #loaded(at: number): number {
    if (!this.#json.is(at, '{')) return this.#json.value(at);
    const { next, count } = walkLoaded(this.#json, at, this.#onWallet);
    this.#seen.loaded = count;
    return next;
  }

  readonly #accountKey = (at: number): number => {
    if (this.#json.is(at, '{')) this.#seen.described += 1;
    else this.#seen.bare += 1;
    return this.#keys.read(at);
  };

  readonly #tokenBalance = (at: number): number => this.#tokenBalances.read(at);
}

function nothingSeen(): Seen {
  return {
    hasSignatures: false,
    hasMessage: false,
    described: 0,
    bare: 0,
    loaded: null,
    lamportsBefore: 0,
    lamportsAfter: 0,
    tokenLists: 0,
    err: 'absent',
    // Old nodes return no status.
    isStatusOk: true,
  };
}

/**
 * Why a transaction may have unseen wallets, or an unclear outcome; null if neither applies. A failed transaction may
 * have no balances (SIMD-0290); it deposits nothing.
 */
function lackOf(seen: Seen): string | null {
  const { described, bare, loaded, lamportsBefore, lamportsAfter, err } = seen;
  if (!seen.hasSignatures) return 'has no signatures';
  if (seen.tokenLists < 2) return 'lacks token balances';
  if (err === 'absent' || (err === 'null' && !seen.isStatusOk)) return 'does not show whether it succeeded';
  const isBare = bare > 0;
  if (isBare === described > 0 || (isBare && (loaded === null || !seen.hasMessage)))
    return 'does not name all of its accounts';
  const accounts = described + bare + (isBare ? (loaded ?? 0) : 0);
  if (err === 'null' && (lamportsBefore !== accounts || lamportsAfter !== accounts))
    return `has ${lamportsBefore} and ${lamportsAfter} balances for ${accounts} accounts`;
  return null;
}
