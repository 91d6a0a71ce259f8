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

const room = useScanFixture(3);

/** A watched deposit address, with a scanner at the tip. */
async function beginning(): Promise<{ wallet: string; scanner: DepositScanner }> {
  const scanner = room.scanner();
  await room.scanAll(scanner);
  return { wallet: await room.newDepositAddress(), scanner };
}

/** Deposits in blocks of their own; returns the slots of the first and of the last block. */
async function deposits(wallet: string, amounts: readonly bigint[]): Promise<{ from: number; to: number }> {
  const from = room.localnet.controls.produceSlot();
  for (const amount of amounts) await room.localnet.airdrop(wallet, amount);
  return { from, to: room.localnet.controls.produceSlot() };
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await room.depositsOf(wallet)).map(({ amount }) => amount).toReversed();
}

/** The block of a slot on the chain. */
function headerAt(slot: number) {
  const block = room.localnet.controls.chain.ledger.bySlot(slot);
  if (block === undefined) throw new Error(`slot ${slot} has no block`);
  return block;
}

/** Makes a node return, for each request, the block of a slot with a parent that does not exist. */
function tellOtherParent(node: number, slot: number): void {
  const { parentSlot, blockhash, height } = headerAt(slot);
  const header = {
    parentSlot,
    blockhash,
    previousBlockhash: newAddress(),
    blockHeight: height,
    blockTime: 1,
  };
  room.localnet.controls.setFault(node, 'getBlock', {
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
    room.finalize();
    for (const node of EACH)
      room.localnet.controls.setFault(node, 'getBlocks', { kind: 'result', result: [] });
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('cannot hide blocks that they list and do not return, while one node returns them (FY, SDP, chainstorage)', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    room.finalize();
    room.localnet.controls.setFault(0, 'getBlock', { kind: 'null' });
    room.localnet.controls.setFault(1, '*', { kind: 'hole', from, to });
    await room.scanAll(scanner);
    room.localnet.controls.clearFaults();
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('hold the cursor back while a quorum lags, and no deposit is credited before a quorum finalizes it', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    room.finalize();
    for (const node of [0, 1]) room.localnet.controls.setFault(node, '*', { kind: 'lag', blocks: 40 });
    expect((await room.scanAll(scanner)).state).toBe('idle');
    expect(await amountsOf(wallet)).toEqual([]);
    room.localnet.controls.clearFaults();
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('stop the scan at a block that no node returns, and the scan reads the block once a node returns it (the-web3 sol-wallet, private-channels #190 and #224)', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    room.finalize();
    for (const node of EACH) room.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
    const step = await room.scanAll(scanner);
    expect(step).toMatchObject({ state: 'gap', gap: { to: String(to) } });
    expect(await room.openGap()).toMatchObject({ state: 'open', toSlot: BigInt(to) });
    expect((await scanner.step()).cursor).toEqual(step.cursor);
    room.localnet.controls.clearFaults(2);
    await room.scanAll(scanner);
    expect(await room.openGap()).toBeUndefined();
    room.localnet.controls.clearFaults();
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('cause no gap while a node that may have the block is unreachable', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    room.finalize();
    for (const node of [0, 1]) room.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
    room.localnet.controls.setFault(2, 'getBlock', { kind: 'http', status: 503 });
    await expect(room.scanAll(scanner)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    expect(await room.openGap()).toBeUndefined();
    room.localnet.controls.clearFaults();
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('leave a gap that an operator can close, and the scan continues from the next block', async () => {
    const { wallet, scanner } = await beginning();
    const { from, to } = await deposits(wallet, AMOUNTS);
    room.finalize();
    for (const node of EACH) room.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
    const step = await room.scanAll(scanner);
    await room.closeGap();
    await room.localnet.airdrop(wallet, 9_000_000n);
    room.finalize();
    const last = await room.scanAll(scanner);
    expect(last.cursor.slot).toBeGreaterThan(step.cursor.slot);
    expect(await amountsOf(wallet)).toEqual([9_000_000n]);
    expect(await room.ledger.backfills.listDue(1)).toMatchObject([{ toSlot: BigInt(to) }]);
  });
});

describe('a transaction of an unsupported version', () => {
  it('stops the scan, and is read by a build that supports the version', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    const payer = Keypair.generate();
    await room.localnet.airdrop(payer.publicKey.toBase58(), 1_000_000_000n);
    const { blockhash } = await latestBlockhash(room.pool);
    const instructions = [
      SystemProgram.transfer({
        fromPubkey: payer.publicKey,
        toPubkey: new PublicKey(wallet),
        lamports: 5_000_000,
      }),
    ];
    const { raw } = signVersion1(payer, blockhash, instructions);
    await room.pool.read((node) => sendTransaction(node, raw));
    room.finalize();
    const older = await openNodePool(room.localnet.rpcUrls, { maxTransactionVersion: 0 });
    try {
      const refusal = await room
        .scanAll(new DepositScanner(room.deps(older)))
        .catch((error: unknown) => error);
      expect(haltAfter(refusal)).toMatchObject({ state: 'stopped' });
      expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    } finally {
      await older.close();
    }
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual([...AMOUNTS, 5_000_000n]);
  });
});

describe('lying nodes', () => {
  it('cannot insert a false block before the cursor', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    room.finalize();
    const forged = {
      blockhash: newAddress(),
      previousBlockhash: newAddress(),
      parentSlot: 1,
      blockHeight: 1,
      blockTime: 1,
      transactions: [],
      signatures: [],
    };
    room.localnet.controls.setFault(0, 'getBlock', { kind: 'result', result: forged });
    await room.scanAll(scanner);
    room.localnet.controls.clearFaults();
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    await room.chainLength();
  });

  it('cannot confirm a deposit alone, even in a block that links', async () => {
    const { wallet, scanner } = await beginning();
    await deposits(wallet, AMOUNTS);
    room.finalize();
    for (const node of [1, 2])
      room.localnet.controls.setFault(node, 'getBlock', { kind: 'http', status: 503 });
    expect((await room.scanAll(scanner)).state).toBe('idle');
    expect(await amountsOf(wallet)).toEqual([]);
    room.localnet.controls.clearFaults();
    await room.scanAll(scanner);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('cannot insert a false block between two blocks of other nodes', async () => {
    const { scanner } = await beginning();
    const { to } = await deposits(newAddress(), AMOUNTS);
    room.finalize();
    const { blockhash, previousBlockhash } = headerAt(to);
    tellOtherParent(0, to);
    await room.scanAll(scanner);
    const [header] = await room.ledger.scan.headersBetween(BigInt(to), BigInt(to));
    expect(header).toMatchObject({ blockhash, previousBlockhash });
    await room.chainLength();
  });

  it('stop the scan where two nodes contradict each other and no other node has the block', async () => {
    const { scanner } = await beginning();
    const { to } = await deposits(newAddress(), AMOUNTS);
    room.finalize();
    tellOtherParent(0, to);
    room.localnet.controls.setFault(2, 'getBlock', { kind: 'hole', from: to, to });
    await expect(room.scanAll(scanner)).rejects.toThrow(/contradict each other/);
    expect((await room.ledger.scan.cursor())?.slot).toBeLessThan(BigInt(to));
    room.localnet.controls.clearFaults(2);
    await room.scanAll(scanner);
    await room.chainLength();
  });

  it('cannot move the scan past a slot that only they report as finalized', async () => {
    const { scanner } = await beginning();
    const far = { epoch: 1, absoluteSlot: 10_000_000, blockHeight: 9_000_000 };
    room.localnet.controls.setFault(1, 'getEpochInfo', { kind: 'result', result: far });
    expect((await room.scanAll(scanner)).tip).toBeLessThan(10_000_000n);
  });
});

describe('an address that is added between match and commit of a scanner', () => {
  it('is searched for in the blocks that were matched without it', async () => {
    const { scanner } = await beginning();
    const address = newAddress();
    await room.localnet.airdrop(address, 6_000_000n);
    room.finalize();
    const deps = room.deps();
    const { scan } = deps.ledger;
    const late = new Proxy(scan, {
      get: (target, key) => {
        if (key !== 'commit') {
          const member: unknown = Reflect.get(target, key, target);
          return typeof member === 'function' ? member.bind(target) : member;
        }
        return async (batch: Parameters<typeof scan.commit>[0]) => {
          await room.ledger.addresses.import([{ address, path: 'm/late' }]);
          return target.commit(batch);
        };
      },
    });
    await room.scanAll(new DepositScanner({ ...deps, ledger: { ...deps.ledger, scan: late } }));
    await room.scanAll(scanner);
    expect(await amountsOf(address)).toEqual([6_000_000n]);
  });
});
