import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Bench, someone } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start({ legacy: true });
});
afterEach(() => bench.localnet.controls.clearFaults());
afterAll(() => bench.localnet.close());

describe('a node with faults', () => {
  it('lags while the other node does not', async () => {
    const { controls } = bench.localnet;
    const to = someone();
    controls.setFault(1, '*', { kind: 'lag', blocks: 10 });
    const { signature } = await bench.land(to);
    controls.produceSlots(5);
    const lagging = bench.node(1);
    expect(await lagging.getSlot('processed')).toBe((await bench.connection.getSlot('processed')) - 10);
    expect(await lagging.getBalance(to, 'processed')).toBe(0);
    expect(await bench.status(signature, lagging)).toBeNull();
    expect(await bench.status(signature)).toBe('finalized');
  });

  it('answers 429 with Retry-After, and 503, as often as configured', async () => {
    const { controls } = bench.localnet;
    controls.setFault(0, 'getSlot', { kind: 'http', status: 429, retryAfterSeconds: 2 }, 1);
    controls.setFault(1, '*', { kind: 'http', status: 503 });
    const limited = await bench.post(0, 'getSlot');
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2']);
    expect((await bench.post(0, 'getSlot')).status).toBe(200);
    expect((await bench.post(1, 'getHealth')).status).toBe(503);
  });

  it('sends no answer, or answers null or its own error', async () => {
    const { controls } = bench.localnet;
    controls.setFault(0, 'getHealth', { kind: 'no-answer' }, 1);
    controls.setFault(0, 'getBlock', { kind: 'null' });
    controls.setFault(0, 'getBlocks', {
      kind: 'error',
      code: -32005,
      message: 'Node is behind',
      data: { numSlotsBehind: 9 },
    });
    await expect(bench.post(0, 'getHealth', [], AbortSignal.timeout(200))).rejects.toThrow();
    expect(await bench.ask(0, 'getBlock', [1])).toMatchObject({ result: null });
    expect(await bench.ask(0, 'getBlocks', [1])).toMatchObject({
      error: { code: -32005, data: { numSlotsBehind: 9 } },
    });
  });

  it('closes the connection before it executes the call', async () => {
    const { controls } = bench.localnet;
    const signed = await bench.sign(bench.pay(someone(), 1_000_000));
    controls.setFault(0, 'sendTransaction', { kind: 'drop' }, 1);
    const params = [signed.raw.toString('base64'), { encoding: 'base64', skipPreflight: true }];
    await expect(bench.post(0, 'sendTransaction', params)).rejects.toThrow();
    controls.produceSlot();
    expect(await bench.status(signed.signature)).toBeNull();
  });

  it('answers with a malformed body', async () => {
    const { controls } = bench.localnet;
    const whole = await (await bench.post(1, 'getHealth')).text();
    const texts: string[] = [];
    for (const form of ['truncated', 'html', 'wrong-id'] as const) {
      controls.setFault(0, 'getHealth', { kind: 'malformed', form }, 1);
      texts.push(await (await bench.post(0, 'getHealth')).text());
    }
    const [first = '', page, wrong = '{}'] = texts;
    expect(whole.startsWith(first)).toBe(true);
    expect(() => JSON.parse(first)).toThrow();
    expect(page).toMatch(/^<html>/);
    expect(JSON.parse(wrong)).toEqual({ jsonrpc: '2.0', result: 'ok', id: expect.any(String) });
  });

  it('loses the answer after it executed the call', async () => {
    const { controls } = bench.localnet;
    const to = someone();
    const signed = await bench.sign(bench.pay(to, 1_000_000));
    controls.setFault(0, 'sendTransaction', { kind: 'lost-answer' }, 1);
    const params = [signed.raw.toString('base64'), { encoding: 'base64', skipPreflight: true }];
    await expect(bench.post(0, 'sendTransaction', params)).rejects.toThrow();
    controls.produceSlot();
    expect(await bench.status(signed.signature)).toBe('processed');
  });

  it('has no history before a configured slot', async () => {
    const { controls } = bench.localnet;
    const { signature } = await bench.land(someone());
    controls.produceSlots(10);
    const start = (await bench.connection.getSlot('finalized')) - 1;
    controls.setFault(1, '*', { kind: 'history-from', slot: start });
    const young = bench.node(1);
    expect(await young.getFirstAvailableBlock()).toBe(start);
    expect(await bench.status(signature, young)).toBeNull();
    expect(
      await young.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 0 }),
    ).toBeNull();
    expect(await young.getBlocks(1, start + 1, 'finalized')).toEqual([start, start + 1]);
    await expect(young.getBlock(1, { commitment: 'finalized' })).rejects.toMatchObject({ code: -32001 });
  });
});

describe('a legacy node', () => {
  it('serves the methods that Agave 2.0 removed', async () => {
    const call = async (method: string, params: unknown = []): Promise<{ result: { value: never } }> =>
      bench.ask(0, method, params) as Promise<{ result: { value: never } }>;
    const fees: { blockhash: string } = (await call('getFees', [{ commitment: 'processed' }])).result.value;
    const params = [fees.blockhash, { commitment: 'processed' }];
    expect((await call('getFeeCalculatorForBlockhash', params)).result.value).toEqual({
      feeCalculator: { lamportsPerSignature: 5000 },
    });
    bench.localnet.controls.produceSlots(151);
    expect((await call('getFeeCalculatorForBlockhash', params)).result.value).toBeNull();
    expect((await call('getRecentBlockhash')).result.value).toMatchObject({ blockhash: expect.any(String) });
  });
});
