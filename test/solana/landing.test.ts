import { base58 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { rpc } from '../../src/localstack/rpc.ts';
import { loadKeypair, type Signer } from '../../src/signing/signer.ts';
import { deriveAta } from '../../src/solana/ata.ts';
import { Chain } from '../../src/solana/chain.ts';
import { FeePlanner } from '../../src/solana/fees.ts';
import type { SignedAttempt } from '../../src/solana/investigation.ts';
import { LandingWatcher } from '../../src/solana/landing.ts';
import { readMint } from '../../src/solana/mint.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { readTokenAccount } from '../../src/solana/token-account.ts';
import { assembleTransaction, composeTransfer, type TokenTransfer } from '../../src/solana/transactions.ts';
import { transferFee } from '../../src/solana/transfer-fee.ts';
import type { LandingHooks } from '../../src/solana/watch.ts';

const hot = Keypair.generate();
const HOT = hot.publicKey.toBase58();
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let fees: FeePlanner;
let watcher: LandingWatcher;
let signer: Signer;

beforeAll(async () => {
  signer = await loadKeypair(JSON.stringify([...hot.secretKey]));
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  chain = new Chain(pool);
  fees = new FeePlanner(chain, { floorMicroLamports: 1_000n, capMicroLamports: 1_000_000n });
  watcher = new LandingWatcher(chain, { pollMs: 20, resendMs: 100, heightMs: 50 });
});
afterEach(() => localnet.controls.clearFaults());
afterAll(async () => {
  await pool.close();
  await localnet.close();
});

let salt = 0n;

async function attempt(
  destination: string,
  amount: bigint,
  token: TokenTransfer | null = null,
): Promise<SignedAttempt & { raw: string; feeLamports: bigint }> {
  const life = await new Chain(pool).latestBlockhash();
  const asset = token?.mint ?? 'SOL';
  const draft = { asset, amount, source: HOT, destination, memo: null, token, blockhash: life.blockhash };
  salt += 1n;
  const { spec, feeLamports } = await fees.plan(draft, 1, salt);
  const { message } = composeTransfer(spec);
  const { raw, signature } = assembleTransaction(message, await signer.sign(message));
  return {
    raw,
    signature,
    feeLamports,
    blockhash: life.blockhash,
    blockhashSlot: life.slot,
    blockhashHeight: life.height,
    lastValidBlockHeight: life.lastValidBlockHeight,
  };
}

const wallet = (): string => Keypair.generate().publicKey.toBase58();

function ears() {
  const heard: string[] = [];
  const abort = new AbortController();
  const hooks: LandingHooks = {
    signal: abort.signal,
    onOutlook: ({ status, why }) => heard.push(why === null ? status : `${status}: ${why}`),
  };
  return { heard, hooks, abort };
}

/** Blocks come every few milliseconds until the watch ends. */
async function withBlocks<T>(wait: Promise<T>, everyMs = 40): Promise<T> {
  const clock = setInterval(() => localnet.controls.produceSlot(), everyMs);
  return wait.finally(() => clearInterval(clock));
}

/** The answer of a real node about a finalized transaction. */
async function readRaw(signature: string): Promise<unknown> {
  const options = { encoding: 'base64', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
  return rpc(localnet.rpcUrls[0] ?? '', 'getTransaction', [signature, options]);
}

async function lamportsOf(address: string): Promise<bigint> {
  return (await chain.accounts([address])).accounts[0]?.lamports ?? 0n;
}

async function tokenSide(
  mint: string,
): Promise<TokenTransfer & { size: number; fee: (amount: bigint) => Promise<bigint | null> }> {
  const info = readMint(mint, (await chain.accounts([mint])).accounts[0] ?? null);
  const { program, decimals } = info;
  const fee = async (amount: bigint) => transferFee(info, amount, await chain.epoch());
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

describe('an attempt on its way', () => {
  it('reads height and life of a blockhash from its block, past skipped slots too', async () => {
    localnet.controls.skipSlots(3);
    localnet.controls.produceSlots(3);
    const life = await new Chain(pool).latestBlockhash();
    expect(life.lastValidBlockHeight).toBe(life.height + 150n);
    expect(life.slot).toBeGreaterThan(life.height);
  });

  it('lands, is confirmed first, and costs the fee that was planned', async () => {
    const destination = wallet();
    const sent = await attempt(destination, 5_000_000n);
    const { heard, hooks } = ears();
    const { verdict, evidence, feeLamports } = await withBlocks(watcher.watch(sent, hooks));
    expect(verdict.kind).toBe('landed');
    expect(heard).toContain('confirmed');
    expect(evidence.outcomeConfirmedBy).toHaveLength(1);
    expect(feeLamports).toBe(sent.feeLamports);
    expect(await lamportsOf(destination)).toBe(5_000_000n);
  });

  it('makes a token account at the rent of its real size, with the declared transfer fee withheld', async () => {
    const side = await tokenSide(localnet.feeMint.address);
    const destination = wallet();
    const expectedFee = await side.fee(1_000_000n);
    expect(expectedFee).toBe(10_000n);
    const sent = await attempt(destination, 1_000_000n, { ...side, expectedFee });
    const before = await lamportsOf(HOT);
    const { verdict, feeLamports } = await withBlocks(watcher.watch(sent, ears().hooks));
    expect(verdict.kind).toBe('landed');
    const ata = deriveAta(destination, side.mint, side.program);
    const [account = null] = (await chain.accounts([ata])).accounts;
    expect(account?.data.length).toBe(side.size);
    expect(readTokenAccount(ata, account)).toMatchObject({ amount: 990_000n, owner: destination });
    const rent = await chain.rentMinimum(side.size);
    expect(before - (await lamportsOf(HOT))).toBe(rent + (feeLamports ?? 0n));
  });

  it('fails for good with the error of the chain', async () => {
    const side = await tokenSide(localnet.mint.address);
    const good = await attempt(wallet(), 1n, side);
    const lifeOf = { ...good };
    const message = composeTransfer({
      asset: side.mint,
      amount: 2n ** 63n,
      source: HOT,
      destination: wallet(),
      memo: null,
      token: side,
      computeUnitLimit: 100_000,
      computeUnitPriceMicroLamports: 1_000n,
      blockhash: good.blockhash,
    }).message;
    const tooMuch = { ...lifeOf, ...assembleTransaction(message, await signer.sign(message)) };
    const { verdict } = await withBlocks(watcher.watch(tooMuch, ears().hooks));
    expect(verdict).toMatchObject({ kind: 'failed', error: expect.stringContaining('"Custom":1') });
  });

  it('says that it was lost in a fork, and lands again from the same bytes', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks);
    await until(() => {
      if (!heard.includes('confirmed')) localnet.controls.produceSlot();
      return heard.includes('confirmed');
    });
    localnet.controls.fork(3);
    await until(() => heard.includes('sending'));
    expect((await withBlocks(end)).verdict.kind).toBe('landed');
  });

  it('stops waiting when told to, and asks nothing more', async () => {
    const { hooks, abort } = ears();
    const end = watcher.watch(await attempt(wallet(), 5_000_000n), hooks);
    abort.abort(new Error('worker stops'));
    await expect(end).rejects.toThrow('worker stops');
  });
});

describe('an attempt that one node alone reports as finalized', () => {
  it('is held with the nodes named, and lands as soon as a second one shows it', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    for (const node of [0, 1])
      localnet.controls.setFault(node, 'getTransaction', { kind: 'http', status: 503 });
    const { heard, hooks } = ears();
    const end = impatient().watch(sent, hooks);
    await withBlocks(until(() => heard.some((word) => word.startsWith('held'))));
    const held = heard.find((word) => word.startsWith('held')) ?? '';
    expect(heard).toContain('confirmed');
    for (const { name } of pool.nodes) expect(held).toContain(name);
    localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('landed');
  });

  it('is held where the second one shows another outcome', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    const { heard, hooks } = ears();
    const other = await localnet.airdrop(wallet(), 1_000_000n);
    const lie = { kind: 'result', result: await readRaw(other) } as const;
    for (const node of [0, 1]) localnet.controls.setFault(node, 'getTransaction', lie);
    const end = impatient().watch(sent, hooks);
    await withBlocks(until(() => heard.some((word) => word.includes(', but '))));
    localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('landed');
  });
});

describe('an attempt that another worker watched before', () => {
  it('is said to be lost where it was confirmed and is not seen any more', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks, { status: 'confirmed', why: null });
    await until(() => heard.length > 0);
    expect(heard).toEqual(['sending']);
    expect((await withBlocks(end)).verdict.kind).toBe('landed');
  });

  it('is no longer held as soon as it is seen', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks, { status: 'held', why: 'nodes were down' });
    await withBlocks(until(() => heard.length > 0));
    expect(heard[0]).toMatch(/^(sending|confirmed)$/);
    expect((await withBlocks(end)).verdict.kind).toBe('landed');
  });

  it('is no longer held where the nodes can tell again, although nothing is decided', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    swallow();
    localnet.controls.setFault(1, 'getBlockHeight', { kind: 'http', status: 503 });
    localnet.controls.produceSlots(160);
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks);
    await until(() => heard.some((word) => word.startsWith('held')));
    localnet.controls.clearFaults();
    swallow();
    localnet.controls.setFault(1, 'getBlockHeight', { kind: 'result', result: 1 });
    await until(() => heard.at(-1) === 'sending');
    localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('dead');
  });
});

/** Every node takes bytes for sending and loses them, until the faults are cleared. */
function swallow(): void {
  const lie = { kind: 'result', result: base58.encode(new Uint8Array(64).fill(1)) } as const;
  for (const node of [0, 1]) localnet.controls.setFault(node, 'sendTransaction', lie);
}

function impatient(): LandingWatcher {
  return new LandingWatcher(chain, { pollMs: 20, resendMs: 100, heightMs: 50, secondTries: 3 });
}

describe('an attempt that never arrives', () => {
  it('is dead only past its last height, with heights, linked blocks and silence of a quorum as proof', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    swallow();
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks);
    let dead = false;
    void end.then(() => {
      dead = true;
    });
    localnet.controls.skipSlots(200);
    localnet.controls.produceSlots(150);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(dead).toBe(false);
    localnet.controls.produceSlots(10);
    const { verdict, evidence, feeLamports } = await end;
    expect(verdict).toEqual({ kind: 'dead' });
    expect(feeLamports).toBeNull();
    expect(heard).toEqual([]);
    if (!('coverage' in evidence)) throw new Error('the attempt has a blockhash');
    expect(evidence.coverage).toMatchObject({
      firstBlockhash: sent.blockhash,
      fromHeight: sent.blockhashHeight,
      toHeight: sent.lastValidBlockHeight + 1n,
      containsSignature: false,
    });
    expect(evidence.coverage?.agreeingNodes).toHaveLength(2);
    expect(evidence.finalizedHeights.every((height) => height.answer > sent.lastValidBlockHeight)).toBe(true);
  });

  it.each([
    ['a block cannot be had', 'getBlock', { kind: 'error', code: -32007, message: 'skipped' }],
    ['a block is null', 'getBlock', { kind: 'null' }],
    ['no node lists blocks', 'getBlocksWithLimit', { kind: 'http', status: 503 }],
  ] as const)('is not dead while %s', async (_why, method, fault) => {
    const sent = await attempt(wallet(), 5_000_000n);
    swallow();
    for (const node of [0, 1]) localnet.controls.setFault(node, method, fault);
    localnet.controls.produceSlots(160);
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks);
    await until(() => heard.length > 0);
    localnet.controls.clearFaults();
    const { verdict } = await end;
    expect(verdict).toEqual({ kind: 'dead' });
  });

  it('is not dead while one of two nodes is silent', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    swallow();
    localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
    localnet.controls.produceSlots(160);
    const { heard, hooks } = ears();
    const end = watcher.watch(sent, hooks);
    await until(() => heard.length > 0);
    expect(heard[0]).toContain(`no height from ${pool.nodes[1]?.name}`);
    localnet.controls.clearFaults();
    expect((await end).verdict).toEqual({ kind: 'dead' });
  });

  it('is found in history long after, when the watcher starts late', async () => {
    const sent = await attempt(wallet(), 5_000_000n);
    await chain.send(sent.raw);
    localnet.controls.produceSlots(500);
    const { verdict, feeLamports } = await watcher.watch(sent, ears().hooks);
    expect(verdict.kind).toBe('landed');
    expect(feeLamports).toBe(sent.feeLamports);
  });
});

async function until(met: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!met()) {
    if (performance.now() > end) throw new Error('it did not come to pass in 20 s');
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
