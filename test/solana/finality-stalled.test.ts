import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { until } from '../support/until.ts';
import { recordProgress, useLandingFixture } from './landing-fixture.ts';

const fixture = useLandingFixture();

describe('an attempt before its last height', () => {
  it.each([
    ['no node answers', { kind: 'http', status: 503 }, 'too few nodes report a finalized height: none from'],
    [
      'the finalized height does not grow',
      { kind: 'result', result: 7 },
      'finality has not advanced from block height',
    ],
  ] as const)(
    'is held while %s, and released once blocks become final again',
    async (_name, fault, reason) => {
      const sent = await fixture.attempt(newAddress(), 5_000_000n);
      fixture.swallow();
      for (const node of [0, 1]) fixture.localnet.controls.setFault(node, 'getBlockHeight', fault);
      const { progress, hooks } = recordProgress();
      const end = fixture.restless().watch(sent, hooks);
      await until(() => progress.length > 0);
      expect(progress[0]).toContain(`held: ${reason}`);
      fixture.localnet.controls.clearFaults();
      expect((await fixture.withBlocks(end)).verdict.kind).toBe('landed');
      expect(progress[1]).toMatch(/^(sending|confirmed)$/);
    },
  );
});

describe('an attempt past its last height', () => {
  it.each([
    ['has pruned its history', '*', (slot: number) => ({ kind: 'history-from', slot }) as const],
    [
      'no longer keeps history',
      'getTransaction',
      () => ({ kind: 'error', code: -32011, message: 'Transaction history is not available' }) as const,
    ],
  ])(
    'is held while one of two nodes %s, and dead once the node has its history again',
    async (_name, method, faultAt) => {
      const { controls } = fixture.localnet;
      const sent = await fixture.attempt(newAddress(), 5_000_000n);
      fixture.swallow();
      controls.produceSlots(160);
      controls.setFault(1, method, faultAt(controls.chain.ledger.tip.slot - 50));
      const { progress, hooks } = recordProgress();
      const end = fixture.watcher.watch(sent, hooks);
      await until(() => progress.length > 0);
      expect(progress[0]).toMatch(/^held: /);
      controls.clearFaults();
      fixture.swallow();
      await fixture.pool.probe();
      expect((await end).verdict.kind).toBe('dead');
    },
  );
});
