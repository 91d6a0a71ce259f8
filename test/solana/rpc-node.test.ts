import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { reactionTo } from '../../src/solana/rpc/errors.ts';
import {
  getBlock,
  getMultipleAccounts,
  getSignatureStatuses,
  getTransaction,
  sendTransaction,
} from '../../src/solana/rpc/methods.ts';
import { accountsAnswer, textAnswer, u64 } from '../../src/solana/rpc/schemas.ts';
import { type RpcRequest, resultOf, type ScriptedReply, useScriptedNode } from './rpc-scripted-node.ts';

const scripted = useScriptedNode();

const slot = () => scripted.node.call('getSlot', [], u64);
const page = '<!DOCTYPE html><html><body>Bad Gateway</body></html>';

describe('a malformed answer', () => {
  it.each<[string, (asked: RpcRequest) => ScriptedReply, string]>([
    ['an HTML page', () => ({ body: page }), 'the answer is not JSON: it begins with "<!DOCTYPE html>'],
    ['JSON cut short', ({ id }) => ({ body: `{"jsonrpc":"2.0","id":${id},"res` }), 'the answer is not JSON'],
    ['nothing', () => ({ body: '' }), 'the answer is not JSON'],
    ['a bare null', () => ({ body: 'null' }), 'answer: '],
    ['no result', ({ id }) => ({ body: `{"jsonrpc":"2.0","id":${id}}` }), 'result: '],
    ['the answer to another question', () => ({ body: '{"id":77,"result":5}' }), 'the answer has id 77'],
    ['an answer without id', () => ({ body: '{"result":5}' }), 'id: '],
    [
      'an error object without code',
      ({ id }) => ({ body: `{"id":${id},"error":{"message":"x"}}` }),
      'error.code: ',
    ],
    ['another shape', (asked) => resultOf(asked, '{"slot":1}'), 'result: '],
    ['a fraction', (asked) => resultOf(asked, '1.5'), 'result: '],
    ['a page with status 403', () => ({ status: 403, body: page }), 'HTTP 403'],
    ['a redirection', () => ({ status: 302, body: '', headers: { location: '/' } }), 'HTTP 302'],
  ])('is a fault of the node, with the position of the error: %s', async (_name, answer, field) => {
    await scripted.open(answer);
    await expect(slot()).rejects.toMatchObject({
      code: 'NodeFault',
      message: expect.stringContaining(`getSlot: ${field}`),
    });
  });

  it('is a fault that names the field inside a long answer', async () => {
    const account = '{"lamports":1,"owner":"x","executable":false,"data":["AA==","base64"]}';
    const bad = account.replace('"lamports":1', '"lamports":-1');
    await scripted.open((asked) => resultOf(asked, `{"context":{"slot":1},"value":[${account},${bad}]}`));
    await expect(scripted.node.call('getMultipleAccounts', [], accountsAnswer(2))).rejects.toThrow(
      'result.value.1.lamports: ',
    );
  });

  it.each([
    ['bytes are not base64', '["%%%%","base64"]', 1],
    ['accounts are fewer than were requested', '["AA==","base64"]', 2],
  ])('is a fault when its %s', async (_name, data, count) => {
    const account = `{"lamports":1,"owner":"x","executable":false,"data":${data}}`;
    await scripted.open((asked) => resultOf(asked, `{"context":{"slot":1},"value":[${account}]}`));
    const answer = getMultipleAccounts(scripted.node, Array(count).fill('address'));
    await expect(answer).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it.each<[string, (asked: RpcRequest) => string]>([
    [
      'by the code of a skipped slot',
      ({ id }) => `{"id":${id},"error":{"code":-32007,"message":"100/second request limit reached"}}`,
    ],
    ['without an envelope', () => '{"code":-32007,"message":"15/second request limit reached"}'],
    ['as a text', ({ id }) => `{"id":${id},"error":"Too many requests"}`],
    ['by the status', ({ id }) => `{"id":${id},"error":{"code":429,"message":"rate limited"}}`],
    [
      'of computing',
      ({ id }) =>
        `{"id":${id},"error":{"code":429,"message":"Your app has exceeded its compute units per second capacity"}}`,
    ],
  ])('as a rate limit %s is a fault of the node', async (_name, body) => {
    await scripted.open((asked) => ({ body: body(asked) }));
    const error: unknown = await slot().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringContaining('getSlot: the node refused the request because of a request limit: '),
    });
    expect(reactionTo(error)).toBe('demote');
  });

  it('is no fault when it is the error of a node that could not parse the request', async () => {
    await scripted.open(() => ({ body: '{"id":null,"error":{"code":-32700,"message":"Parse error"}}' }));
    await expect(slot()).rejects.toMatchObject({ code: -32700, reaction: 'elsewhere' });
  });
});

describe('numbers', () => {
  it.each(['9007199254740993', '18446744073709551615', '0'])(
    '%s arrives to the last digit',
    async (digits) => {
      await scripted.open((asked) => resultOf(asked, asked.method === 'text' ? `"${digits}"` : digits));
      expect(await scripted.node.call('number', [], u64)).toBe(BigInt(digits));
      expect(await scripted.node.call('text', [], u64)).toBe(BigInt(digits));
    },
  );

  it('a count above 64 bits is a fault', async () => {
    await scripted.open((asked) => resultOf(asked, '18446744073709551616'));
    await expect(slot()).rejects.toMatchObject({ code: 'NodeFault' });
  });
});

describe('a request to a node', () => {
  it('ends at its deadline', async () => {
    await scripted.open(() => 'silent', { timeoutMs: 50 });
    await expect(slot()).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('reads no more bytes than allowed, packed or not', async () => {
    const long = (asked: RpcRequest) => `{"id":${asked.id},"result":"${'x'.repeat(5_000)}"}`;
    const packed = (asked: RpcRequest): ScriptedReply => ({
      body: gzipSync(long(asked)),
      headers: { 'content-encoding': 'gzip' },
    });
    await scripted.open((asked) => (asked.method === 'packed' ? packed(asked) : { body: long(asked) }), {
      maxBytes: 4_000,
    });
    await expect(scripted.node.call('plain', [], textAnswer)).rejects.toThrow('larger than 4000 bytes');
    await expect(scripted.node.call('packed', [], textAnswer)).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('reads the longest answers that honest nodes give', async () => {
    const err = '{"InstructionError":[12,{"Custom":4294967295}]}';
    const status = `{"slot":9007199254740991,"confirmations":null,"err":${err},"status":{"Err":${err}},"confirmationStatus":"finalized"}`;
    await scripted.open((asked) =>
      resultOf(asked, `{"context":{"slot":1},"value":[${Array(256).fill(status).join()}]}`),
    );
    const { value } = await getSignatureStatuses(scripted.node, Array(256).fill('signature'), true);
    expect(value).toHaveLength(256);
  });

  it('accepts gzip, and keeps its connection', async () => {
    const packed = ({ id }: RpcRequest): ScriptedReply => ({
      body: gzipSync(`{"id":${id},"result":5}`),
      headers: { 'content-encoding': 'gzip' },
    });
    await scripted.open(packed, { connections: 1 });
    expect([await slot(), await slot(), await slot()]).toEqual([5n, 5n, 5n]);
    expect(new Set(scripted.server.asked.map(({ fromPort }) => fromPort)).size).toBe(1);
    expect(scripted.server.asked[0]?.headers['accept-encoding']).toBe('gzip');
  });

  it('starts only within the limit of concurrent requests', async () => {
    let now = 0;
    let most = 0;
    await scripted.open(
      async (asked) => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
        return resultOf(asked, '1');
      },
      { connections: 3 },
    );
    await Promise.all(Array.from({ length: 30 }, slot));
    expect(most).toBe(3);
  });

  it('starts only within the rate limit', async () => {
    // The server takes real time, in which an extra request would arrive.
    const inRealTime = setTimeout;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await scripted.open(
        async (asked) => {
          await new Promise((resolve) => inRealTime(resolve, 20));
          return resultOf(asked, '1');
        },
        { requestsPerSecond: 3 },
      );
      const answers = Array.from({ length: 7 }, slot);
      for (const started of [3, 6, 7]) {
        await Promise.all(answers.slice(0, started));
        expect(scripted.server.asked).toHaveLength(started);
        await vi.advanceTimersByTimeAsync(1_000);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    ['seconds', '2', 2_000],
    ['more than a minute', '3600', 60_000],
    ['a date that is past', 'Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['a date to come', 'Wed, 21 Oct 2115 07:28:00 GMT', 60_000],
    ['nonsense', 'soon', null],
  ])('accepts a Retry-After of %s', async (_name, header, wanted) => {
    await scripted.open(() => ({ status: 429, body: '', headers: { 'retry-after': header } }));
    const error: unknown = await slot().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ retryAfterMs: wanted });
  });
});

it.each([
  [{}, 1],
  [{ maxTransactionVersion: 0 }, 0],
])(
  'a request with %j allows no transaction above version %i (SDP, FY, private-channels)',
  async (options, wanted) => {
    await scripted.open((asked) => resultOf(asked, 'null'), options);
    await getBlock(scripted.node, 5n, { commitment: 'finalized', transactionDetails: 'none' });
    await getTransaction(scripted.node, 's');
    for (const { params } of scripted.server.asked)
      expect(params[1]).toMatchObject({ maxSupportedTransactionVersion: wanted });
  },
);

it('the client remembers which methods a node lacks, until the node has them', async () => {
  let old = true;
  const none = ({ id }: RpcRequest) => ({
    body: `{"id":${id},"error":{"code":-32601,"message":"Method not found"}}`,
  });
  await scripted.open((asked) => (old ? none(asked) : resultOf(asked, '1')));
  await expect(slot()).rejects.toMatchObject({ reaction: 'unfit' });
  expect(scripted.node.missingMethods).toEqual(['getSlot']);
  old = false;
  await scripted.node.probe('getSlot', [], z.unknown());
  expect(scripted.node.missingMethods).toEqual([]);
  expect([scripted.node.callCount, scripted.node.probeCount]).toEqual([1, 1]);
});

it('the client sends on at most half of the connections, so that reads pass sends', async () => {
  await scripted.open((asked) => (asked.method === 'sendTransaction' ? 'silent' : resultOf(asked, '5')), {
    connections: 4,
  });
  for (let sends = 0; sends < 10; sends += 1) sendTransaction(scripted.node, 'bytes').catch(() => undefined);
  await vi.waitFor(() => expect(scripted.server.asked).toHaveLength(2), 20_000);
  expect(await slot()).toBe(5n);
  expect(scripted.server.asked.map(({ method }) => method).toSorted()).toEqual([
    'getSlot',
    'sendTransaction',
    'sendTransaction',
  ]);
});
