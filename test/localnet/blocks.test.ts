import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bench, someone } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench.localnet.close());

describe('a commitment', () => {
  it('of a block rises from processed over confirmed to finalized', async () => {
    const { controls } = bench.localnet;
    const { signature } = await bench.land(someone());
    const seen = [await bench.status(signature)];
    for (let block = 0; block < 4; block += 1) {
      controls.produceSlot();
      seen.push(await bench.status(signature));
    }
    expect(seen).toEqual(['processed', 'confirmed', 'confirmed', 'confirmed', 'finalized']);
  });

  it('selects the balances as of its own block', async () => {
    const to = someone();
    await bench.land(to, 1_000_000);
    bench.localnet.controls.produceSlot();
    await bench.land(to, 2_000_000);
    const balances = (['finalized', 'confirmed', 'processed'] as const).map((commitment) =>
      bench.connection.getBalance(to, commitment),
    );
    expect(await Promise.all(balances)).toEqual([0, 1_000_000, 3_000_000]);
  });
});

describe('the slot numbers', () => {
  it('exceed block heights by the skipped slots, and blocks still link', async () => {
    const { controls } = bench.localnet;
    const before = await bench.connection.getSlot('processed');
    const height = await bench.connection.getBlockHeight('processed');
    controls.skipSlots(3);
    const slot = controls.produceSlot();
    for (let block = 0; block < 4; block += 1) controls.produceSlot();
    expect(slot).toBe(before + 4);
    expect(await bench.connection.getBlockHeight('processed')).toBe(height + 5);
    const options = { transactionDetails: 'none', rewards: false } as const;
    const block = await bench.connection.getBlock(slot, { ...options, commitment: 'confirmed' });
    const parent = await bench.connection.getBlock(before, { ...options, commitment: 'confirmed' });
    expect(block).toMatchObject({
      parentSlot: before,
      previousBlockhash: parent?.blockhash,
      blockHeight: height + 1,
    });
    expect(await bench.connection.getBlocks(before, slot, 'confirmed')).toEqual([before, slot]);
    await expect(bench.connection.getBlock(before + 1, { commitment: 'confirmed' })).rejects.toMatchObject({
      code: -32007,
    });
  });
});

describe('a blockhash', () => {
  it('lets a transaction land up to 150 heights after its block, and never later', async () => {
    const { controls } = bench.localnet;
    const last = await bench.sign(bench.pay(someone(), 1_000_000));
    const late = await bench.sign(bench.pay(someone(), 1_000_001));
    controls.produceSlots(150);
    await bench.send(last);
    controls.produceSlot();
    expect(await bench.status(last.signature)).toBe('processed');
    await bench.send(late);
    controls.produceSlots(2);
    expect(await bench.status(late.signature)).toBeNull();
  });
});

describe('a fork', () => {
  it('reverts transactions and balances, and its slots are never used again', async () => {
    const { controls } = bench.localnet;
    const to = someone();
    const kept = await bench.connection.getSlot('processed');
    const { signature } = await bench.land(to);
    controls.produceSlot();
    expect(await bench.status(signature)).toBe('confirmed');
    expect([controls.chain.countAtStake(1), controls.chain.countAtStake(2)]).toEqual([0, 1]);
    expect(controls.fork(2)).toBe(kept);
    expect(controls.chain.rolledBackCount).toBeGreaterThan(0);
    expect(await bench.status(signature)).toBeNull();
    expect(await bench.connection.getBalance(to, 'processed')).toBe(0);
    expect(controls.produceSlot()).toBe(kept + 3);
  });

  it('lets the same bytes land again while their blockhash is valid', async () => {
    const { controls } = bench.localnet;
    const to = someone();
    controls.produceSlot();
    const signed = await bench.land(to);
    controls.fork(1);
    await bench.send(signed);
    controls.produceSlot();
    expect(await bench.connection.getBalance(to, 'processed')).toBe(1_000_000);
  });

  it('cannot revert a finalized block, not even in several steps', () => {
    const { controls } = bench.localnet;
    controls.produceSlots(4);
    expect(() => controls.fork(4)).toThrow(/a fork can roll back 1 to 3 blocks/);
    controls.fork(2);
    expect(() => controls.fork(2)).toThrow(/a fork can roll back 1 to 1 blocks/);
  });

  it('keeps the finalized slot until new blocks are deep enough', async () => {
    const { controls } = bench.localnet;
    controls.produceSlots(4);
    const finalized = () => bench.connection.getSlot('finalized');
    const before = await finalized();
    controls.fork(3);
    const seen = [await finalized()];
    for (let block = 0; block < 4; block += 1) {
      controls.produceSlot();
      seen.push(await finalized());
    }
    expect(seen.slice(0, 4)).toEqual([before, before, before, before]);
    expect(seen[4]).toBeGreaterThan(before);
  });
});

describe('the memory of the chain', () => {
  it('keeps old account states only as far back as a node may lag', async () => {
    const { controls } = bench.localnet;
    const to = someone();
    await bench.land(to);
    const history = () => [...controls.chain.changedAddresses()].includes(to.toBase58());
    expect(history()).toBe(true);
    controls.produceSlots(600);
    expect(history()).toBe(false);
    expect(await bench.connection.getBalance(to, 'finalized')).toBe(1_000_000);
  });
});
