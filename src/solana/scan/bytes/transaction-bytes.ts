import { type JsonBytes, type OnText, Unreadable } from './json-bytes.ts';
import { walkAccountKey, walkLoadedAddresses, walkTokenBalance } from './named-addresses.ts';
import { MembersReader, type ReadValue } from './object-keys.ts';
import { RepeatedShapeReader } from './shape.ts';

/** The JSON text of the transaction versions whose fields are known. */
const KNOWN_VERSIONS = ['"legacy"', '0', '1'];
/** The JSON text that nodes return as the status of a successful transaction. */
const OK_STATUS = '{"Ok":null}';

interface TransactionFacts {
  hasSignatures: boolean;
  hasMessage: boolean;
  /** Number of account keys that are objects, including those from lookup tables. */
  keyObjectCount: number;
  /** Number of account keys that are strings. The keys from lookup tables are in `meta.loadedAddresses`. */
  keyStringCount: number;
  loadedCount: number | null;
  preBalanceCount: number;
  postBalanceCount: number;
  tokenListCount: number;
  err: 'absent' | 'null' | 'present';
  isStatusOk: boolean;
}

/** Finds the wallets in entries of a block's `transactions`: account keys and owners of token balances. */
export class TransactionBytes {
  readonly #json: JsonBytes;
  readonly #onWallet: OnText;
  #facts = noFacts();
  readonly #keys: RepeatedShapeReader;
  readonly #tokenBalances: RepeatedShapeReader;
  readonly #members: MembersReader;

  /** `onWallet` receives every possible wallet, some of them twice. `onSignature` receives each signature. */
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
   * Reads the transaction at `at` and returns the position after it. Throws Unreadable if it must be parsed: a wallet
   * might not be in plain text (see {@link defectOf}), a key is duplicated, an address is invalid, or the version is
   * unknown, so that wallets could be in other fields.
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

  /** `accountKeys` are in `transaction` with transactionDetails `accounts`, and in its message with `full`. */
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
    this.#facts.err = this.#json.isText(at, next, 'null') ? 'null' : 'present';
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
 * The reason why a transaction might name wallets that were not found, or why its result is unclear; null if there is
 * none. A failed transaction can lack balances (SIMD-0290), and cannot contain a deposit.
 */
function defectOf(facts: TransactionFacts): string | null {
  const { keyObjectCount, keyStringCount, loadedCount, preBalanceCount, postBalanceCount, err } = facts;
  if (!facts.hasSignatures) return 'has no signatures';
  if (facts.tokenListCount < 2) return 'lacks a list of token balances';
  if (err === 'absent' || (err === 'null' && !facts.isStatusOk)) return 'does not show whether it succeeded';
  const hasKeyStrings = keyStringCount > 0;
  if (hasKeyStrings === keyObjectCount > 0 || (hasKeyStrings && (loadedCount === null || !facts.hasMessage)))
    return 'does not name all of its accounts';
  const accounts = keyObjectCount + keyStringCount + (hasKeyStrings ? (loadedCount ?? 0) : 0);
  if (err === 'null' && (preBalanceCount !== accounts || postBalanceCount !== accounts))
    return `has ${preBalanceCount} balances before it and ${postBalanceCount} after it, for ${accounts} accounts`;
  return null;
}
