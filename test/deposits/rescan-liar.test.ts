import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import type { RescanResult } from '../../src/domain/backfill.ts';
import { rangeOf } from '../../src/domain/scan.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { environmentOfRun } from '../support/activity.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { openAlertsIn } from './audit-support.ts';
import { type Edit, isWholeBlock, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);
const BY = { actor: 'ops', reason: 'a user misses it' };
const PAID = 7_000_000n;
/** Longer than a block of this fixture. */
const HELD_BYTES = 100_000;

const opened: NodePool[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((pool) => pool.close()));
});

/** A number of nodes of the fixture; the node at this index lies. */
async function poolWithLiarAt(place: number, count = 3, maxBytes = HELD_BYTES): Promise<NodePool> {
  const [liar = ''] = nodes.pool.nodes.map(({ url }) => url);
  const honest = fixture.localnet.rpcUrls.slice(1, count);
  const pool = await openNodePool([...honest.slice(0, place), liar, ...honest.slice(place)], {
    maxBytes,
  });
  opened.push(pool);
  return pool;
}

async function rescan(pool: NodePool, from: bigint, deps = fixture.deps(pool)): Promise<RescanResult> {
  const to = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
  const order = { ...rangeOf({ from, to }), ...BY };
  return environmentOfRun().run(() => createDepositRescan(deps).rescan(order));
}

/** The node returns every transaction of a block with unchanged balances of this wallet. */
function hiding(wallet: string): Edit {
  return (method, params, answer) => {
    if (!isWholeBlock(method, params)) return answer;
    for (const one of answer.result?.transactions ?? []) hide(one, wallet);
    return answer;
  };
}

function hide({ transaction, meta }: AnyJson, wallet: string): void {
  for (const [index, address] of addressesIn(transaction).entries())
    if (address === wallet) meta.postBalances[index] = meta.preBalances[index];
}

/** The accounts of a transaction, the fee payer first. */
function addressesIn({ accountKeys, message }: AnyJson): readonly string[] {
  const keys: readonly (string | { pubkey: string })[] = accountKeys ?? message.accountKeys;
  return keys.map((key) => (typeof key === 'string' ? key : key.pubkey));
}

/** The node names this wallet as the receiver of every payment of a block. */
function turnedTo(wallet: string): Edit {
  return (method, params, answer) => {
    if (!isWholeBlock(method, params)) return answer;
    for (const { transaction } of answer.result?.transactions ?? [])
      for (const key of transaction.accountKeys) if (key.writable && !key.signer) key.pubkey = wallet;
    return answer;
  };
}

/** The same, in answers longer by that many bytes. */
function padded(lie: Edit, bytes: number): Edit {
  return (method, params, answer) => {
    const lied = lie(method, params, answer) as AnyJson;
    return isWholeBlock(method, params) && lied.result
      ? { ...lied, result: { ...lied.result, pad: 'x'.repeat(bytes) } }
      : lied;
  };
}

/** Pays a wallet and scans the block as the lying node alone returns it; returns its first slot. */
async function scanned(wallet: string, lie: Edit): Promise<bigint> {
  const from = BigInt(fixture.localnet.controls.produceSlot());
  await fixture.localnet.airdrop(wallet, PAID);
  fixture.finalize();
  nodes.liar.edit = lie;
  await fixture.scanAll(new DepositScanner(fixture.deps(await poolWithLiarAt(0, 1))));
  return from;
}

/** A watched wallet whose payment a node hid from the scan. */
async function hidden(): Promise<{ readonly wallet: string; readonly from: bigint }> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  const from = await scanned(wallet, hiding(wallet));
  expect(await amountsOf(wallet)).toEqual([]);
  return { wallet, from };
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
}

async function missed(): Promise<readonly string[]> {
  return openAlertsIn(fixture, 'deposit_missed');
}

describe('a deposit that one node of three hid from the scan and still hides', () => {
  it.each([0, 1, 2])('is found by the rescan at each place in the order of nodes: %i', async (place) => {
    const { wallet, from } = await hidden();
    const pool = await poolWithLiarAt(place);
    expect(await rescan(pool, from)).toMatchObject({ found: 1 });
    expect(await amountsOf(wallet)).toEqual([PAID]);
    const [deposit] = await fixture.depositsOf(wallet);
    expect(await missed()).toContain(deposit?.signature);
    expect(await rescan(pool, from)).toMatchObject({ found: 0 });
    expect(await fixture.confirm()).toBe(1);
  });

  it('is found while another node does not answer', async () => {
    const { wallet, from } = await hidden();
    const pool = await poolWithLiarAt(0);
    fixture.localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
    await rescan(pool, from);
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });

  it('waits for a second node that returns the whole block, however many nodes list its transactions', async () => {
    const { wallet, from } = await hidden();
    const pool = await poolWithLiarAt(0);
    const { controls } = fixture.localnet;
    controls.setFault(1, 'getBlock', { kind: 'http', status: 503 });
    const busy = { code: -32005, message: 'Node is behind' };
    nodes.liar.edit = (method, params, { id, ...answer }) =>
      isWholeBlock(method, params) ? { id, jsonrpc: '2.0', error: busy } : { id, ...answer };
    const few = { code: 'NoHealthyNode', message: expect.stringContaining('too few nodes return block') };
    await expect(rescan(pool, from)).rejects.toMatchObject(few);
    expect(await amountsOf(wallet)).toEqual([]);
    nodes.liar.beHonest();
    await rescan(pool, from);
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });

  it('waits for a second node that returns the block, where the others do not answer', async () => {
    const { wallet, from } = await hidden();
    const pool = await poolWithLiarAt(0);
    const { controls } = fixture.localnet;
    for (const away of [1, 2]) controls.setFault(away, 'getBlock', { kind: 'http', status: 503 });
    await expect(rescan(pool, from)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    controls.clearFaults();
    await rescan(pool, from);
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });

  it('is found where the third node has pruned the block', async () => {
    const { wallet, from } = await hidden();
    const pool = await poolWithLiarAt(0);
    const { slot } = fixture.localnet.controls.chain.at('finalized');
    fixture.localnet.controls.setFault(2, '*', { kind: 'history-from', slot });
    await rescan(pool, from);
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });

  it('is recorded, and waits for a quorum, where two nodes contradict each other about the whole block', async () => {
    const { wallet, from } = await hidden();
    const pool = await poolWithLiarAt(0, 2);
    const inBlocks = nodes.liar.edit;
    nodes.liar.edit = (method, params, answer) => {
      if (method === 'getTransaction' && answer.result) hide(answer.result, wallet);
      return inBlocks(method, params, answer);
    };
    expect(await rescan(pool, from)).toMatchObject({ found: 1 });
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: PAID, state: 'pending' }]);
  });

  it('is found by a single configured node, once that node returns it', async () => {
    const { wallet, from } = await hidden();
    const alone = await poolWithLiarAt(0, 1);
    expect(await rescan(alone, from)).toMatchObject({ found: 0 });
    nodes.liar.beHonest();
    expect(await rescan(alone, from)).toMatchObject({ found: 1 });
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });

  it('is found in a closed gap', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const from = BigInt(fixture.localnet.controls.produceSlot());
    await fixture.localnet.airdrop(wallet, PAID);
    const to = BigInt(fixture.localnet.controls.produceSlot());
    fixture.finalize();
    const hole = { kind: 'hole', from: Number(from), to: Number(to) } as const;
    for (const node of [0, 1, 2]) fixture.localnet.controls.setFault(node, '*', hole);
    await fixture.scanAll(fixture.scanner());
    await fixture.closeGap();
    await fixture.scanAll(fixture.scanner());
    fixture.localnet.controls.clearFaults();
    nodes.liar.edit = hiding(wallet);
    await rescan(await poolWithLiarAt(0), from);
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });
});

/** A wallet of ours whose payment the node invents now; the blocks were scanned without it. */
async function victim(
  lie: (wallet: string) => Edit,
): Promise<{ readonly wallet: string; readonly from: bigint }> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  const from = await scanned(newAddress(), (_method, _params, answer) => answer);
  nodes.liar.edit = lie(wallet);
  return { wallet, from };
}

describe('a deposit that one node invents in a rescan', () => {
  it.each([
    ['in an answer that is held in memory', 0],
    ['in an answer that is too long to hold', HELD_BYTES],
  ])('is pending, and is never credited, as a quorum denies it: %s', async (_name, padding) => {
    const { wallet, from } = await victim((paid) => padded(turnedTo(paid), padding));
    await rescan(await poolWithLiarAt(0), from);
    await fixture.confirm();
    const deposits = await fixture.depositsOf(wallet);
    expect(deposits.length).toBeGreaterThan(0);
    expect(deposits.filter(({ state }) => state !== 'pending')).toEqual([]);
  });
});

function watch(address: string): Promise<unknown> {
  return fixture.ledger.addresses.import([{ address, path: `m/${address}` }]);
}

describe('a rescan finds a wallet that is added', () => {
  it.each([
    ['held', HELD_BYTES],
    ['too long to hold', 900],
  ])('between the answers of two nodes, which are %s', async (_name, maxBytes) => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const from = await scanned(wallet, (_method, _params, answer) => answer);
    const pool = await poolWithLiarAt(1, 2, maxBytes);
    const deps = fixture.deps(pool, { maxAgeMs: 0 });
    let asked = false;
    nodes.liar.edit = async (method, params, answer) => {
      if (!isWholeBlock(method, params) || !JSON.stringify(answer).includes(wallet) || asked) return answer;
      asked = true;
      await sleep(300);
      await watch(wallet);
      await deps.matcher.watch();
      return answer;
    };
    // The next attempt requests again each answer that was too long to hold.
    await Promise.allSettled([rescan(pool, from, deps)]);
    await rescan(pool, from, deps);
    expect(asked).toBe(true);
    expect(await amountsOf(wallet)).toEqual([PAID]);
  });
});
