import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { type Edit, LyingProxy, rpc } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
let proxies: readonly LyingProxy[] = [];
let pair: NodePool;
let three: NodePool;

beforeAll(async () => {
  proxies = fixture.localnet.rpcUrls.map((url) => new LyingProxy(url));
  const urls = await Promise.all(proxies.map((proxy) => proxy.start()));
  three = await openNodePool(urls);
  pair = await openNodePool(urls.slice(0, 2));
});
afterEach(() => {
  for (const proxy of proxies) proxy.beHonest();
});
afterAll(async () => {
  await three?.close();
  await pair?.close();
  for (const proxy of proxies) await proxy.close();
});

/** A wallet that was paid in a finalized block that is not scanned yet. */
async function paid(): Promise<{
  readonly wallet: string;
  readonly signature: string;
  readonly slot: number;
}> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  const signature = await fixture.localnet.airdrop(wallet, 7_000_000n);
  fixture.finalize();
  const params = [signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 }];
  const { result } = await rpc(fixture.localnet.rpcUrls[0] ?? '', { method: 'getTransaction', params });
  return { wallet, signature, slot: result.slot };
}

/** Scans with these nodes for some steps, whatever the result, and then with honest nodes to the tip. */
async function scannedIn(wallet: string, pool: NodePool): Promise<readonly bigint[]> {
  const scanner = new DepositScanner(fixture.deps(pool));
  for (let steps = 0; steps < 8; steps += 1) await scanner.step().catch(() => undefined);
  for (const proxy of proxies) proxy.beHonest();
  fixture.localnet.controls.clearFaults();
  await fixture.scanAll(fixture.scanner());
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
}

/** Returns the block without the transaction. */
function leavingOut(signature: string, slot: number): Edit {
  return (method, params, answer) => {
    if (method !== 'getBlock' || params[0] !== slot || !answer.result) return answer;
    const { signatures, transactions } = answer.result;
    if (signatures) answer.result.signatures = signatures.filter((one: string) => one !== signature);
    if (transactions)
      answer.result.transactions = transactions.filter(
        ({ transaction }: AnyJson) => transaction.signatures[0] !== signature,
      );
    return answer;
  };
}

/** Answers some requests for the block like a node behind a load balancer that lags. */
function laggingAt(slot: number): Edit {
  let left = 2;
  return (method, params, answer) => {
    if (method !== 'getBlock' || params[0] !== slot || left === 0) return answer;
    left -= 1;
    const error = { code: -32004, message: `Block not available for slot ${slot}` };
    return { jsonrpc: '2.0', id: answer.id, error };
  };
}

/** Returns an invented block without transactions for slot `paid`, as the parent of the block in slot `child`. */
function replacing(url: string, paidIn: number, child: number): Edit {
  const blockhash = newAddress();
  const slot = paidIn + 1;
  return async (method, params, answer) => {
    if (method === 'getBlocks' && Array.isArray(answer.result) && params[0] <= paidIn)
      answer.result = [...new Set<number>([...answer.result, slot])].toSorted((a, b) => a - b);
    if (method !== 'getBlock') return answer;
    if (params[0] === child && answer.result)
      Object.assign(answer.result, { parentSlot: slot, previousBlockhash: blockhash });
    if (params[0] !== slot) return answer;
    const { result } = await rpc(url, { method, params: [paidIn, params[1]] });
    const nothing = { ...(result.transactions && { transactions: [] }), signatures: [] };
    return { jsonrpc: '2.0', id: answer.id, result: { ...result, blockhash, ...nothing } };
  };
}

describe('a deposit in a block of one node is not confirmed', () => {
  it.each([
    ['two', 1],
    ['three', 2],
  ])('while the other nodes, of %s in all, do not return the block', async (name, others) => {
    const { wallet, signature, slot } = await paid();
    const [liar, ...honest] = proxies;
    if (liar !== undefined) liar.edit = leavingOut(signature, slot);
    for (const proxy of honest.slice(0, others)) proxy.edit = laggingAt(slot);
    expect(await scannedIn(wallet, name === 'two' ? pair : three)).toEqual([7_000_000n]);
  });

  it('while the other node has lost the block and returns a block with other parents', async () => {
    const { controls, rpcUrls } = fixture.localnet;
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await rpc(rpcUrls[0] ?? '', { method: 'requestAirdrop', params: [wallet, 7_000_000] });
    const slot = controls.produceSlot();
    controls.skipSlots(1);
    const lost = controls.produceSlot();
    fixture.finalize(4);
    const [liar] = proxies;
    if (liar !== undefined) liar.edit = replacing(rpcUrls[0] ?? '', slot, lost);
    controls.setFault(1, 'getBlock', { kind: 'hole', from: lost, to: lost });
    expect(await scannedIn(wallet, pair)).toEqual([7_000_000n]);
  });
});
