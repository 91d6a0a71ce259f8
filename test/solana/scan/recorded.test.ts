import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConformanceReport, checkRecorded } from '../../../conformance/check.ts';
import { renderReport } from '../../../conformance/report.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recorded-'));
  for (const name of ['blocks', 'transactions']) await mkdir(join(folder, name));
});
afterEach(() => rm(folder, { recursive: true }));

const [A, B, C, D, MINT, PROGRAM] = ['A', 'B', 'C', 'D', 'M', 'P'].map((letter) => letter.repeat(44)) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const [GIFT, FAILED] = ['g'.repeat(88), 'f'.repeat(88)] as const;

/** A gives B 7 lamports and 30 tokens of A, and closes the token account of A; B receives the rent. */
const gift = {
  version: 0,
  transaction: {
    signatures: [GIFT],
    message: { accountKeys: [A, B], header: { numRequiredSignatures: 1 } },
  },
  meta: {
    err: null,
    fee: 5,
    preBalances: [100, 0, 20, 20],
    postBalances: [88, 27, 0, 20],
    loadedAddresses: { writable: [C], readonly: [D] },
    preTokenBalances: [tokenBalance(2, A, '30'), tokenBalance(3, B, '1')],
    postTokenBalances: [tokenBalance(3, B, '31')],
  },
};
const failed = {
  transaction: {
    signatures: [FAILED],
    message: { accountKeys: [A], header: { numRequiredSignatures: 1 } },
  },
  meta: {
    err: 'AccountInUse',
    fee: 5,
    preBalances: [88],
    postBalances: [83],
    loadedAddresses: { writable: [], readonly: [] },
    preTokenBalances: [],
    postTokenBalances: [],
  },
};
const block = {
  blockhash: 'hash',
  previousBlockhash: 'before',
  parentSlot: 8,
  blockHeight: 4,
  blockTime: 1,
  transactions: [gift, failed],
};

function tokenBalance(accountIndex: number, owner: string, amount: string) {
  return { accountIndex, mint: MINT, owner, programId: PROGRAM, uiTokenAmount: { amount } };
}

const known = {
  encoding: 'json',
  parentSlot: 8,
  blockHeight: 4,
  blockTime: 1,
  transactions: 2,
  failed: 1,
  v0: 1,
  pre_token_entries: 2,
  post_token_entries: 1,
  fees: 10,
  native_delta_sum: -10,
  details: [
    {
      signature: GIFT,
      err: null,
      fee: 5,
      fee_payer: A,
      native_changes: { [A]: -12, [B]: 27, [C]: -20 },
      token_changes: [
        { account: C, mint: MINT, owner_before: A, owner_after: null, before: '30', after: null },
        { account: D, mint: MINT, owner_before: B, owner_after: B, before: '1', after: '31' },
      ],
    },
    {
      signature: FAILED,
      err: 'AccountInUse',
      fee: 5,
      fee_payer: A,
      native_changes: { [A]: -5 },
      token_changes: [],
    },
  ],
};

async function check(files: Record<string, unknown>, facts: Record<string, unknown>) {
  for (const [name, value] of Object.entries(files)) {
    const text = JSON.stringify(value);
    await writeFile(join(folder, name), name.endsWith('.gz') ? gzipSync(text) : text);
  }
  await writeFile(join(folder, 'facts.json'), JSON.stringify(facts));
  return checkRecorded(folder);
}

/** A block in which the gift's meta is changed so. */
function giving(change: object): object {
  return { ...block, transactions: [{ ...gift, meta: { ...gift.meta, ...change } }, failed] };
}

function differencesOf({ files }: ConformanceReport): Record<string, readonly string[]> {
  return Object.fromEntries(files.map(({ file, differences }) => [file, differences]));
}

it('the check accepts a folder that matches its facts, in every form and packed', async () => {
  const { parentSlot: _slot, blockHeight: _height, blockTime: _time, ...alone } = known;
  const report = await check(
    {
      'blocks/one.json.gz': block,
      'blocks/two.json': { jsonrpc: '2.0', result: block, id: 5 },
      'blocks/names.json': [
        { jsonrpc: '2.0', id: 1, result: { ...block, transactions: undefined, signatures: [] } },
      ],
      'transactions/both.json': [{ result: { slot: 9, ...gift } }, { result: { slot: 9, ...failed } }],
    },
    {
      'blocks/one.json.gz': { ...known, form: 'result' },
      'blocks/two.json': { ...known, form: 'envelope' },
      'blocks/names.json': { form: 'list of envelopes', encoding: '(signatures only)', signatures: 0 },
      'transactions/both.json': { ...alone, form: 'list of envelopes' },
      'signatures/other.json': { form: 'list' },
    },
  );
  expect(report).toMatchObject({ ok: true, transactions: 6, differences: 0 });
  const counts = { transactions: 2, failed: 1, nativeDeltas: 4, tokenDeltas: 2 };
  expect(report.files).toMatchObject([
    { file: 'blocks/one.json.gz', versions: { '0': 1, legacy: 1 }, ...counts },
    { file: 'blocks/two.json', ...counts },
    { file: 'blocks/names.json', transactions: 0, refused: expect.stringContaining('result.transactions') },
    { file: 'transactions/both.json', ...counts },
  ]);
  expect(renderReport(report).split('\n').at(-1)).toBe('4 files, 6 transactions, 1 refused, 0 differences');
});

describe('the check reports a difference, and fails,', () => {
  const facts = (changes: object) => ({ 'blocks/one.json': { ...known, form: 'result', ...changes } });
  const [first, second] = known.details;
  it.each<[string, object]>([
    ['transactions: 3 by the facts, 2 read', { transactions: 3 }],
    ['failed: 0 by the facts, 1 read', { failed: 0 }],
    ['of version 0: 0', { v0: 0 }],
    ['token balances before: 9', { pre_token_entries: 9 }],
    ['token balances after: 9', { post_token_entries: 9 }],
    ['fees: 11', { fees: 11 }],
    ['sum of all lamports: -9', { native_delta_sum: -9 }],
    ['parent slot: 9', { parentSlot: 9 }],
    ['height: 5', { blockHeight: 5 }],
    ['time: 2', { blockTime: 2 }],
    [`${GIFT}: movements:`, { details: [{ ...first, native_changes: { [A]: -12, [B]: 27 } }, second] }],
    [`${GIFT}: movements:`, { details: [{ ...first, token_changes: [] }, second] }],
    [`${FAILED}: success:`, { details: [first, { ...second, err: null }] }],
    [`${GIFT}: fee payer:`, { details: [{ ...first, fee_payer: B }, second] }],
  ])('%s', async (sentence, changes) => {
    const report = await check({ 'blocks/one.json': block }, facts(changes));
    expect(report.ok).toBe(false);
    expect(report.files[0]?.differences.join('\n')).toContain(sentence);
    expect(renderReport(report)).toContain(`blocks/one.json: ${report.files[0]?.differences[0]}`);
  });

  it('when a file cannot be read, is missing, or is not listed', async () => {
    const report = await check(
      { 'blocks/one.json': { ...block, transactions: [{ ...gift, meta: null }] }, 'blocks/new.json': block },
      { ...facts({}), 'blocks/gone.json': { ...known, form: 'result' } },
    );
    expect(report.files.map(({ file, differences }) => [file, differences.join('\n')])).toEqual([
      ['blocks/one.json', `not read: the file returns transaction ${GIFT} without meta`],
      ['blocks/gone.json', expect.stringContaining('not read: ENOENT')],
      ['blocks/new.json', 'is not in facts.json'],
    ]);
    expect(report.ok).toBe(false);
  });

  it('when bytes that name every wallet in plain text are parsed, despite escapes elsewhere', async () => {
    const { loadedAddresses: _loaded, ...unloaded } = failed.meta;
    const logMessages = ['Memo: "\\ and \n"'];
    const report = await check(
      {
        'blocks/escaped.json': giving({ logMessages }),
        'blocks/loaded.json': { ...block, transactions: [gift, { ...failed, meta: unloaded }] },
        'blocks/other.json': block,
      },
      {
        'blocks/escaped.json': { ...known, form: 'result' },
        'blocks/loaded.json': { ...known, form: 'result' },
        'blocks/other.json': { ...known, form: 'result', encoding: 'base64' },
      },
    );
    expect(differencesOf(report)).toMatchObject({
      'blocks/escaped.json': [],
      'blocks/loaded.json': ['its bytes are not relied on, though they name every wallet'],
      'blocks/other.json': ['its bytes are relied on, though they do not name every wallet'],
    });
    expect(report.files[0]?.scan).toEqual({ watched: 1, parsed: 2 });
  });

  it('when a ledger omits owners but is not early, or an early one needs no leniency', async () => {
    const [needless, early] = ['blocks/block-100000000-excerpt-json.json', 'blocks/block-110130000.json.gz'];
    const ownerless = giving({
      preTokenBalances: [{ ...tokenBalance(2, A, '30'), owner: undefined }],
      postTokenBalances: [],
    });
    const { details: _details, ...counts } = known;
    const earlyFacts = { ...counts, form: 'result', pre_token_entries: 1, post_token_entries: 0 };
    const report = await check(
      { [needless]: block, [early]: ownerless, 'blocks/late.json': ownerless },
      { [needless]: { ...known, form: 'result' }, [early]: earlyFacts, 'blocks/late.json': earlyFacts },
    );
    expect(differencesOf(report)).toEqual({
      [early]: [],
      [needless]: expect.arrayContaining([
        'is read as strictly as the scan reads, and is listed as early',
        'its bytes are relied on, though they do not name every wallet',
      ]),
      'blocks/late.json': [expect.stringContaining('without the owner')],
    });
  });

  it('when a block that must be refused is read', async () => {
    const refused = { form: 'result', encoding: '(signatures only)' };
    const report = await check({ 'blocks/one.json': block }, { 'blocks/one.json': refused });
    expect(report.files).toMatchObject([{ differences: [expect.stringContaining('was read')] }]);
  });

  it('when other encodings of the same transactions are read differently, or claims do not hold', async () => {
    const [plain, parsed] = [
      'blocks/block-254170887-decoded.json.gz',
      'blocks/block-254170887-base64.json.gz',
    ];
    const claimed = 'transactions/tx-3oR9ryME-token-2022-transfer-fee.json';
    const { parentSlot: _slot, blockHeight: _height, blockTime: _time, ...alone } = known;
    const other = { ...block, blockhash: 'another' };
    const report = await check(
      { [plain]: block, [parsed]: other, [claimed]: [{ result: gift }, { result: failed }] },
      {
        [plain]: { ...known, form: 'result' },
        [parsed]: { ...known, form: 'result' },
        [claimed]: { ...alone, form: 'list of envelopes' },
      },
    );
    expect(report.files.map(({ differences }) => differences)).toEqual([
      [],
      [`is not read as ${plain} is`],
      [expect.stringContaining('does not show that a transfer fee')],
    ]);
  });
});
