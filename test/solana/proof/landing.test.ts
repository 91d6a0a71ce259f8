import { afterEach, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { rpc } from '../../../devkit/localstack/rpc.ts';
import { Chain } from '../../../src/solana/chain.ts';
import type { SolanaNode } from '../../../src/solana/rpc/node.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { readMint, transferFee } from '../../../src/solana/tokens/mint.ts';
import { readTokenAccount } from '../../../src/solana/tokens/token-account.ts';
import { assembleTransaction, composeTransfer, type TokenTransfer } from '../../../src/solana/tx/transfer.ts';
import { until } from '../../support/until.ts';
import { recordProgress, useLandingFixture } from '../landing-fixture.ts';
import { recordCalls } from '../rpc-calls.ts';

const fixture = useLandingFixture();

afterEach(() => vi.restoreAllMocks());

/** The answer of a real node about a finalized transaction. */
async function readRaw(signature: string): Promise<unknown> {
  const options = { encoding: 'base64', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
  return rpc(fixture.localnet.rpcUrls[0] ?? '', 'getTransaction', [signature, options]);
}

async function tokenSide(
  mint: string,
): Promise<TokenTransfer & { size: number; fee: (amount: bigint) => Promise<bigint | null> }> {
  const info = readMint(mint, (await fixture.chain.accounts([mint])).accounts[0] ?? null);
  const { program, decimals } = info;
  const fee = async (amount: bigint) => transferFee(info, amount, await fixture.chain.epoch());
  return {
    mint,
    program,
    decimals,
    createAta: true,
    expectedFee: null,
    hookAccounts: [],
    size: info.ataSize,
    fee,
  };
}

/** How often the node has received bytes since. */
function countSends(node: SolanaNode): () => number {
  const call = vi.spyOn(node, 'call');
  return () => call.mock.calls.filter(([method]) => method === 'sendTransaction').length;
}

describe('an attempt on its way', () => {
  it('has the height and lifetime of its blockhash from the block, past skipped slots too', async () => {
    fixture.localnet.controls.skipSlots(3);
    fixture.localnet.controls.produceSlots(3);
    const life = await new Chain(fixture.pool).latestBlockhash();
    expect(life.lastValidBlockHeight).toBe(life.height + 150n);
    expect(life.slot).toBeGreaterThan(life.height);
  });

  it('lands, is confirmed first, and costs the planned fee', async () => {
    const destination = newAddress();
    const sent = await fixture.attempt(destination, 5_000_000n);
    const { progress, hooks } = recordProgress();
    const { verdict, evidence, spending } = await fixture.withBlocks(fixture.watcher.watch(sent, hooks));
    expect(verdict.kind).toBe('landed');
    expect(progress).toContain('confirmed');
    expect(evidence.outcomeConfirmedBy).toHaveLength(1);
    expect(spending).toEqual({
      feeLamports: sent.feeLamports,
      spentLamports: 5_000_000n + sent.feeLamports,
      tokenChanges: new Map(),
    });
    expect(await fixture.lamportsOf(destination)).toBe(5_000_000n);
  });

  it('creates a token account with the rent of its real size and the declared transfer fee', async () => {
    const side = await tokenSide(fixture.localnet.feeMint.address);
    const destination = newAddress();
    const expectedFee = await side.fee(1_000_000n);
    expect(expectedFee).toBe(10_000n);
    const sent = await fixture.attempt(destination, 1_000_000n, { ...side, expectedFee });
    const before = await fixture.lamportsOf(fixture.signer.address);
    const { verdict, spending } = await fixture.withBlocks(
      fixture.watcher.watch(sent, recordProgress().hooks),
    );
    expect(verdict.kind).toBe('landed');
    const ata = deriveAta(destination, side.mint, side.program);
    const [account = null] = (await fixture.chain.accounts([ata])).accounts;
    expect(account?.data.length).toBe(side.size);
    expect(readTokenAccount(ata, account)).toMatchObject({ amount: 990_000n, owner: destination });
    const rent = await fixture.chain.rentMinimum(side.size);
    const spent = before - (await fixture.lamportsOf(fixture.signer.address));
    expect(spending.spentLamports).toBe(spent);
    expect(spent).toBe(rent + (spending.feeLamports ?? 0n));
  });

  it('fails with the error of the chain', async () => {
    const side = await tokenSide(fixture.localnet.mint.address);
    const good = await fixture.attempt(newAddress(), 1n, side);
    const lifeOf = { ...good };
    const message = composeTransfer({
      asset: side.mint,
      amount: 2n ** 63n,
      source: fixture.signer.address,
      destination: newAddress(),
      memo: null,
      token: side,
      computeUnitLimit: 100_000,
      computeUnitPriceMicroLamports: 1_000n,
      blockhash: good.blockhash,
    });
    const tooMuch = { ...lifeOf, ...assembleTransaction(message, await fixture.signer.sign(message)) };
    const { verdict } = await fixture.withBlocks(fixture.watcher.watch(tooMuch, recordProgress().hooks));
    expect(verdict).toMatchObject({ kind: 'failed', error: expect.stringContaining('"Custom":1') });
  });

  it('is reported as dropped by a fork, and lands again from the same bytes (thirdweb engine)', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    const { progress, hooks } = recordProgress();
    const { controls } = fixture.localnet;
    const end = fixture.watcher.watch(sent, hooks);
    const isIncluded = () => controls.chain.ledger.record(sent.signature) !== undefined;
    await until(() => {
      if (!isIncluded()) controls.produceSlot();
      return isIncluded();
    });
    // One block above confirms it. More of them, while the watcher is slow to ask, would put it out of reach of the fork.
    controls.produceSlot();
    await until(() => progress.includes('confirmed'));
    controls.fork(3);
    await until(() => progress.includes('sending'));
    expect((await fixture.withBlocks(end)).verdict.kind).toBe('landed');
  });

  it('is no longer watched after an abort, and causes no more requests', async () => {
    const { hooks, abort } = recordProgress();
    const end = fixture.watcher.watch(await fixture.attempt(newAddress(), 5_000_000n), hooks);
    abort.abort(new Error('worker stops'));
    await expect(end).rejects.toThrow('worker stops');
  });
});

describe('the bytes of an attempt', () => {
  it('are sent to a node once at a time: while one node does not answer, only the others get them again', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    fixture.localnet.controls.setFault(1, 'sendTransaction', { kind: 'no-answer' });
    const sends = fixture.pool.nodes.map((node) => countSends(node));
    const { hooks, abort } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => (sends[0]?.() ?? 0) >= 5);
    expect(sends[1]?.()).toBe(1);
    abort.abort(new Error('enough'));
    await expect(end).rejects.toThrow('enough');
  });

  it('are held with the reasons of the nodes when a quorum rejects them, not when one does, and land once accepted', async () => {
    const attempt = await fixture.attempt(newAddress(), 5_000_000n);
    const { progress, hooks } = recordProgress();
    const refusal = {
      kind: 'error',
      code: -32003,
      message: 'Transaction signature verification failure',
    } as const;
    fixture.localnet.controls.setFault(0, 'sendTransaction', refusal);
    fixture.localnet.controls.setFault(1, 'sendTransaction', { kind: 'drop-send' });
    const sends = fixture.pool.nodes.map(countSends);
    const outcome = fixture.watcher.watch(attempt, hooks);
    await until(() => sends.every((count) => count() > 2));
    expect(progress).toEqual([]);
    fixture.localnet.controls.clearFaults(1);
    fixture.localnet.controls.setFault(1, 'sendTransaction', refusal);
    await until(() => progress.length > 0);
    expect(progress[0]).toMatch(/^held: a quorum of nodes refuses the bytes of the transaction: /);
    for (const { name } of fixture.pool.nodes)
      expect(progress[0]).toContain(`${name}: sendTransaction: -32003`);
    fixture.localnet.controls.clearFaults();
    expect((await fixture.withBlocks(outcome)).verdict.kind).toBe('landed');
    expect(progress).toEqual([progress[0], 'sending', 'confirmed']);
  });

  it('are not resent past their last height once a quorum finalized it', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, 'getBlock', { kind: 'null' });
    fixture.localnet.controls.setFault(0, 'getBlockHeight', { kind: 'result', result: 10_000 });
    const asked: string[] = [];
    const stop = recordCalls(fixture.pool, asked);
    const rounds = (method: string, wanted: number) =>
      until(() => asked.filter((one) => one === method).length >= wanted);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    asked.length = 0;
    await rounds('sendTransaction', 6);
    fixture.localnet.controls.produceSlots(200);
    asked.length = 0;
    await rounds('getBlockHeight', 6);
    asked.length = 0;
    await rounds('getSignatureStatuses', 40);
    expect(asked).not.toContain('sendTransaction');
    stop();
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict).toEqual({ kind: 'dead' });
  });
});

describe('an attempt that one node alone reports as finalized', () => {
  it('is held with the nodes named, and lands as soon as a second node returns it', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    for (const node of [0, 1])
      fixture.localnet.controls.setFault(node, 'getTransaction', { kind: 'http', status: 503 });
    const { progress, hooks } = recordProgress();
    const end = fixture.impatient().watch(sent, hooks);
    await fixture.withBlocks(until(() => progress.some((report) => report.startsWith('held'))));
    const held = progress.find((report) => report.startsWith('held')) ?? '';
    expect(progress).toContain('confirmed');
    for (const { name } of fixture.pool.nodes) expect(held).toContain(name);
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('landed');
  });

  it('is held when the second node returns another outcome', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    const { progress, hooks } = recordProgress();
    const other = await fixture.localnet.airdrop(newAddress(), 1_000_000n);
    const lie = { kind: 'result', result: await readRaw(other) } as const;
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, 'getTransaction', lie);
    const end = fixture.impatient().watch(sent, hooks);
    await fixture.withBlocks(until(() => progress.some((report) => report.includes(', but '))));
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('landed');
  });
});

describe('an attempt that another worker watched before', () => {
  it('is reported as dropped when it was confirmed and is no longer seen', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks, { status: 'confirmed', reason: null });
    await until(() => progress.length > 0);
    expect(progress).toEqual(['sending']);
    expect((await fixture.withBlocks(end)).verdict.kind).toBe('landed');
  });

  it('is no longer held as soon as a node sees it', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks, { status: 'held', reason: 'nodes were down' });
    await fixture.withBlocks(until(() => progress.length > 0));
    expect(progress[0]).toMatch(/^(sending|confirmed)$/);
    expect((await fixture.withBlocks(end)).verdict.kind).toBe('landed');
  });

  it('is no longer held when the nodes answer again, although it is undecided', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    fixture.localnet.controls.setFault(1, 'getBlockHeight', { kind: 'http', status: 503 });
    fixture.localnet.controls.produceSlots(160);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.some((report) => report.startsWith('held')));
    fixture.localnet.controls.clearFaults();
    fixture.swallow();
    fixture.localnet.controls.setFault(1, 'getBlockHeight', { kind: 'result', result: 1 });
    await until(() => progress.at(-1) === 'sending');
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('dead');
  });

  it('ends the watch if the caller cannot answer whether it may be sent', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    const maySend = () => Promise.reject(new TypeError('a defect'));
    await expect(fixture.watcher.watch(sent, { ...recordProgress().hooks, maySend })).rejects.toThrow(
      'a defect',
    );
  });

  it('ends the watch if the statuses cannot be read because of a defect, and the next watch works', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    vi.spyOn(fixture.chain, 'recentStatuses').mockRejectedValueOnce(new TypeError('a defect'));
    const first = fixture.watcher.watch(sent, recordProgress().hooks);
    await expect(fixture.withBlocks(first)).rejects.toThrow('a defect');
    const second = fixture.watcher.watch(sent, recordProgress().hooks);
    expect((await fixture.withBlocks(second)).verdict.kind).toBe('landed');
  });

  it('ends the watch if its outcome cannot be confirmed because of a defect', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    vi.spyOn(fixture.pool, 'second').mockRejectedValueOnce(new TypeError('a defect'));
    const outcome = fixture.watcher.watch(sent, recordProgress().hooks);
    await expect(fixture.withBlocks(outcome)).rejects.toThrow('a defect');
  });

  it('is held with the error if the examination of attempts fails because of a defect', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    vi.spyOn(fixture.pool, 'all').mockRejectedValue(new TypeError('a defect'));
    const { progress, hooks, abort } = recordProgress();
    const end = fixture.watcher.watch(sent, { ...hooks, maySend: async () => false });
    await until(() => progress.includes('held: a defect'));
    abort.abort(new Error('enough'));
    await expect(end).rejects.toThrow('enough');
  });
});
