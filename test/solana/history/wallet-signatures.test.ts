import { afterEach, describe, expect, it, vi } from 'vitest';
import { isDomainError } from '../../../src/domain/errors.ts';
import { WalletLists } from '../../../src/solana/history/wallet-signatures.ts';
import { SolanaNode } from '../../../src/solana/rpc/node.ts';
import { type RpcRequest, resultOf, type ScriptedNode, startScriptedNode } from '../rpc-scripted-node.ts';

/** A page of three leaves the slot in which it ends to the next one. */
const BOUNDS = { pageSize: 3, pagesPerCall: 1 };
/** Entries of each wallet, one per slot; five runs read them. */
const LISTED = 9;
const LOOKS = 5;
const HOUR_MS = 3_600_000;
const ALL = Array.from({ length: LISTED }, (_, index) => BigInt(LISTED - index));

const servers: ScriptedNode[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const server of servers.splice(0)) await server.close();
});

async function startNode(): Promise<SolanaNode> {
  const server = await startScriptedNode((asked) => resultOf(asked, JSON.stringify(answerOf(asked))));
  servers.push(server);
  return new SolanaNode(server.url);
}

function answerOf({ method, params }: RpcRequest): unknown {
  if (method === 'getEpochInfo') return { absoluteSlot: LISTED, blockHeight: LISTED, epoch: 0 };
  const [wallet, { before, limit }] = params as [string, { before?: string; limit: number }];
  const below = before === undefined ? LISTED + 1 : Number(before.split(' ').at(-1));
  const slots = Array.from({ length: Math.min(limit, below - 1) }, (_, index) => below - 1 - index);
  return slots.map((slot) => ({ signature: `${wallet} ${slot}`, slot }));
}

function passes(ms: number, { setBackMs }: { readonly setBackMs: number }): void {
  const [elapsed, clock] = [performance.now.bind(performance), Date.now.bind(Date)];
  vi.spyOn(performance, 'now').mockImplementation(() => elapsed() + ms);
  vi.spyOn(Date, 'now').mockImplementation(() => clock() + ms - setBackMs);
}

/** The slots that one run lists; null if it has not read to the end. */
async function look(lists: WalletLists, node: SolanaNode, wallet: string): Promise<readonly bigint[] | null> {
  try {
    return (await lists.readFromNode(node, wallet, 0n, () => false)).entries.map(({ slot }) => slot);
  } catch (error) {
    if (isDomainError(error, 'Unavailable')) return null;
    throw error;
  }
}

async function looksUntilRead(lists: WalletLists, node: SolanaNode, wallet: string): Promise<number> {
  for (let looks = 1; looks <= 2 * LOOKS; looks += 1) {
    const listed = await look(lists, node, wallet);
    if (listed === null) continue;
    expect(listed).toEqual(ALL);
    return looks;
  }
  return Number.POSITIVE_INFINITY;
}

describe('lists that need many runs', () => {
  it('are read to their ends, however many there are', { timeout: 60_000 }, async () => {
    const [node, lists] = [await startNode(), new WalletLists(BOUNDS)];
    let unread = Array.from({ length: 120 }, (_, n) => `wallet-${n}`);
    for (let rounds = 0; unread.length > 0; rounds += 1) {
      expect(rounds).toBeLessThan(10 * LOOKS);
      const left: string[] = [];
      for (const wallet of unread) {
        const listed = await look(lists, node, wallet);
        if (listed === null) left.push(wallet);
        else expect(listed).toEqual(ALL);
      }
      unread = left;
    }
  });

  it('that are abandoned release their cursors after an hour, even if the clock is set back', {
    timeout: 60_000,
  }, async () => {
    const [node, lists] = [await startNode(), new WalletLists(BOUNDS)];
    for (let n = 0; n < 200; n += 1) await look(lists, node, `left-${n}`);
    expect(await looksUntilRead(lists, node, 'late')).toBe(Number.POSITIVE_INFINITY);
    passes(HOUR_MS + 1, { setBackMs: 24 * HOUR_MS });
    expect(await looksUntilRead(lists, node, 'late')).toBe(LOOKS);
  });

  it('use no cursors of lists of other nodes', { timeout: 60_000 }, async () => {
    const [node, other, lists] = [await startNode(), await startNode(), new WalletLists(BOUNDS)];
    for (let n = 0; n < 200; n += 1) await look(lists, other, `endless-${n}`);
    expect(await looksUntilRead(lists, node, 'wallet')).toBe(LOOKS);
  });

  it('are complete for two concurrent callers', async () => {
    const [node, lists] = [await startNode(), new WalletLists(BOUNDS)];
    for (let rounds = 0; rounds < LOOKS - 1; rounds += 1)
      expect(await Promise.all([look(lists, node, 'wallet'), look(lists, node, 'wallet')])).toEqual([
        null,
        null,
      ]);
    const [first] = await Promise.all([look(lists, node, 'wallet'), look(lists, node, 'wallet')]);
    expect(first).toEqual(ALL);
  });
});

it('a list is complete when its next page comes from a backend that orders the entries of a slot differently', async () => {
  const orders = [
    ['6', '5a', '5b', '5c', '4'],
    ['6', '5c', '5b', '5a', '4'],
  ];
  const server = await startScriptedNode((asked) => {
    if (asked.method === 'getEpochInfo') return resultOf(asked, JSON.stringify(answerOf(asked)));
    const { before, limit } = asked.params[1] as { before?: string; limit: number };
    const order = orders[before === undefined ? 0 : 1] ?? [];
    const from = before === undefined ? 0 : order.indexOf(before) + 1;
    const page = order
      .slice(from, from + limit)
      .map((signature) => ({ signature, slot: Number(signature[0]) }));
    return resultOf(asked, JSON.stringify(page));
  });
  servers.push(server);
  const lists = new WalletLists({ pageSize: 3, pagesPerCall: 5 });
  const { entries } = await lists.readFromNode(new SolanaNode(server.url), 'wallet', 0n, () => false);
  expect(entries.map(({ signature }) => signature)).toEqual(['6', '5c', '5b', '5a', '4']);
});
