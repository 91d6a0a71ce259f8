import { ADDRESSES, type Draw, type Json, OURS } from './block-text.ts';
import { readableBlock } from './readable-block.ts';

type Fields = Record<string, Json>;

/** An entry of `transactions`: keys described (`accounts`), or bare in a message, with those of lookup tables apart (`json`). */
export interface Changeable {
  meta: {
    err: Json;
    status?: Json;
    preBalances: Json[];
    postBalances: Json[];
    preTokenBalances: Fields[];
    postTokenBalances: Fields[];
    loadedAddresses?: { writable: Json[]; readonly: Json[] };
  };
  transaction: {
    signatures: string[];
    accountKeys?: ({ pubkey: Json } & Fields)[] | undefined;
    message?: { accountKeys: Json[]; header: Fields };
  };
}

export interface ChangeableAnswer {
  result: { transactions: Changeable[] };
}

export const textOf = (answer: ChangeableAnswer): string => JSON.stringify(answer);

/** A realistic block: each transaction pays a watched wallet that it names through a lookup table. */
export function blockOfLookups(transactions = 32): ChangeableAnswer {
  const keys = ADDRESSES.slice(1, 6).filter((address) => !OURS.includes(address));
  const named = [...keys, ...ADDRESSES.filter((address) => !keys.includes(address))];
  const strangers = named.filter((address) => !OURS.includes(address)).slice(0, 4);
  const accounts = [...strangers, ...OURS.slice(0, 2)];
  const holder = (owner: string, amount: string): Fields => ({
    accountIndex: 1,
    mint: ADDRESSES[1] ?? '',
    owner,
    programId: ADDRESSES[3] ?? '',
    uiTokenAmount: { amount, decimals: 6 },
  });
  const entry = (index: number): Changeable => ({
    transaction: {
      signatures: [String.fromCharCode(65 + (index % 8)).repeat(88)],
      accountKeys: accounts.map((pubkey, at) => ({
        pubkey,
        signer: at === 0,
        source: at < 4 ? 'transaction' : 'lookupTable',
      })),
    },
    meta: {
      err: null,
      status: { Ok: null },
      fee: 5_000,
      preBalances: [9, 0, 0, 1, 0, 0],
      postBalances: [1, 0, 0, 1, 4, 4],
      preTokenBalances: [],
      postTokenBalances: [
        holder(strangers[0] ?? '', '1'),
        { ...holder(strangers[1] ?? '', '2'), accountIndex: 2 },
      ],
    } as Changeable['meta'],
  });
  const header = { blockhash: 'a', previousBlockhash: 'b', parentSlot: 1, blockHeight: 1, blockTime: 1 };
  const entries = Array.from({ length: transactions }, (_, index) => ({ ...entry(index), version: 0 }));
  return { result: { transactions: entries, ...header }, id: 1 } as ChangeableAnswer;
}

/** A block that can be read, in either shape. */
export function changeableBlock(draw: Draw): ChangeableAnswer {
  const answer = JSON.parse(readableBlock(draw)) as ChangeableAnswer;
  for (const one of answer.result.transactions) if (draw(2) === 0) bare(one, draw);
  return answer;
}

function bare({ meta, transaction }: Changeable, draw: Draw): void {
  const keys = (transaction.accountKeys ?? []).map(({ pubkey }) => pubkey);
  const own = 1 + draw(keys.length);
  const loaded = keys.slice(own);
  const writable = draw(loaded.length + 1);
  delete transaction.accountKeys;
  transaction.message = { accountKeys: keys.slice(0, own), header: { numRequiredSignatures: 1 } };
  meta.loadedAddresses = { writable: loaded.slice(0, writable), readonly: loaded.slice(writable) };
}

const BAD_ADDRESSES: readonly Json[] = [
  '',
  'x',
  '0'.repeat(44),
  `${'A'.repeat(43)}l`,
  `${'A'.repeat(31)}I`,
  'A'.repeat(45),
  'A'.repeat(31),
  '\u00e9'.repeat(40),
  `${'A'.repeat(40)}"`,
  7,
];
const STATUSES: readonly Json[] = [
  { Ok: null },
  { Ok: 0 },
  {},
  { Err: 'AccountInUse' },
  { Ok: null, Err: 1 },
  null,
];

type Change = (answer: ChangeableAnswer, draw: Draw) => string;

/** Changes that a node may make to an answer; each returns the new text, or the old one if it does not apply. */
export const changes: readonly Change[] = [
  (answer) => textOf(answer),
  onOne((transaction, draw) => {
    const list = pick(draw, listsOf(transaction));
    if (draw(2) === 0) list?.pop();
    else if (list !== undefined && list.length > 0) list.push(list[0] as never);
  }),
  onOne((transaction, draw) => {
    const [holder, key] = pick(draw, addressesIn(transaction)) ?? [];
    if (holder !== undefined && key !== undefined) holder[key] = pick(draw, BAD_ADDRESSES) ?? null;
  }),
  onOne(({ meta }, draw) => {
    meta.err = pick(draw, [null, null, 'AccountInUse']) ?? null;
    meta.status = pick(draw, STATUSES) ?? null;
    if (draw(4) === 0) delete meta.status;
    if (draw(9) === 0) delete (meta as { err?: Json }).err;
  }),
  twice,
  twice,
];

function onOne(change: (transaction: Changeable, draw: Draw) => void): Change {
  return (answer, draw) => {
    const transaction = pick(draw, answer.result.transactions);
    if (transaction !== undefined) change(transaction, draw);
    return textOf(answer);
  };
}

function listsOf({ meta, transaction }: Changeable): readonly unknown[][] {
  const { writable, readonly } = meta.loadedAddresses ?? {};
  const keys = [transaction.accountKeys, transaction.message?.accountKeys, writable, readonly];
  return [...keys, meta.preBalances, meta.postBalances].flatMap((list) => (list === undefined ? [] : [list]));
}

/** Each object or list that holds an address, and where. */
function addressesIn({ meta, transaction }: Changeable): readonly [holder: Fields, key: string][] {
  const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
  const described = (transaction.accountKeys ?? []).map((key): [Fields, string] => [key, 'pubkey']);
  const bareKeys = [transaction.message?.accountKeys ?? [], writable, readonly].flatMap((list) =>
    list.map((_, index): [Fields, string] => [list as unknown as Fields, String(index)]),
  );
  const tokens = [...meta.preTokenBalances, ...meta.postTokenBalances].flatMap((entry) =>
    ['owner', 'mint', 'programId'].map((field): [Fields, string] => [entry, field]),
  );
  return [...described, ...bareKeys, ...tokens];
}

const MARK = 'the name that is there twice';

/** Writes a member of any object in the answer a second time, anywhere in it, with the same value or another one. */
function twice(answer: ChangeableAnswer, draw: Draw): string {
  const object = pick(draw, objectsIn(answer as unknown as Json));
  const entries = Object.entries(object ?? {});
  const [name, value] = pick(draw, entries) ?? [];
  if (object === undefined || name === undefined) return textOf(answer);
  for (const key of Object.keys(object)) delete object[key];
  entries.splice(draw(entries.length + 1), 0, [MARK, draw(2) === 0 ? null : (value ?? null)]);
  Object.assign(object, Object.fromEntries(entries));
  return textOf(answer).replace(MARK, draw(4) === 0 ? escaped(name) : name);
}

function escaped(name: string): string {
  return `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`;
}

function objectsIn(value: Json): readonly Fields[] {
  if (value === null || typeof value !== 'object') return [];
  const inside = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inside : [value, ...inside];
}

function pick<T>(draw: Draw, of: readonly T[]): T | undefined {
  return of.length === 0 ? undefined : of[draw(of.length)];
}
