import { afterEach, expect, it, vi } from 'vitest';
import type { Fault } from '../../../devkit/localnet/faults.ts';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { rpc } from '../../../devkit/localstack/rpc.ts';
import { askBlockOutcome, askOutcome } from '../../../src/solana/proof/outcomes.ts';
import type { SolanaNode } from '../../../src/solana/rpc/node.ts';
import { until } from '../../support/until.ts';
import { recordProgress, useLandingFixture } from '../landing-fixture.ts';

const fixture = useLandingFixture();

afterEach(() => vi.restoreAllMocks());

const DETAILED = 'accounts';

/** How often all nodes received this request since. */
function counting(): (method: string) => number {
  const spies = fixture.pool.nodes.map((node) => vi.spyOn(node, 'call'));
  const isAsked = (method: string, [asked, params]: readonly unknown[]) =>
    asked === method && (method !== 'getBlock' || JSON.stringify(params).includes(DETAILED));
  return (method) =>
    spies.reduce((sum, { mock }) => sum + mock.calls.filter((call) => isAsked(method, call)).length, 0);
}

/** Lands so many payments in one block, and waits for their ends. */
async function landed(count: number, fault: Fault | null = null) {
  const attempts = await Promise.all(
    Array.from({ length: count }, () => fixture.attempt(newAddress(), 1_000_000n)),
  );
  const { controls, rpcUrls } = fixture.localnet;
  if (fault !== null) for (const node of rpcUrls.keys()) controls.setFault(node, 'getBlock', fault);
  const listeners = attempts.map(() => recordProgress());
  const send = vi.spyOn(fixture.chain, 'send');
  const ends = attempts.map((attempt, index) => {
    const { hooks } = listeners[index] ?? recordProgress();
    return fixture.watcher.watch(attempt, hooks);
  });
  await until(() => send.mock.results.length >= count);
  await Promise.all(send.mock.results.map(({ value }) => value));
  return fixture.withBlocks(Promise.all(ends));
}

it('the outcomes of four payments in one block are read from that block at once', async () => {
  const asked = counting();
  const ends = await landed(4);
  expect(new Set(ends.map(({ verdict }) => verdict.kind))).toEqual(new Set(['landed']));
  expect(ends.map(({ spending }) => spending.spentLamports)).toEqual(
    ends.map(({ spending }) => 1_000_000n + (spending.feeLamports ?? 0n)),
  );
  expect(asked('getTransaction')).toBe(0);
  expect(asked('getBlock')).toBe(1);
});

it('the outcomes of fewer payments in one block are requested one by one', async () => {
  const asked = counting();
  await landed(3);
  expect(asked('getTransaction')).toBe(3);
  expect(asked('getBlock')).toBe(0);
});

it.each([
  ['refuses its block', { kind: 'error', code: -32_009, message: 'Slot was skipped' }],
  ['shows a block without them', { kind: 'result', result: { transactions: [] } }],
] as const)('the outcomes are requested one by one when a node %s', async (_what, fault) => {
  const asked = counting();
  const ends = await landed(4, fault);
  expect(ends.map(({ verdict }) => verdict.kind)).toEqual(['landed', 'landed', 'landed', 'landed']);
  expect(asked('getTransaction')).toBe(4);
});

it('an outcome is the same from a block as from a single request, even of a failed transaction', async () => {
  const poor = await fixture.attempt(newAddress(), 10n ** 15n);
  const [node] = fixture.pool.nodes;
  if (node === undefined) throw new Error('there is a node');
  const url = fixture.localnet.rpcUrls[0] ?? '';
  await rpc(url, 'sendTransaction', [poor.raw, { encoding: 'base64', skipPreflight: true }]);
  fixture.localnet.controls.produceSlots(8);
  const alone = await askOutcome(node, poor.signature);
  const ask = (of: SolanaNode) => askBlockOutcome(alone?.slot ?? 0n, [poor.signature])(of, poor.signature);
  expect(alone?.error).toEqual(expect.any(String));
  expect(await ask(node)).toEqual(alone);
});
