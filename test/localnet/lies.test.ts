import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Bench, someone } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterEach(() => bench.localnet.controls.clearFaults());
afterAll(() => bench.localnet.close());

const SEND = { encoding: 'base64', preflightCommitment: 'processed' };

describe('a node on another chain state', () => {
  it('stays at a finalized slot while its tip advances', async () => {
    const { controls } = bench.localnet;
    const liar = bench.node(1);
    const slot = await liar.getSlot('finalized');
    controls.setFault(1, '*', { kind: 'stuck-finality', slot });
    const { signature } = await bench.land(someone());
    controls.produceSlots(8);
    expect(await bench.status(signature)).toBe('finalized');
    expect(await bench.status(signature, liar)).toBe('confirmed');
    expect(await liar.getSlot('finalized')).toBe(slot);
    expect(await liar.getSlot('processed')).toBe(await bench.connection.getSlot('processed'));
    await expect(liar.getBlock(slot + 1, { commitment: 'finalized' })).rejects.toMatchObject({
      code: -32004,
    });
  });

  it('lags by hundreds of blocks, with the balances of that block, and reports itself as unhealthy', async () => {
    const { controls } = bench.localnet;
    const to = someone();
    controls.produceSlots(100);
    await bench.land(to);
    controls.produceSlots(350);
    controls.setFault(1, '*', { kind: 'lag', blocks: 400 });
    expect(await bench.node(1).getBalance(to, 'processed')).toBe(0);
    expect(await bench.ask(1, 'getHealth')).toMatchObject({
      error: { code: -32005, data: { numSlotsBehind: 400 } },
    });
    expect(await bench.ask(0, 'getHealth')).toMatchObject({ result: 'ok' });
  });

  it('has a hole in its ledger, and no trace of the transactions in it', async () => {
    const { controls } = bench.localnet;
    const { signature } = await bench.land(someone());
    const slot = await bench.connection.getSlot('processed');
    controls.produceSlots(8);
    controls.setFault(1, '*', { kind: 'hole', from: slot, to: slot + 2 });
    const liar = bench.node(1);
    expect(await liar.getBlocks(slot - 1, slot + 3, 'finalized')).toEqual([slot - 1, slot + 3]);
    expect(await bench.ask(1, 'getBlocksWithLimit', [slot - 1, 2])).toMatchObject({
      result: [slot - 1, slot + 3],
    });
    await expect(liar.getBlock(slot, { commitment: 'finalized' })).rejects.toMatchObject({ code: -32007 });
    expect(await bench.status(signature, liar)).toBeNull();
    expect(
      await liar.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 0 }),
    ).toBeNull();
    expect(await liar.getFirstAvailableBlock()).toBe(await bench.connection.getFirstAvailableBlock());
  });

  it('returns wrong block heights in every method', async () => {
    bench.localnet.controls.setFault(1, '*', { kind: 'height-offset', blocks: 1000 });
    const heights = async (node: number) => {
      const connection = bench.node(node);
      const slot = await connection.getSlot('finalized');
      const block = (await bench.ask(node, 'getBlock', [slot, { transactionDetails: 'none' }])) as {
        result: { blockHeight: number };
      };
      const { lastValidBlockHeight } = await connection.getLatestBlockhash('finalized');
      const { blockHeight = 0 } = await connection.getEpochInfo('finalized');
      return [
        await connection.getBlockHeight('finalized'),
        lastValidBlockHeight,
        blockHeight,
        block.result.blockHeight,
      ];
    };
    const honest = await heights(0);
    expect(await heights(1)).toEqual(honest.map((height) => height + 1000));
  });
});

describe('a node with wrong answers about blockhashes', () => {
  it('reports them as expired early, and refuses transactions that another node accepts', async () => {
    const { controls } = bench.localnet;
    controls.setFault(1, '*', { kind: 'blockhash-age', heights: 2 });
    const { blockhash } = await bench.connection.getLatestBlockhash('processed');
    const { raw, signature } = await bench.sign(bench.pay(someone(), 1_000_000));
    const valid = async (node: number) =>
      (await bench.node(node).isBlockhashValid(blockhash, { commitment: 'processed' })).value;
    controls.produceSlots(2);
    expect([await valid(0), await valid(1)]).toEqual([true, true]);
    controls.produceSlot();
    expect([await valid(0), await valid(1)]).toEqual([true, false]);
    const params = [raw.toString('base64'), SEND];
    expect(await bench.ask(1, 'sendTransaction', params)).toMatchObject({
      error: { code: -32002, data: { err: 'BlockhashNotFound' } },
    });
    expect(
      await bench.ask(1, 'simulateTransaction', [params[0], { ...SEND, commitment: 'processed' }]),
    ).toMatchObject({ result: { value: { err: 'BlockhashNotFound' } } });
    expect(await bench.ask(0, 'sendTransaction', params)).toMatchObject({ result: signature });
  });

  it('can know no blockhash at all', async () => {
    bench.localnet.controls.setFault(1, 'sendTransaction', { kind: 'blockhash-age', heights: -1 });
    const { raw } = await bench.sign(bench.pay(someone(), 1_000_000));
    const answer = await bench.ask(1, 'sendTransaction', [raw.toString('base64'), SEND]);
    expect(answer).toMatchObject({ error: { data: { err: 'BlockhashNotFound' } } });
  });
});

describe('a node that accepts a transaction', () => {
  it('can drop it', async () => {
    const { controls } = bench.localnet;
    controls.setFault(1, 'sendTransaction', { kind: 'drop-send' });
    const { raw, signature } = await bench.sign(bench.pay(someone(), 1_000_000));
    const params = [raw.toString('base64'), SEND];
    expect(await bench.ask(1, 'sendTransaction', params)).toMatchObject({ result: signature });
    controls.produceSlot();
    expect(await bench.status(signature)).toBeNull();
    await bench.ask(0, 'sendTransaction', params);
    controls.produceSlot();
    expect(await bench.status(signature)).toBe('processed');
  });
});
