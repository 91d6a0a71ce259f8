import { expect, it } from 'vitest';
import { useScanFixture } from './scan-fixture.ts';
import { hasState, scanUntil } from './scan-steps.ts';

const fixture = useScanFixture();

const turn = (until: 'tail' | 'paused' | 'waiting') => scanUntil(fixture.deps(), hasState(until));

function takeNodesAway(): void {
  for (const node of fixture.localnet.rpcUrls.keys())
    fixture.localnet.controls.setFault(node, '*', { kind: 'http', status: 503 });
}

it('a paused scan reports how far the chain has advanced, and no rate', async () => {
  await fixture.scanAll(fixture.scanner());
  expect(await turn('tail')).toMatchObject({ state: 'tail', lag: '0' });
  await fixture.ledger.scanPauses.begin({ actor: 'ops', reason: 'to see' });
  fixture.finalize(7);
  const tip = fixture.localnet.controls.chain.at('finalized').slot.toString();
  expect(await turn('paused')).toMatchObject({ state: 'paused', tip, lag: '7', blocksPerSecond: null });
});

it('a paused scan with unreachable nodes stays paused, and reports no tip', async () => {
  takeNodesAway();
  expect(await turn('paused')).toMatchObject({ state: 'paused', reason: 'to see', tip: null, lag: null });
});

it('a scan that waits for nodes reports no tip and no rate', async () => {
  await fixture.ledger.scanPauses.end({ actor: 'ops', reason: 'seen' });
  takeNodesAway();
  const noProgress = { tip: null, lag: null, blocksPerSecond: null };
  expect(await turn('waiting')).toMatchObject({ state: 'waiting', ...noProgress });
});
