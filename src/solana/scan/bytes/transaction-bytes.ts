import { type JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { walkAccountKey, walkLoadedAddresses, walkTokenBalance } from './named-addresses.ts';
import { MembersReader, type ReadValue } from './object-keys.ts';
import { RepeatedShapeReader } from './shape.ts';

/** Versions with a known shape, as JSON. */
const KNOWN_VERSIONS = ['"legacy"', '0', '1'];
/** The status of a successful transaction, as nodes write it. */
const OK_STATUS = '{"Ok":null}';

interface TransactionFacts {
  hasSignatures: boolean;
  hasMessage: boolean;
  /** Keys as objects; keys from lookup tables are included. */
  keyObjectCount: number;
  /** Keys as strings; keys from lookup tables follow in `meta.loadedAddresses`. */
  keyStringCount: number;
  loadedCount: number | null;
  preBalanceCount: number;
  postBalanceCount: number;
  tokenListCount: number;
  err: 'absent' | 'null' | 'shown';
  isStatusOk: boolean;
}

/** Reads entries of a block's `transactions` for wallets in plain text: account keys and owners of token balances. */
export class TransactionBytes {
  readonly #json: JsonBytes;
  readonly #onWallet: OnText;
  #facts = noFacts();
  readonly #keys: RepeatedShapeReader;
  readonly #tokenBalances: RepeatedShapeReader;
  readonly #members: MembersReader;

  /** `onWallet` receives each text that may be a wallet, and possibly others; `onSignature` each signature. */
  constructor(json: JsonBytes, onWallet: OnText, onSignature: OnText) {
    const value: ReadValue = (at) => json.value(at);
    this.#json = json;
    this.#onWallet = onWallet;
    this.#keys = new RepeatedShapeReader(
      json,
      (at, onAddress) => walkAccountKey(json, at, onAddress),
      onWallet,
    );
    this.#tokenBalances = new RepeatedShapeReader(
      json,
      (at, onAddress) => walkTokenBalance(json, at, onAddress),
      onWallet,
    );
    const [meta, body] = [this.#metaMembers(value), this.#bodyMembers(value, onSignature)];
    this.#members = new MembersReader(
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
   * a wallet is not in plain text (see {@link defectOf}), a key is duplicated, or an address is invalid. The same holds
   * for a version that may name wallets elsewhere.
   */
  transaction(at: number): number {
    this.#facts = noFacts();
    const next = this.#members.read(at);
    const defect = defectOf(this.#facts);
    if (defect === null) return next;
    throw new Unreadable(`the transaction at byte ${at} ${defect}`);
  }

  #metaMembers(value: ReadValue): MembersReader {
    const json = this.#json;
    return new MembersReader(
      json,
      {
        err: (at) => this.#err(at),
        status: (at) => this.#status(at),
        preBalances: (at) => {
          const next = json.numbers(at);
          this.#facts.preBalanceCount = json.elementCount;
          return next;
        },
        postBalances: (at) => {
          const next = json.numbers(at);
          this.#facts.postBalanceCount = json.elementCount;
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
  #bodyMembers(value: ReadValue, onSignature: OnText): MembersReader {
    const json = this.#json;
    const accountKeys: ReadValue = (at) => json.array(at, this.#accountKey);
    const header: ReadValue = (at) => json.object(at, value);
    const message = new MembersReader(json, { accountKeys, header }, value);
    return new MembersReader(
      json,
      {
        accountKeys,
        message: (at) => {
          this.#facts.hasMessage = true;
          return message.read(at);
        },
        signatures: (at) => {
          this.#facts.hasSignatures = true;
          return json.value(at, onSignature);
        },
      },
      value,
    );
  }

  #version(at: number): number {
    const next = this.#json.value(at);
    if (KNOWN_VERSIONS.some((known) => this.#json.isText(at, next, known))) return next;
    throw new Unreadable(`the version at byte ${at} is unknown`);
  }

  #err(at: number): number {
    const next = this.#json.value(at);
    this.#facts.err = this.#json.isText(at, next, 'null') ? 'null' : 'shown';
    return next;
  }

  #status(at: number): number {
    const json = this.#json;
    if (json.isText(at, at + OK_STATUS.length, OK_STATUS)) return at + OK_STATUS.length;
    let others = 0;
    let isOk = false;
    const next = json.object(at, (value, name) => {
      const end = json.value(value);
      if (name === 'Ok' && json.isText(value, end, 'null')) isOk = true;
      else others += 1;
      return end;
    });
    this.#facts.isStatusOk = isOk && others === 0;
    return next;
  }

  #tokens(at: number): number {
    this.#facts.tokenListCount += 1;
    return this.#json.array(at, this.#tokenBalance);
  }

  #loaded(at: number): number {
    if (!this.#json.is(at, '{')) return this.#json.value(at);
    const { next, count } = walkLoadedAddresses(this.#json, at, this.#onWallet);
    this.#facts.loadedCount = count;
    return next;
  }

  readonly #accountKey = (at: number): number => {
    if (this.#json.is(at, '{')) this.#facts.keyObjectCount += 1;
    else this.#facts.keyStringCount += 1;
    return this.#keys.read(at);
  };

  readonly #tokenBalance = (at: number): number => this.#tokenBalances.read(at);
}

function noFacts(): TransactionFacts {
  return {
    hasSignatures: false,
    hasMessage: false,
    keyObjectCount: 0,
    keyStringCount: 0,
    loadedCount: null,
    preBalanceCount: 0,
    postBalanceCount: 0,
    tokenListCount: 0,
    err: 'absent',
    // Old nodes return no status.
    isStatusOk: true,
  };
}

/**
 * Why a transaction may have unseen wallets, or an unclear outcome; null if neither applies. A failed transaction may
 * have no balances (SIMD-0290); it deposits nothing.
 */
function defectOf(facts: TransactionFacts): string | null {
  const {
    keyObjectCount: described,
    keyStringCount: bare,
    loadedCount: loaded,
    preBalanceCount: lamportsBefore,
    postBalanceCount: lamportsAfter,
    err,
  } = facts;
  if (!facts.hasSignatures) return 'has no signatures';
  if (facts.tokenListCount < 2) return 'lacks token balances';
  if (err === 'absent' || (err === 'null' && !facts.isStatusOk)) return 'does not show whether it succeeded';
  const hasKeyStrings = bare > 0;
  if (hasKeyStrings === described > 0 || (hasKeyStrings && (loaded === null || !facts.hasMessage)))
    return 'does not name all of its accounts';
  const accounts = described + bare + (hasKeyStrings ? (loaded ?? 0) : 0);
  if (err === 'null' && (lamportsBefore !== accounts || lamportsAfter !== accounts))
    return `has ${lamportsBefore} and ${lamportsAfter} balances for ${accounts} accounts`;
  return null;
}
