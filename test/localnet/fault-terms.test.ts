import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Bench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterEach(() => bench.localnet.controls.clearFaults());
afterAll(() => bench.localnet.close());

/** Which of 40 calls got a fault. */
async function pattern(): Promise<boolean[]> {
  const met: boolean[] = [];
  for (let call = 0; call < 40; call += 1) met.push((await bench.post(0, 'getSlot')).status === 503);
  return met;
}

describe('faults over JSON-RPC', () => {
  it('occur as often as configured, and the localnet refuses a malformed fault', async () => {
    const fault = { kind: 'error', code: -32004, message: 'Block not available' };
    await bench.ask(0, 'localnet_setFault', [1, 'getSlot', fault, 1]);
    expect(await bench.ask(1, 'getSlot')).toMatchObject({ error: { code: -32004 } });
    expect(await bench.ask(1, 'getSlot')).toMatchObject({ result: expect.any(Number) });
    for (const params of [
      [1, 'getSlot', { kind: 'nonsense' }],
      [1, 'getSlot', fault, 0],
      [1, 'getSlot', fault, { probability: 2 }],
      [2, 'getSlot', fault],
    ])
      expect(await bench.ask(0, 'localnet_setFault', params)).toMatchObject({ error: { code: -32602 } });
  });

  it('occur with a probability, at the same calls for the same seed', async () => {
    const runs: boolean[][] = [];
    for (const seed of [7, 7, 8]) {
      await bench.ask(1, 'localnet_setFault', [
        0,
        'getSlot',
        { kind: 'http', status: 503 },
        { probability: 0.5, seed },
      ]);
      runs.push(await pattern());
      await bench.ask(1, 'localnet_clearFaults', [0, 'getSlot']);
    }
    const [first = [], again, other] = runs;
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    const met = first.filter(Boolean).length;
    expect(met).toBeGreaterThan(10);
    expect(met).toBeLessThan(30);
  });

  it('spare the control methods of a dead node, end one by one, and are counted', async () => {
    const countOf = async () => {
      const { result } = (await bench.ask(0, 'localnet_faultsMet')) as { result: { drop?: number } };
      return result.drop ?? 0;
    };
    const before = await countOf();
    bench.localnet.controls.setFault(0, '*', { kind: 'drop' });
    bench.localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
    await expect(bench.post(0, 'getSlot')).rejects.toThrow();
    expect(await countOf()).toBe(before + 1);
    await bench.ask(0, 'localnet_clearFaults', [0]);
    expect((await bench.post(0, 'getSlot')).status).toBe(200);
    expect((await bench.post(1, 'getSlot')).status).toBe(503);
  });

  it('do not apply to a caller that asks for the answer of a healthy node', async () => {
    bench.localnet.controls.setFault(0, '*', { kind: 'lag', blocks: 5 });
    bench.localnet.controls.setFault(0, 'getSlot', { kind: 'error', code: -32004, message: 'not available' });
    const { result } = (await bench.ask(1, 'getSlot', [{ commitment: 'processed' }])) as { result: number };
    const healthy = await bench.ask(0, 'localnet_healthy', ['getSlot', { commitment: 'processed' }]);
    expect(healthy).toMatchObject({ result });
    for (const unknown of ['getNothing', 'localnet_undone'])
      expect(await bench.ask(0, 'localnet_healthy', [unknown])).toMatchObject({ error: { code: -32601 } });
  });
});
