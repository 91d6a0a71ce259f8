import { createTransferInstruction } from '@solana/spl-token';
import { TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { fetchTransaction } from '../../../src/solana/history/transaction.ts';
import { SolanaNode } from '../../../src/solana/rpc/node.ts';
import { readBlock, readTransactionsAt } from '../../../src/solana/scan/block.ts';
import { signVersion1 } from '../../conformance/version-1.ts';
import { ataOf, pay, useExchange } from '../../deposits/non-deposits-fixture.ts';
import { shortBlock } from './short-block.ts';

const exchange = useExchange();
let slot: bigint;
beforeAll(async () => {
  slot = await landOfEveryKind();
});

/** One block with a legacy, a version-0 with a lookup table, a version-1, a failed and an unexecuted transaction, and with tokens. */
async function landOfEveryKind(): Promise<bigint> {
  const { bench, stranger, alice, bob } = exchange;
  const { mint, controls } = bench.localnet;
  await bench.localnet.mintTo(mint.address, bob.publicKey.toBase58(), 1n);
  const table = await exchange.lookupTable([alice.publicKey, bob.publicKey]);
  const { blockhash } = await bench.connection.getLatestBlockhash('processed');
  const transfer = pay(stranger, alice.publicKey, 5_000_000n);
  const tokens = createTransferInstruction(
    ataOf(mint.address, stranger.publicKey),
    ataOf(mint.address, bob.publicKey),
    stranger.publicKey,
    7n,
  );
  const v0 = (payer: typeof stranger, lamports: bigint): Buffer => {
    const instructions = [pay(payer, bob.publicKey, lamports), tokens];
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: blockhash,
      instructions,
    });
    const signed = new VersionedTransaction(message.compileToV0Message([table]));
    signed.sign(payer === stranger ? [stranger] : [payer, stranger]);
    return Buffer.from(signed.serialize());
  };
  controls.includeUnpayable(true);
  const poor = signVersion1(exchange.pauper, blockhash, [pay(exchange.pauper, alice.publicKey, 1n)]);
  const raws = [
    (await bench.sign(transfer)).raw,
    v0(stranger, 3n),
    v0(stranger, 10n ** 18n),
    Buffer.from(signVersion1(stranger, blockhash, [transfer]).raw, 'base64'),
    Buffer.from(poor.raw, 'base64'),
  ];
  for (const raw of raws) await bench.connection.sendRawTransaction(raw, { skipPreflight: true });
  const made = controls.produceSlot();
  controls.includeUnpayable(false);
  controls.produceSlots(3);
  return BigInt(made);
}

/** The answer of getBlock with these options. */
async function answer(options: object): Promise<Buffer> {
  const params = [Number(slot), { commitment: 'finalized', maxSupportedTransactionVersion: 1, ...options }];
  return Buffer.from(await (await exchange.bench.post(0, 'getBlock', params)).arrayBuffer());
}

const whole = () => shortBlock(exchange.node, slot, 'finalized');

async function scanned() {
  const bytes = await whole();
  if (bytes === null) throw new Error('the node shows no block');
  return readBlock(bytes, slot);
}

it('a block holds every transaction with its version, success, signers and changes', async () => {
  const { header, transactions } = await scanned();
  expect(header).toMatchObject({ slot, parentSlot: slot - 1n });
  expect(transactions.map(({ version, error }) => [version, error?.slice(0, 19) ?? null])).toEqual([
    ['legacy', null],
    [0, null],
    [0, '{"InstructionError"'],
    [1, null],
    [1, 'AccountNotFound'],
  ]);
  const [, looked, failed, , unexecuted] = transactions;
  const stranger = exchange.stranger.publicKey.toBase58();
  expect(looked?.accounts.filter(({ signer }) => signer).map(({ address }) => address)).toEqual([stranger]);
  const bob = exchange.bob.publicKey.toBase58();
  const held = looked?.tokens.find(({ after }) => after?.owner === bob);
  expect((held?.after?.amount ?? 0n) - (held?.before?.amount ?? 0n)).toBe(7n);
  expect(failed?.accounts[0]).toMatchObject({ address: stranger, signer: true });
  expect((failed?.accounts[0]?.before ?? 0n) - (failed?.accounts[0]?.after ?? 0n)).toBe(5_000n);
  expect(unexecuted?.feeLamports).toBe(0n);
});

it.each(['json', 'jsonParsed', 'base64', 'base58'])('encoding %s yields the same block', async (encoding) => {
  const bytes = await answer({ transactionDetails: 'full', encoding, rewards: false });
  expect(readBlock(bytes, slot)).toEqual(await scanned());
});

it('a second node returns each transaction as the block does', async () => {
  const { transactions } = await scanned();
  const other = new SolanaNode(exchange.bench.localnet.rpcUrls[1] ?? '');
  for (const transaction of transactions)
    expect(await fetchTransaction(other, transaction.signature)).toMatchObject({ slot, transaction });
  await other.close();
});

it('some transactions are read from their byte ranges', async () => {
  const bytes = Buffer.from((await whole()) ?? []);
  const shown = (JSON.parse(bytes.toString()) as { result: { transactions: object[] } }).result.transactions;
  const ranges = [shown[3], shown[1]].map((value) => {
    const text = JSON.stringify(value);
    const start = bytes.indexOf(text);
    return { start, end: start + Buffer.byteLength(text) };
  });
  const { transactions } = await scanned();
  expect(readTransactionsAt(bytes, ranges, slot)).toEqual([transactions[3], transactions[1]]);
});

describe('the block reader refuses', () => {
  it.each(['signatures', 'none'])(
    'a block with transactionDetails %s, which is never an empty one',
    async (details) => {
      const bytes = await answer({ transactionDetails: details, rewards: false });
      expect(() => readBlock(bytes, slot, { node: 'n' })).toThrow(
        /^n getBlock: block \d+: result.transactions/,
      );
    },
  );

  /** The real answer with one change in its second transaction, which succeeded, or in the block. */
  async function changed(change: (transaction: Shown, block: Shown) => void): Promise<() => unknown> {
    const value = JSON.parse(Buffer.from((await whole()) ?? []).toString()) as { result: Shown };
    const transaction = (value.result['transactions'] as Shown[])[1] ?? {};
    change(transaction, value.result);
    return () => readBlock(Buffer.from(JSON.stringify(value)), slot, { node: 'n' });
  }
  type Shown = Record<string, unknown>;
  const meta = (transaction: Shown) => transaction['meta'] as Shown;
  const keys = (one: Shown) => (one['transaction'] as Shown)['accountKeys'] as Shown[];
  const balances = (transaction: Shown) => meta(transaction)['postTokenBalances'] as Shown[];

  it.each<[string, RegExp, (transaction: Shown, block: Shown) => void]>([
    ['no meta', /returns transaction \w+ without meta/, (one) => (one['meta'] = null)],
    ['absent meta', /without meta/, (one) => delete one['meta']],
    ['no success status', /meta.err/, (one) => delete meta(one)['err']],
    ['no token balances', /without token balances/, (one) => (meta(one)['postTokenBalances'] = null)],
    ['absent token balances', /without token balances/, (one) => delete meta(one)['preTokenBalances']],
    ['tokens without an owner', /without the owner/, (one) => delete balances(one)[0]?.['owner']],
    [
      'tokens without an account',
      /of account index 99/,
      (one) => Object.assign(balances(one)[0] ?? {}, { accountIndex: 99 }),
    ],
    ['tokens twice', /two token balances/, (one) => balances(one).push(balances(one)[0] ?? {})],
    ['a missing balance', /for \d+ accounts/, (one) => (meta(one)['postBalances'] as number[]).pop()],
    ['an account twice', /account that occurs twice/, (one) => keys(one).splice(1, 1, keys(one)[0] ?? {})],
    [
      'a garbled signature',
      /unreadable transaction/,
      (one) => Object.assign(one['transaction'] ?? {}, { signatures: ['gar\u0000bage'] }),
    ],
    [
      'a garbled key',
      /unreadable transaction/,
      (one) => Object.assign(keys(one)[0] ?? {}, { pubkey: 'gar\u0000bage' }),
    ],
    ...['mint', 'owner', 'programId'].map((field): [string, RegExp, (transaction: Shown) => void] => [
      `a garbled ${field}`,
      new RegExp(`postTokenBalances.0.${field}`),
      (one) => Object.assign(balances(one)[0] ?? {}, { [field]: 'garbage' }),
    ]),
    [
      'a negative balance',
      /meta.preBalances.0/,
      (one) => Object.assign(meta(one)['preBalances'] ?? [], [-1]),
    ],
    ['a fraction', /meta.fee/, (one) => (meta(one)['fee'] = 0.5)],
    ['no signature', /\(no signature\)/, (one) => (one['transaction'] = { signatures: [], accountKeys: [] })],
    ['no height', /result.blockHeight/, (_one, block) => (block['blockHeight'] = null)],
    [
      'a height that is no JSON number',
      /result.blockHeight/,
      (_one, block) => (block['blockHeight'] = `${2n ** 53n}`),
    ],
    ['no hash', /result.blockhash/, (_one, block) => delete block['blockhash']],
  ])('a block with %s', async (_name, message, change) => {
    const read = await changed(change);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ code: 'NodeFault', node: 'n' }));
  });

  it('a version above the supported one, as a node does', async () => {
    const newer = await changed((one) => (one['version'] = 2));
    expect(newer).toThrow(expect.objectContaining({ code: -32015, reaction: 'stop' }));
    const bytes = await answer({ transactionDetails: 'accounts' });
    expect(() => readBlock(bytes, slot, { maxTransactionVersion: 0 })).toThrow(/version 1/);
  });

  it('json of a transaction with a lookup table, without its loaded addresses', async () => {
    const bytes = await answer({ transactionDetails: 'full', encoding: 'json', rewards: false });
    const text = bytes.toString().replaceAll('"loadedAddresses"', '"somethingElse"');
    expect(() => readBlock(Buffer.from(text), slot)).toThrow(/for \d+ accounts/);
  });

  it('bytes that are neither text nor a transaction', async () => {
    const bytes = Buffer.from((await whole()) ?? []);
    expect(() => readBlock(bytes.subarray(0, 500), slot)).toThrow('the answer is not JSON');
    expect(() => readBlock(Buffer.concat([bytes, Buffer.from([0xff])]), slot)).toThrow(
      'the answer is not JSON',
    );
    const binary = await answer({ transactionDetails: 'full', encoding: 'base64', rewards: false });
    for (const text of ['AAAA', '!'])
      expect(() =>
        readBlock(Buffer.from(binary.toString().replace(/"[\w+/=]+","base64"/, `"${text}","base64"`)), slot),
      ).toThrow(/returns transaction/);
  });
});
