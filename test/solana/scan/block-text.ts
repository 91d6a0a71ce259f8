import { base58 } from '@scure/base';

export type Json = null | boolean | number | string | Json[] | JsonFields;
export interface JsonFields {
  [key: string]: Json;
}

/** A whole number from 0 up to, and without, `below`. */
export type Draw = (below: number) => number;

/** Numbers that look random and are the same for the same seed (mulberry32). */
export function drawFrom(seed: number): Draw {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return Math.floor((((value ^ (value >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Few, so that random text contains them often; from 32 characters up. Every second one is ours. */
export const ADDRESSES = Array.from({ length: 12 }, (_, index) =>
  base58.encode(new Uint8Array(32).fill(90 + index, index < 4 ? 31 - index : 0)),
);
const SIGNATURES = [3, 200, 255].map((byte) => base58.encode(new Uint8Array(64).fill(byte)));
export const OURS = ADDRESSES.filter((_, index) => index % 2 === 0);

const NAMES = [
  'meta',
  'owner',
  'pubkey',
  'result',
  'transactions',
  'accountKeys',
  'postTokenBalances',
  'message',
];
const TEXTS = [
  '',
  '}',
  ']}',
  '{meta:null}',
  '🚀',
  'Ünïcode',
  'null',
  "it's",
  ':',
  ',',
  '[',
  ' ',
  'x'.repeat(90),
];
/** Such as must be escaped. */
const QUOTING = ['"', '","meta":null,"x":"', 'a\\', '\\"', 'tab\t', '\u0000', `"${OURS[0]}"`];
const NUMBERS = [null, true, false, 0, -1.5e-7, 1e21, 2 ** 53];

/** Makes the blocks of one case; `quoting` puts text into them that must be escaped. */
export class BlockMaker {
  readonly #draw: Draw;
  readonly #texts: readonly string[];

  constructor(draw: Draw, { quoting = false } = {}) {
    this.#draw = draw;
    this.#texts = [...NAMES, ...TEXTS, ...ADDRESSES, ...(quoting ? QUOTING : [])];
  }

  /** The complete answer of a node. Numbers of the header are integers or strings. */
  answer(): { id: Json; result: JsonFields & { transactions: JsonFields[] } } {
    const integer = (): Json => (this.one([true, false]) ? this.#draw(1e9) : String(this.#draw(1e9)));
    return {
      id: this.#draw(9),
      result: {
        blockhash: this.one(ADDRESSES),
        previousBlockhash: this.one(ADDRESSES),
        parentSlot: integer(),
        blockHeight: integer(),
        blockTime: this.one([null, integer()]),
        rewards: this.noise(),
        transactions: this.#list(5, () => this.transaction()),
      },
    };
  }

  /** In transactionDetails `accounts`, or `full` in encoding `jsonParsed` or `json`. */
  transaction(): JsonFields {
    const encoding = this.one(['accounts', 'jsonParsed', 'json']);
    const key = (): Json => (encoding === 'json' ? this.one(ADDRESSES) : this.#key());
    const accountKeys = [key(), ...this.#list(4, key)];
    const loadedAddresses = { writable: this.#list(2, () => this.one(ADDRESSES)), readonly: [] };
    const accounts = accountKeys.length + (encoding === 'json' ? loadedAddresses.writable.length : 0);
    const balances = (balance: () => Json) => Array.from({ length: accounts }, balance);
    const err = this.noise();
    const body = encoding === 'accounts' ? { accountKeys } : { message: { ...this.#extra(), accountKeys } };
    return {
      ...this.#extra(),
      meta: {
        ...this.#extra(),
        err,
        ...(err === null && this.#draw(2) === 0 ? { status: { Ok: null } } : {}),
        preBalances: balances(() => this.#draw(1e9)),
        postBalances: balances(() => (this.#draw(9) === 0 ? this.noise() : this.#draw(1e9))),
        preTokenBalances: this.#list(4, () => this.#tokenBalance()),
        postTokenBalances: this.#list(4, () => this.#tokenBalance()),
        logMessages: this.#list(3, () => this.one(this.#texts)),
        ...(encoding === 'accounts' ? {} : { loadedAddresses }),
      },
      transaction: { ...body, signatures: [this.one(SIGNATURES)] },
      version: this.one<Json>(['legacy', 0, 1]),
    };
  }

  noise(depth = 0): Json {
    const kind = this.#draw(depth > 2 ? 2 : 4);
    if (kind === 0) return this.one(NUMBERS);
    if (kind === 1) return this.one(this.#texts);
    const parts = this.#list(3, () => this.noise(depth + 1));
    if (kind === 2) return parts;
    return Object.fromEntries(parts.map((part) => [this.one(this.#texts), part]));
  }

  one<T>(of: readonly T[]): T {
    return of[this.#draw(of.length)] as T;
  }

  #tokenBalance(): Json {
    return {
      ...this.#extra(),
      accountIndex: this.#draw(300),
      mint: this.one(ADDRESSES),
      owner: this.one(ADDRESSES),
      programId: this.one(ADDRESSES),
      uiTokenAmount: { amount: String(this.#draw(1e9)), decimals: 6, uiAmount: this.one(NUMBERS) },
    };
  }

  #key(): Json {
    const writable = this.#draw(9) === 0 ? this.noise() : true;
    return { ...this.#extra(), pubkey: this.one(ADDRESSES), signer: this.one([true, false]), writable };
  }

  /** An unknown member, under a name that may mean something elsewhere. */
  #extra(): JsonFields {
    return this.#draw(6) === 0 ? { [this.one(this.#texts)]: this.noise() } : {};
  }

  #list<T>(most: number, element: () => T): T[] {
    return Array.from({ length: this.#draw(most + 1) }, element);
  }
}

/** How JSON may be written: members in any order and twice, white space, and with `escapes` text that is escaped without need. */
export function write(draw: Draw, value: Json, { escapes = false, doubles = false } = {}): string {
  const space = (): string => (draw(3) === 0 ? (['', ' ', '\n', '\t', '\r\n   '][draw(5)] ?? '') : '');
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const text = (plain: string): string =>
    escapes && draw(12) === 0 ? `"${plain.split('').map(escaped).join('')}"` : JSON.stringify(plain);
  const any = (part: Json): string => {
    if (typeof part === 'string') return text(part);
    if (part === null || typeof part !== 'object') return JSON.stringify(part);
    if (Array.isArray(part))
      return `[${space()}${part.map((one) => any(one) + space()).join(`,${space()}`)}]`;
    const entries = Object.entries(part).toSorted(() => draw(3) - 1);
    const double = entries[draw(entries.length)];
    if (doubles && double !== undefined && draw(20) === 0) {
      entries.splice(draw(entries.length + 1), 0, [double[0], draw(2) === 0 ? null : double[1]]);
    }
    const members = entries.map(([key, one]) => `${text(key)}${space()}:${space()}${any(one)}${space()}`);
    return `{${space()}${members.join(`,${space()}`)}}`;
  };
  return `${space()}${any(value)}${space()}`;
}
