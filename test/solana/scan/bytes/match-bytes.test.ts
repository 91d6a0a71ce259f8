import { base58 } from '@scure/base';
import { describe, expect, test } from 'vitest';
import { scanBlockBytes } from '../../../../src/solana/scan/bytes/match-bytes.ts';
import { WatchSet } from '../../../../src/solana/scan/bytes/watch-set.ts';
import { hashOfList, signatureListOf, signaturesHashOf } from '../../../../src/solana/scan/listing.ts';

const [OURS, STRANGER, HASH, PARENT] = [1, 2, 3, 4].map((byte) =>
  base58.encode(new Uint8Array(32).fill(byte)),
);

const signature = (letter: string): string => letter.repeat(88);

function transactionOf(wallet: unknown, owner: unknown = STRANGER, accounts = 1): object {
  const balances = Array.from({ length: accounts }, () => 1);
  return {
    meta: {
      err: null,
      preBalances: balances,
      postBalances: balances,
      preTokenBalances: [],
      postTokenBalances: [{ accountIndex: 0, mint: STRANGER, owner, uiTokenAmount: { amount: '1' } }],
    },
    transaction: { accountKeys: [{ pubkey: wallet, signer: false }], signatures: [signature('x')] },
    version: 0,
  };
}

const HEADER = {
  blockHeight: 9,
  blockTime: 1_700_000_000,
  blockhash: HASH,
  parentSlot: 10,
  previousBlockhash: PARENT,
};

function scan(transactions: unknown) {
  return scanText(JSON.stringify({ jsonrpc: '2.0', result: { ...HEADER, transactions }, id: 1 }));
}

/** A transaction with these account keys, as they are written. */
function scanKeys(...keys: readonly string[]) {
  const marked = JSON.stringify({
    result: { ...HEADER, transactions: [transactionOf('here', STRANGER, keys.length)] },
  });
  return scanText(marked.replace('{"pubkey":"here","signer":false}', keys.join()));
}

function scanText(text: string) {
  const watched = new WatchSet(1);
  watched.add(OURS ?? '');
  return { text, seen: scanBlockBytes(Buffer.from(text), watched) };
}

describe('a block', () => {
  test('is searched to its end, even if its last bytes look like the start of a transaction', () => {
    const long = { ...transactionOf(STRANGER), 'a member with a name longer than what is left': 0 };
    const short = { ...transactionOf(OURS), 'a memb': 0 };
    const result = { ...HEADER, transactions: [long, short] };
    expect(scanText(JSON.stringify({ result })).seen).toMatchObject({ mustParse: false, candidates: [OURS] });
  });

  test('of foreign transactions yields its header and no match', () => {
    expect(scan([transactionOf(STRANGER)]).seen).toEqual({
      mustParse: false,
      header: {
        blockhash: HASH,
        parentSlot: 10n,
        previousBlockhash: PARENT,
        height: 9n,
        time: 1_700_000_000n,
      },
      signatureList: signatureListOf([signature('x')]),
      candidates: [],
      hitTransactions: [],
    });
  });

  test('lists its transactions by first signature, in node order', () => {
    const named = (...signatures: readonly string[]): object => {
      const { transaction, ...others } = transactionOf(STRANGER) as { transaction: object };
      return { ...others, transaction: { ...transaction, signatures } };
    };
    const listed = (...names: readonly (readonly string[])[]): string => {
      const { seen } = scan(names.map((signatures) => named(...signatures)));
      return seen.mustParse ? 'must parse' : hashOfList(seen.signatureList);
    };
    const [a, b, z] = ['a', 'b', 'z'].map(signature) as [string, string, string];
    expect(listed([a, z], [b])).toBe(signaturesHashOf([a, b]));
    expect(listed()).toBe(signaturesHashOf([]));
    const others = [listed([a]), listed([b], [a]), listed([a], [b], [z]), listed([], [a], [b])];
    expect(others).not.toContain(signaturesHashOf([a, b]));
    expect(new Set(others).size).toBe(others.length);
  });

  test('reports which transactions name a watched wallet, as account or token owner', () => {
    const named = [transactionOf(OURS), transactionOf(STRANGER, OURS)];
    const { text, seen } = scan([transactionOf(STRANGER), ...named, transactionOf(STRANGER)]);
    if (seen.mustParse) throw new Error('must parse');
    expect(seen.candidates).toEqual([OURS]);
    expect(seen.hitTransactions.map(({ start, end }) => JSON.parse(text.slice(start, end)))).toEqual(named);
  });

  test.each([
    [
      'first',
      [
        { writable: true, pubkey: STRANGER },
        { writable: { a: 1, pubkey: STRANGER }, pubkey: OURS },
      ],
    ],
    [
      'last',
      [
        { pubkey: STRANGER, writable: true },
        { pubkey: OURS, writable: {} },
      ],
    ],
  ])('needs no parse when an account key has an object in place of its %s scalar', (_, accountKeys) => {
    const { seen } = scan([
      { ...transactionOf(STRANGER, STRANGER, 2), transaction: { accountKeys, signatures: [signature('x')] } },
    ]);
    expect(seen).toMatchObject({ mustParse: false, candidates: [OURS] });
  });

  test('reports an address behind a text that is shorter than an address', () => {
    const alike = `{"note":"${STRANGER}","pubkey":"${STRANGER}","signer":true}`;
    const { seen } = scanKeys(alike, `{"note":"x","pubkey":"${OURS}","signer":true}`, alike);
    expect(seen).toMatchObject({ mustParse: false, candidates: [OURS] });
  });

  test.each(['a}b', 'a,b', 'a]b'])(
    'needs no parse when "%s" follows a space, in place of a number',
    (text) => {
      const key = `{"pubkey":"${OURS}","n": "${text}"}`;
      const { seen } = scanKeys(`{"pubkey":"${STRANGER}","n":1}`, key);
      expect(seen).toMatchObject({ mustParse: false, candidates: [OURS] });
    },
  );

  test('needs no parse when a space follows a number, or none does', () => {
    const keys = [1, '23 ', '4567 ', '-1.5e-7'].map((n) => `{"pubkey":"${OURS}","n":${n},"signer":true}`);
    expect(scanKeys(...keys).seen).toMatchObject({ mustParse: false, candidates: [OURS] });
  });

  test.each(['parentSlot', 'blockHeight'] as const)(
    'must be parsed when its %s exceeds every known value',
    (name) => {
      const { text } = scan([transactionOf(STRANGER)]);
      const long = text.replace(`"${name}":${HEADER[name]}`, `"${name}":${2n ** 64n - 1n}`);
      expect(scanText(long).seen).toEqual({ mustParse: true });
    },
  );
});
