import { Keypair, PublicKey, SystemProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { haltAfter } from '../../src/deposits/scan/failure-alerts.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { latestBlockhash } from '../../src/solana/tx/blockhash.ts';
import { signVersion1 } from '../conformance/version-1.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);

/** A watched deposit address, with a scanner at the tip. */
async function beginning(): Promise<{ wallet: string; scanner: DepositScanner }> {
  const scanner = fixture.scanner();
  await fixture.scanAll(scanner);
  return { wallet: await fixture.newDepositAddress(), scanner };
}

/** Deposits in blocks of their own; returns the slots of the first and of the last block. */
async function deposits(wallet: string, amounts: readonly bigint[]): Promise<{ from: number; to: number }> {
  const from = fixture.localnet.controls.produceSlot();
  for (const amount of amounts) await fixture.localnet.airdrop(wallet, amount);
  return { from, to: fixture.localnet.controls.produceSlot() };
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount).toReversed();
}

/** The block of a slot on the chain. */
function headerAt(slot: number) {
  const block = fixture.localnet.controls.chain.ledger.bySlot(slot);
  if (block === undefined) throw new Error(`slot ${slot} has no block`);
  return block;
}

/** Makes a node return, for each request, the block of a slot with a parent that does not exist. */
function returnOtherParent(node: number, slot: number): void {
  const { parentSlot, blockhash, height } = headerAt(slot);
  const header = {
    parentSlot,
    blockhash,
    previousBlockhash: newAddress(),
    blockHeight: height,
    blockTime: 1,
  };
  fixture.localnet.controls.setFault(node, 'getBlock', {
    kind: 'result',
    result: { ...header, transactions: [], signatures: [] },
  });
}

const EACH = [0, 1, 2];
const AMOUNTS = [2_000_000n, 3_000_000n, 4_000_000n];

describe('incomplete nodes', () => {
  it('cannot hide blocks by short lists, all of them together', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    fixture.finalize();
    for (const node of EACH)
      fixture.localnet.controls.setFault(node, 'getBlocks', { kind: 'result', result: [] });
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('cannot hide blocks that they list and do not return, while one node returns them (FY, SDP, chainstorage)', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    fixture.finalize();
    fixture.localnet.controls.setFault(0, 'getBlock', { kind: 'null' });
    fixture.localnet.controls.setFault(1, '*', { kind: 'hole', from, to });
    await fixture.scanAll(scanner);
    fixture.localnet.controls.clearFaults();
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('hold the cursor back while a quorum lags, and no deposit is credited before a quorum finalizes it', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    fixture.finalize();
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, '*', { kind: 'lag', blocks: 40 });
    expect((await fixture.scanAll(scanner)).state).toBe('idle');
    expect(await amountsOf(wallet)).toEqual([]);
    fixture.localnet.controls.clearFaults();
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('stop the scan at a block that no node returns, and the scan reads the block once a node returns it (the-web3 sol-wallet, private-channels #190 and #224)', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    fixture.finalize();
    for (const node of EACH) fixture.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
    const step = await fixture.scanAll(scanner);
    expect(step).toMatchObject({ state: 'gap', gap: { to: String(to) } });
    expect(await fixture.openGap()).toMatchObject({ state: 'open', toSlot: BigInt(to) });
    expect((await scanner.step()).cursor).toEqual(step.cursor);
    fixture.localnet.controls.clearFaults(2);
    await fixture.scanAll(scanner);
    expect(await fixture.openGap()).toBeUndefined();
    fixture.localnet.controls.clearFaults();
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('cause no gap while a node that may have the block is unreachable', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    fixture.finalize();
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
    fixture.localnet.controls.setFault(2, 'getBlock', { kind: 'http', status: 503 });
    await expect(fixture.scanAll(scanner)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    expect(await fixture.openGap()).toBeUndefined();
    fixture.localnet.controls.clearFaults();
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('leave a gap that an operator can close, and the scan continues from the next block', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    fixture.finalize();
    for (const node of EACH) fixture.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
    const step = await fixture.scanAll(scanner);
    await fixture.closeGap();
    await fixture.localnet.airdrop(wallet, 9_000_000n);
    fixture.finalize();
    const last = await fixture.scanAll(scanner);
    expect(last.cursor.slot).toBeGreaterThan(step.cursor.slot);
    expect(await amountsOf(wallet)).toEqual([9_000_000n]);
    expect(await fixture.ledger.backfills.listDue(1)).toMatchObject([{ toSlot: BigInt(to) }]);
  });
});

describe('a transaction of an unsupported version', () => {
  it('stops the scan, and is read by a build that supports the version', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    const payer = Keypair.generate();
    await fixture.localnet.airdrop(payer.publicKey.toBase58(), 1_000_000_000n);
    const { blockhash } = await latestBlockhash(fixture.pool);
    const instructions = [
      SystemProgram.transfer({
        fromPubkey: payer.publicKey,
        toPubkey: new PublicKey(wallet),
        lamports: 5_000_000,
      }),
    ];
    const { raw } = signVersion1(payer, blockhash, instructions);
    await fixture.pool.read((node) => sendTransaction(node, raw));
    fixture.finalize();
    const older = await openNodePool(fixture.localnet.rpcUrls, { maxTransactionVersion: 0 });
    try {
      const refusal = await fixture
        .scanAll(new DepositScanner(fixture.deps(older)))
        .catch((error: unknown) => error);
      expect(haltAfter(refusal)).toMatchObject({ state: 'stopped' });
      expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    } finally {
      await older.close();
    }
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual([...AMOUNTS, 5_000_000n]);
  });
});

describe('lying nodes', () => {
  it('cannot insert a false block before the cursor', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    fixture.finalize();
    const forged = {
      blockhash: newAddress(),
      previousBlockhash: newAddress(),
      parentSlot: 1,
      blockHeight: 1,
      blockTime: 1,
      transactions: [],
      signatures: [],
    };
    fixture.localnet.controls.setFault(0, 'getBlock', { kind: 'result', result: forged });
    await fixture.scanAll(scanner);
    fixture.localnet.controls.clearFaults();
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    await fixture.chainLength();
  });

  it('cannot confirm a deposit alone, even in a block that links', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    fixture.finalize();
    for (const node of [1, 2])
      fixture.localnet.controls.setFault(node, 'getBlock', { kind: 'http', status: 503 });
    expect((await fixture.scanAll(scanner)).state).toBe('idle');
    expect(await amountsOf(wallet)).toEqual([]);
    fixture.localnet.controls.clearFaults();
    await fixture.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('cannot insert a false block between two blocks of other nodes', async () => {
    const { scanner } = await beginning();
    const { to } = await deposits(newAddress(), AMOUNTS);
    fixture.finalize();
    const { blockhash, previousBlockhash } = headerAt(to);
    returnOtherParent(0, to);
    await fixture.scanAll(scanner);
    const [header] = await fixture.ledger.scan.headersBetween(BigInt(to), BigInt(to));
    expect(header).toMatchObject({ blockhash, previousBlockhash });
    await fixture.chainLength();
  });

  it('stop the scan where two nodes contradict each other and no other node has the block', async () => {
    const { scanner } = await beginning();
    const { to } = await deposits(newAddress(), AMOUNTS);
    fixture.finalize();
    returnOtherParent(0, to);
    fixture.localnet.controls.setFault(2, 'getBlock', { kind: 'hole', from: to, to });
    await expect(fixture.scanAll(scanner)).rejects.toThrow(/contradict each other/);
    expect((await fixture.ledger.scan.cursor())?.slot).toBeLessThan(BigInt(to));
    fixture.localnet.controls.clearFaults(2);
    await fixture.scanAll(scanner);
    await fixture.chainLength();
  });

  it('cannot move the scan past a slot that only they report as finalized', async () => {
    const { scanner } = await beginning();
    const far = { epoch: 1, absoluteSlot: 10_000_000, blockHeight: 9_000_000 };
    fixture.localnet.controls.setFault(1, 'getEpochInfo', { kind: 'result', result: far });
    expect((await fixture.scanAll(scanner)).tip).toBeLessThan(10_000_000n);
  });
});

describe('an address that is added between match and commit of a scanner', () => {
  it('is searched for in the blocks that were matched without it', async () => {
    const { scanner } = await beginning();
    const address = newAddress();
    await fixture.localnet.airdrop(address, 6_000_000n);
    fixture.finalize();
    const deps = fixture.deps();
    const { scan } = deps.ledger;
    const late = new Proxy(scan, {
      get: (target, key) => {
        if (key !== 'commit') {
          const member: unknown = Reflect.get(target, key, target);
          return typeof member === 'function' ? member.bind(target) : member;
        }
        return async (batch: Parameters<typeof scan.commit>[0]) => {
          await fixture.ledger.addresses.import([{ address, path: 'm/late' }]);
          return target.commit(batch);
        };
      },
    });
    await fixture.scanAll(new DepositScanner({ ...deps, ledger: { ...deps.ledger, scan: late } }));
    await fixture.scanAll(scanner);
    expect(await amountsOf(address)).toEqual([6_000_000n]);
  });
});
