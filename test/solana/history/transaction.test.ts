import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fetchTransaction } from '../../../src/solana/history/transaction.ts';
import { resultOf, useScriptedNode } from '../rpc-scripted-node.ts';
import { shortBlock } from '../scan/short-block.ts';

const scripted = useScriptedNode();

const fetchIt = () => shortBlock(scripted.node, 7n, 'finalized');
const text = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('utf8'));

it('the block request asks for accounts alone, the versions that are read, and no rewards', async () => {
  await scripted.open((asked) => resultOf(asked, 'null'), { maxTransactionVersion: 1 });
  expect(await fetchIt()).toBeNull();
  await shortBlock(scripted.node, 8n, 'confirmed');
  const wanted = {
    transactionDetails: 'accounts',
    encoding: 'jsonParsed',
    rewards: false,
    maxSupportedTransactionVersion: 1,
  };
  expect(scripted.server.asked.map(({ method, params }) => [method, params])).toEqual([
    ['getBlock', [7, { commitment: 'finalized', ...wanted }]],
    ['getBlock', [8, { commitment: 'confirmed', ...wanted }]],
  ]);
  expect(scripted.node.callCount).toBe(2);
});

describe('a result is returned as the whole answer, to the byte', () => {
  const long = `{"logs":"${'x'.repeat(2_000)}"}`;
  it.each<[string, (id: number) => string]>([
    ['as nodes write it', (id) => `{"jsonrpc":"2.0","result":${long},"id":${id}}`],
    ['with its id first', (id) => `{"jsonrpc":"2.0","id":${id},"result":${long}}`],
    ['without a version', (id) => `{"result":${long},"id":${id}}`],
    ['with white space', (id) => ` {\n "id" : ${id} ,\t"result" : ${long}\n}\n`],
    ['with other members', (id) => `{"usage":{"error":1},"result":${long},"id":${id},"context":{"id":5}}`],
    [
      'that speaks of errors',
      (id) => `{"result":{"error":{"code":-32007,"message":"m"},"a":${long}},"id":${id}}`,
    ],
    ['that ends like another', (id) => `{"result":{"a":{"id":9}},"id":${id}}`],
    ['that is short', (id) => `{"result":{},"id":${id}}`],
  ])('%s', async (_name, answer) => {
    await scripted.open(({ id }) => ({ body: answer(id) }));
    expect(text(await fetchIt())).toBe(answer(1));
    expect(scripted.server.asked).toHaveLength(1);
  });

  it('packed with gzip', async () => {
    await scripted.open((asked) => {
      const body = gzipSync(`{"result":${long},"id":${asked.id}}`);
      return { body, headers: { 'content-encoding': 'gzip' } };
    });
    expect(text(await fetchIt())).toBe(`{"result":${long},"id":1}`);
    expect(scripted.server.asked[0]?.headers['accept-encoding']).toBe('gzip');
  });
});

describe('the block request handles an error like any other call', () => {
  const error = `{"code":-32007,"message":"Slot 7 was skipped","data":"${'x'.repeat(2_000)}"}`;
  const block = `{"transactions":[],"padding":"${'x'.repeat(2_000)}"}`;
  it.each<[string, (id: number) => string, object]>([
    ['an error object', (id) => `{"jsonrpc":"2.0","error":${error},"id":${id}}`, { code: -32007 }],
    ['an error beside a block', (id) => `{"error":${error},"result":${block},"id":${id}}`, { code: -32007 }],
    ['an error without our id', () => `{"error":{"code":-32700,"message":"m"},"id":null}`, { code: -32700 }],
    ['the block of another question', () => `{"result":${block},"id":77}`, { message: /id: is 77/ }],
    ['no id', () => `{"result":${block}}`, { message: /id: / }],
    ['no result', (id) => `{"jsonrpc":"2.0","id":${id}}`, { message: /the answer has no result/ }],
    [
      'a block cut short',
      (id) => `{"result":{"transactions":[${block},{"a":{"id":${id}}}`,
      { message: /is not JSON/ },
    ],
    ['nothing', () => '', { message: /is not JSON/ }],
    ['a page', () => '<html></html>', { message: /is not JSON/ }],
  ])('%s', async (_name, answer, wanted) => {
    await scripted.open(({ id }) => ({ body: answer(id) }));
    const { message, ...fields } = wanted as { message?: RegExp };
    const thrown = expect(fetchIt()).rejects;
    await (message === undefined ? thrown.toMatchObject(fields) : thrown.toThrow(message));
  });

  it('a method that it lacks, until it has it', async () => {
    let lacking = true;
    await scripted.open((asked) =>
      lacking
        ? { body: `{"id":${asked.id},"error":{"code":-32601,"message":"Method not found"}}` }
        : { body: `{"result":{},"id":${asked.id}}` },
    );
    await expect(fetchIt()).rejects.toMatchObject({ reaction: 'unfit' });
    expect(scripted.node.missingMethods).toEqual(['getBlock']);
    lacking = false;
    await fetchIt();
    expect(scripted.node.missingMethods).toEqual([]);
  });
});

const [KEY, SIGNATURE] = ['k'.repeat(44), 's'.repeat(88)] as const;

describe('a second node', () => {
  const shown = (slot: string, meta: string) =>
    `{"slot":${slot},"blockTime":"1700000000","version":"legacy","meta":${meta},"transaction":{"signatures":["${SIGNATURE}"],
      "message":{"accountKeys":[{"pubkey":"${KEY}","signer":true,"writable":true,"source":"transaction"}]}}}`;
  const meta = `{"err":null,"status":{"Ok":null},"fee":5000,"preBalances":[18446744073709551615],
    "postBalances":["18446744073709546615"],"preTokenBalances":[],"postTokenBalances":[]}`;

  it('returns one transaction as the block does, to the last digit', async () => {
    await scripted.open((asked) => resultOf(asked, shown('"7"', meta)));
    expect(await fetchTransaction(scripted.node, SIGNATURE)).toMatchObject({
      slot: 7n,
      time: 1_700_000_000n,
      transaction: {
        signature: SIGNATURE,
        error: null,
        accounts: [{ address: KEY, signer: true, before: 2n ** 64n - 1n, after: 2n ** 64n - 5_001n }],
      },
    });
    expect(scripted.server.asked[0]?.params).toEqual([
      SIGNATURE,
      { encoding: 'jsonParsed', commitment: 'finalized', maxSupportedTransactionVersion: 1 },
    ]);
  });

  it('that returns it under another name, or another one, is no confirmation', async () => {
    await scripted.open((asked) => resultOf(asked, shown('7', meta)));
    await expect(fetchTransaction(scripted.node, 'z'.repeat(88))).rejects.toMatchObject({
      code: 'NodeFault',
    });
  });

  it('that hides its effects is no confirmation', async () => {
    await scripted.open((asked) => resultOf(asked, asked.id === 1 ? 'null' : shown('7', 'null')));
    expect(await fetchTransaction(scripted.node, 's')).toBeNull();
    await expect(fetchTransaction(scripted.node, 's')).rejects.toThrow(
      `${new URL(scripted.server.url).host} returns transaction ${SIGNATURE} without meta`,
    );
  });
});
