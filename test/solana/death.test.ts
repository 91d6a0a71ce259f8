import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { until } from '../support/until.ts';
import { recordProgress, useLandingFixture } from './landing-fixture.ts';
import { recordCalls } from './rpc-calls.ts';

const fixture = useLandingFixture();

describe('an attempt that never arrives', () => {
  it('is dead only past its last height, by heights, linked blocks and null answers of a quorum (ckSOL, private-channels #133)', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    let dead = false;
    void end.then(() => {
      dead = true;
    });
    fixture.localnet.controls.skipSlots(200);
    fixture.localnet.controls.produceSlots(150);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(dead).toBe(false);
    fixture.localnet.controls.produceSlots(10);
    const { verdict, evidence, spending } = await end;
    expect(verdict).toEqual({ kind: 'dead' });
    expect(spending).toEqual({ feeLamports: null, spentLamports: null, tokenChanges: null });
    expect(progress).toEqual([]);
    if ('use' in evidence) throw new Error('the attempt has a blockhash');
    expect(evidence.coverage).toMatchObject({
      first: { slot: sent.blockhashSlot, blockhash: sent.blockhash, height: sent.blockhashHeight },
      last: { height: sent.lastValidBlockHeight + 1n },
      containsSignature: false,
    });
    for (const bound of [evidence.coverage?.first, evidence.coverage?.last])
      expect(bound?.agreeingNodes).toHaveLength(2);
    expect(evidence.finalizedHeights.every((height) => height.answer > sent.lastValidBlockHeight)).toBe(true);
  });

  it.each([
    ['a block is unavailable', 'getBlock', { kind: 'error', code: -32007, message: 'skipped' }],
    ['a block is null', 'getBlock', { kind: 'null' }],
    ['no node lists blocks', 'getBlocksWithLimit', { kind: 'http', status: 503 }],
  ] as const)('is not dead while %s (the-web3 sol-wallet)', async (_title, method, fault) => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, method, fault);
    fixture.localnet.controls.produceSlots(160);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    fixture.localnet.controls.clearFaults();
    const { verdict } = await end;
    expect(verdict).toEqual({ kind: 'dead' });
  });

  it.each([
    [
      'returns null as of an old slot',
      'getSignatureStatuses',
      { context: { slot: 3 }, value: [null] },
      'whole validity window',
    ],
    ['has a history that begins after it', 'getFirstAvailableBlock', 10 ** 9, 'whole validity window'],
    ['cannot search for the transaction', 'getTransaction', { slot: 'none' }, 'result.slot'],
  ])('is not dead while one of two nodes %s', async (_title, method, result, reason) => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    fixture.localnet.controls.setFault(1, method, { kind: 'result', result });
    fixture.localnet.controls.produceSlots(160);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    expect(progress[0]).toMatch(/^held: the attempt has expired .* too few nodes .* have returned null/);
    expect(progress[0]).toContain(reason);
    fixture.localnet.controls.clearFaults();
    const { verdict, evidence } = await end;
    expect(verdict).toEqual({ kind: 'dead' });
    for (const { answer } of evidence.statuses)
      expect(answer).toMatchObject({ kind: 'absent', atSlot: expect.any(BigInt), historyFrom: 0n });
  });

  it('is not dead while one of two nodes has no status of it but shows the transaction', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    const result = { slot: Number(sent.blockhashSlot) + 1, meta: { err: null, fee: 5_000 } };
    fixture.localnet.controls.setFault(1, 'getTransaction', { kind: 'result', result });
    fixture.localnet.controls.produceSlots(160);
    const { progress, hooks } = recordProgress();
    const end = fixture.impatient().watch(sent, hooks);
    await until(() => progress.length > 0);
    const liar = fixture.pool.nodes[1]?.name;
    expect(progress[0]).toMatch(
      `held: ${liar} reports the transaction as finalized, but the linked blocks lack it`,
    );
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict).toEqual({ kind: 'dead' });
  });

  it('is not dead while one of two nodes does not answer', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    fixture.localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
    fixture.localnet.controls.produceSlots(160);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    expect(progress[0]).toContain(`no height from ${fixture.pool.nodes[1]?.name}`);
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict).toEqual({ kind: 'dead' });
  });

  it.each([
    ['isBlockhashValid', true],
    ['getFeeCalculatorForBlockhash', { feeCalculator: { lamportsPerSignature: 5000 } }],
  ])('is not dead while one of two nodes still accepts its blockhash, by %s', async (method, value) => {
    const { controls } = fixture.localnet;
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.swallow();
    const gone = { kind: 'error', code: -32601, message: 'Method not found' } as const;
    if (method !== 'isBlockhashValid') controls.setFault(1, 'isBlockhashValid', gone);
    controls.setFault(1, method, { kind: 'result', result: { context: { slot: 1 }, value } });
    controls.produceSlots(160);
    const asked: string[] = [];
    const stop = recordCalls(fixture.pool, asked);
    let dead = false;
    const end = fixture.watcher.watch(sent, recordProgress().hooks);
    void end.then(() => (dead = true));
    await until(() => asked.filter((one) => one === method).length >= 4);
    stop();
    expect(dead).toBe(false);
    controls.clearFaults();
    expect((await end).verdict).toEqual({ kind: 'dead' });
  });

  it('is dead when a fork dropped the block of its blockhash, and its bytes never land', async () => {
    fixture.localnet.controls.produceSlots(10);
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    fixture.localnet.controls.fork(3);
    const { hooks } = recordProgress();
    const { verdict, evidence } = await fixture.withBlocks(fixture.watcher.watch(sent, hooks), 5);
    expect(verdict).toEqual({ kind: 'dead' });
    if (!('displacement' in evidence)) throw new Error('the attempt has a blockhash');
    expect(evidence.origin).toBeNull();
    expect(evidence.displacement).toMatchObject({ slot: sent.blockhashSlot });
    expect(evidence.displacement?.by.agreeingNodes).toHaveLength(2);
    expect(fixture.localnet.controls.chain.ledger.record(sent.signature)).toBeUndefined();
  });

  it('is found in the history long after it landed, when the watcher starts late', async () => {
    const sent = await fixture.attempt(newAddress(), 5_000_000n);
    await fixture.chain.send(sent.raw);
    fixture.localnet.controls.produceSlots(500);
    const { verdict, spending } = await fixture.watcher.watch(sent, recordProgress().hooks);
    expect(verdict.kind).toBe('landed');
    expect(spending.feeLamports).toBe(sent.feeLamports);
  });
});
