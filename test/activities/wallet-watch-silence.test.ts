import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chain } from '../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { useLedger } from '../ledger/support.ts';
import { rpcCalls } from '../solana/rpc-calls.ts';
import { useHotWallet } from './hot-wallet.ts';

/** Nothing that waits for a silent node ends in this file. */
const FOR_EVER_MS = 3_600_000;

const use = useLedger();
const hot = useHotWallet(3, use);
let pool: NodePool;

beforeAll(async () => {
  pool = await openNodePool(hot.localnet.rpcUrls, { timeoutMs: FOR_EVER_MS, probeMs: FOR_EVER_MS });
});
afterAll(() => pool.close());

function watch(): WalletWatch {
  return new WalletWatch({ ledger: use.ledger, chain: new Chain(pool), hotWallet: hot.address });
}

/** These nodes accept every such request, and never answer. */
function silence(nodes: readonly number[], method: string): void {
  for (const node of nodes) hot.localnet.controls.setFault(node, method, { kind: 'no-answer' });
}

describe('a check of the wallet history', () => {
  it.each([0, 1, 2])('does not wait for node %i when two of three nodes answer', async (node) => {
    hot.localnet.controls.produceSlots(200);
    for (const method of ['getEpochInfo', 'getSignaturesForAddress', 'getGenesisHash'])
      silence([node], method);
    const before = await use.ledger.walletHistory.judgedTo(hot.address);
    await watch().check();
    expect(await use.ledger.walletHistory.judgedTo(hot.address)).toBeGreaterThan(before ?? 0n);
  });

  it('finds a spend while one node does not answer', async () => {
    silence([2], 'getSignaturesForAddress');
    const spent = await hot.spend();
    await watch().check();
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
    expect(rows.map(({ subject }) => subject)).toContain(spent);
  });

  it('that took longer than its cache lifetime still serves the callers that wait for it', async () => {
    for (const node of [0, 1, 2])
      hot.localnet.controls.setFault(node, 'getEpochInfo', { kind: 'delay', ms: 3_100 });
    const shared = watch();
    await shared.check();
    const asked = rpcCalls(pool);
    await shared.check();
    expect(rpcCalls(pool)).toBe(asked);
  });
});
