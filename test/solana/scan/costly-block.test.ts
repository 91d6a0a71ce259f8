import { afterEach, expect, it, vi } from 'vitest';
import { SolanaNode } from '../../../src/solana/rpc/node.ts';
import { WatchSet } from '../../../src/solana/scan/bytes/watch-set.ts';
import { fetchBlock } from '../../../src/solana/scan/searched-block.ts';
import { type ScriptedNode, startScriptedNode } from '../rpc-scripted-node.ts';
import { ADDRESSES } from './block-text.ts';

const MIB = 1_024 * 1_024;
const [OURS = '', STRANGER = ''] = ADDRESSES;

let server: ScriptedNode;
let node: SolanaNode;
afterEach(async () => {
  vi.restoreAllMocks();
  await node.close();
  await server.close();
});

function paying(payee: string, error = ''): string {
  const meta = `"meta":{"err":${error === '' ? 'null' : error},"fee":5000,"preBalances":[0],"postBalances":[1],"preTokenBalances":[],"postTokenBalances":[]}`;
  const body = `"signatures":["${'A'.repeat(88)}"],"accountKeys":[{"pubkey":"${payee}","signer":false}]`;
  return `{"transaction":{${body}},${meta},"version":0}`;
}

/** A block of so many foreign transactions, one with `error`, and a last one that pays a watched wallet. */
function blockOf(transactions: number, error = ''): string {
  const header = `"blockHeight":1,"blockTime":1,"blockhash":"a","parentSlot":1,"previousBlockhash":"b"`;
  const strangers = Array.from({ length: transactions }, () => paying(STRANGER)).join();
  const list = [paying(STRANGER, error), strangers, paying(OURS)].join();
  return `{${header},"transactions":[${list}]}`;
}

it.each<[string, (id: number) => string]>([
  ['a backslash in it', (id) => `{"jsonrpc":"2.0","result":${blockOf(60_000, '"\\\\"')},"id":${id}}`],
  ['more than a result around it', (id) => `{"usage":{"units":9},"result":${blockOf(60_000)},"id":${id}}`],
])(
  'a long block that must be parsed blocks no event loop: with %s it is read in pieces',
  async (_name, answer) => {
    server = await startScriptedNode(({ id }) => ({ body: answer(id) }));
    node = new SolanaNode(server.url);
    const watched = new WatchSet(1);
    watched.add(OURS);
    const parse = vi.spyOn(JSON, 'parse');
    const { retained, candidates, transactions } = await fetchBlock(node, {
      slot: 7n,
      commitment: 'finalized',
      watched,
    });
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(9 * MIB);
    expect([retained.kind, candidates]).toEqual(['names', [OURS]]);
    expect(transactions.map(({ accounts }) => accounts.map(({ address }) => address))).toEqual([[OURS]]);
  },
);
