import { describe, expect, it } from 'vitest';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { until } from '../support/until.ts';
import { LandingFixture, recordProgress, useLandingFixture } from './landing-fixture.ts';

/** Where other programs paid twice, or would; docs/faults.md has the whole list. */
const AMOUNT = 5_000_000n;
const BOTH = [0, 1];
const BEYOND_LIFE = 160;

const fixture = useLandingFixture();

function disturb(nodes: readonly number[], method: string, fault: Fault): void {
  for (const node of nodes) fixture.localnet.controls.setFault(node, method, fault);
}

/** Every node gives this one status, for any request. */
function pin(nodes: readonly number[], status: object | null): void {
  const result = { context: { slot: 1 }, value: [status] };
  disturb(nodes, 'getSignatureStatuses', { kind: 'result', result });
}

function refusal(err: string): Fault {
  return { kind: 'error', code: -32002, message: 'Transaction simulation failed', data: { err } };
}

/** An attempt that has landed and is final, and whose life is over, before a watcher starts. */
async function landedUnseen() {
  const sent = await fixture.attempt(newAddress(), AMOUNT);
  await fixture.chain.send(sent.raw);
  const from = fixture.localnet.controls.chain.ledger.tip.slot + 1;
  fixture.localnet.controls.produceSlots(BEYOND_LIFE);
  return { sent, from };
}

describe('an answer to a send that other programs took as final', () => {
  const kinds: readonly (readonly [string, readonly number[], Fault])[] = [
    ['rustchain #14548, peanut-ui #2619: taken, and the connection lost', BOTH, { kind: 'lost-answer' }],
    ['thirdweb engine: AlreadyProcessed on a re-send', BOTH, refusal('AlreadyProcessed')],
    [
      'vultisig #5105, OneKey #13522: BlockhashNotFound of a node that lags',
      [0],
      refusal('BlockhashNotFound'),
    ],
    ['OpenZeppelin relayer: errors until it was marked as failed', BOTH, { kind: 'http', status: 503 }],
  ];

  it.each(kinds)('%s: the attempt is resent, lands, and is paid once', async (_defect, nodes, fault) => {
    const destination = newAddress();
    const sent = await fixture.attempt(destination, AMOUNT);
    const isTakenNow = nodes !== BOTH || fault.kind === 'lost-answer';
    if (!isTakenNow) await fixture.chain.send(sent.raw);
    disturb(nodes, 'sendTransaction', fault);
    const met = fixture.localnet.controls.faultsMet()[fault.kind] ?? 0;
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    const again = met + 3 * nodes.length;
    await until(() => (fixture.localnet.controls.faultsMet()[fault.kind] ?? 0) >= again);
    expect(progress).toEqual([]);
    expect((await fixture.withBlocks(end)).verdict.kind).toBe('landed');
    expect(await fixture.lamportsOf(destination)).toBe(AMOUNT);
  });
});

describe('an attempt whose blockhash a node reports as expired', () => {
  it('thirdweb engine: its transaction lands late, at its last height, and is still watched', async () => {
    const { controls } = fixture.localnet;
    const destination = newAddress();
    const sent = await fixture.attempt(destination, AMOUNT);
    fixture.swallow();
    disturb(BOTH, 'isBlockhashValid', { kind: 'blockhash-age', heights: -1 });
    disturb([1], 'getBlockHeight', { kind: 'height-offset', blocks: 1_000 });
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    const left = Number(sent.lastValidBlockHeight) - controls.chain.ledger.tip.height - 1;
    controls.produceSlots(left);
    const met = controls.faultsMet()['height-offset'] ?? 0;
    await until(() => (controls.faultsMet()['height-offset'] ?? 0) >= met + 3);
    expect(progress).toEqual([]);
    controls.clearFaults();
    await fixture.chain.send(sent.raw);
    controls.produceSlot();
    const { tip } = controls.chain.ledger;
    expect(tip.height).toBe(Number(sent.lastValidBlockHeight));
    expect(controls.chain.ledger.record(sent.signature)?.slot).toBe(tip.slot);
    expect((await fixture.withBlocks(end)).verdict.kind).toBe('landed');
    expect(await fixture.lamportsOf(destination)).toBe(AMOUNT);
  });
});

describe('an attempt that landed while no node shows it', () => {
  it.each([
    ['pay #434, private-channels #223: null for ever', null],
    [
      'compare-dashboard #87: pinned at processed',
      { slot: 1, confirmations: 0, err: null, confirmationStatus: 'processed' },
    ],
  ])('%s: the linked blocks hold it, so it is never dead', async (_defect, status) => {
    const { sent } = await landedUnseen();
    pin(BOTH, status);
    disturb(BOTH, 'getTransaction', { kind: 'null' });
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    expect(progress).toEqual([expect.stringMatching(/^held: .*finalized blocks contain the transaction/)]);
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('landed');
  });

  const pinned = (confirmationStatus: string) => ({
    slot: 1,
    confirmations: 0,
    err: null,
    confirmationStatus,
  });
  it.each([
    ['processed', pinned('processed')],
    ['confirmed', pinned('confirmed')],
    ['null', null],
  ])(
    'compare-dashboard #87: pinned at %s: two nodes that show it prove it landed, one does not',
    async (_at, status) => {
      const { sent } = await landedUnseen();
      pin(BOTH, status);
      disturb([0], 'getTransaction', { kind: 'null' });
      const { progress, hooks } = recordProgress();
      const end = fixture.watcher.watch(sent, hooks);
      await until(() => progress.some((report) => report.startsWith('held: ')));
      expect(progress.at(-1)).toMatch(/^held: .*finalized blocks contain the transaction/);
      fixture.localnet.controls.clearFaults(0, 'getTransaction');
      const { verdict, evidence, spending } = await end;
      expect(verdict.kind).toBe('landed');
      expect(spending.feeLamports).toBe(sent.feeLamports);
      const shown = evidence.statuses.filter(
        ({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized',
      );
      expect(new Set([...shown.map(({ node }) => node), ...evidence.outcomeConfirmedBy]).size).toBe(2);
    },
  );

  it('a hole in every ledger where it landed: null answers of a quorum prove nothing without its blocks', async () => {
    const { sent, from } = await landedUnseen();
    disturb(BOTH, '*', { kind: 'hole', from, to: from + 3 });
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    expect(progress).toEqual([expect.stringMatching(/^held: .*not all linked/)]);
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('landed');
  });
});

describe('an attempt that never landed', () => {
  it('OpenZeppelin relayer: errors for its status are not a null answer', async () => {
    const sent = await fixture.attempt(newAddress(), AMOUNT);
    fixture.swallow();
    disturb(BOTH, 'getSignatureStatuses', { kind: 'error', code: -32603, message: 'Internal error' });
    fixture.localnet.controls.produceSlots(BEYOND_LIFE);
    const { progress, hooks } = recordProgress();
    const end = fixture.watcher.watch(sent, hooks);
    await until(() => progress.length > 0);
    expect(progress).toEqual([expect.stringMatching(/^held: .*no status from .*Internal error/)]);
    fixture.localnet.controls.clearFaults();
    expect((await end).verdict.kind).toBe('dead');
  });

  it.each([
    ['lands where its bytes can', 0],
    ['is dead where they cannot', BEYOND_LIFE],
  ])('that only the best node reports finalized %s, and the node is distrusted', async (_end, blocks) => {
    const three = await LandingFixture.open(undefined, 3);
    const { controls } = three.localnet;
    try {
      const sent = await three.attempt(newAddress(), AMOUNT);
      three.swallow();
      controls.produceSlots(blocks);
      const slot = Number(sent.blockhashSlot) + 1;
      const status = { slot, confirmations: null, err: null, confirmationStatus: 'finalized' };
      const result = { context: { slot }, value: [status] };
      controls.setFault(0, 'getSignatureStatuses', { kind: 'result', result });
      const { progress, hooks } = recordProgress();
      const end = three.impatient().watch(sent, hooks);
      await until(() => progress.some((report) => report.startsWith('held')));
      const [liar] = three.pool.report();
      expect(liar?.demotion).toMatchObject({
        cause: 'false',
        reason: expect.stringContaining(liar?.node ?? ''),
      });
      if (blocks === 0) controls.clearFaults(undefined, 'sendTransaction');
      const { verdict } = await (blocks === 0 ? three.withBlocks(end) : end);
      expect(verdict.kind).toBe(blocks === 0 ? 'landed' : 'dead');
    } finally {
      await three.close();
    }
  });

  it.each(['processed', 'confirmed'])(
    'that only the best node reports %s in a far slot is dead, and the node is distrusted',
    async (seen) => {
      const three = await LandingFixture.open(undefined, 3);
      const { controls } = three.localnet;
      try {
        const sent = await three.attempt(newAddress(), AMOUNT);
        three.swallow();
        controls.produceSlots(BEYOND_LIFE);
        const slot = 10 ** 12;
        const status = { slot, confirmations: 1, err: null, confirmationStatus: seen };
        const result = { context: { slot }, value: [status] };
        controls.setFault(0, 'getSignatureStatuses', { kind: 'result', result });
        expect((await three.watcher.watch(sent, recordProgress().hooks)).verdict.kind).toBe('dead');
        const [liar] = three.pool.report();
        expect(liar?.demotion).toMatchObject({
          cause: 'false',
          reason: expect.stringContaining(`${seen} in slot ${slot}, but a quorum's blocks lack it`),
        });
      } finally {
        await three.close();
      }
    },
    15_000,
  );

  it('that only a node at the end of the ranking reports finalized is dead', async () => {
    const three = await LandingFixture.open(undefined, 3);
    try {
      const sent = await three.attempt(newAddress(), AMOUNT);
      three.swallow();
      three.localnet.controls.produceSlots(BEYOND_LIFE);
      const status = { slot: 1, confirmations: null, err: null, confirmationStatus: 'finalized' };
      const result = { context: { slot: 1 }, value: [status] };
      three.localnet.controls.setFault(2, 'getSignatureStatuses', { kind: 'result', result });
      expect((await three.watcher.watch(sent, recordProgress().hooks)).verdict.kind).toBe('dead');
    } finally {
      await three.close();
    }
  });
});
