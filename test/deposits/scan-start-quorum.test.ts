import { expect, it } from 'vitest';
import { startBlock } from '../../src/solana/scan/start.ts';
import { useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

it.each([
  ['one slot', 1],
  ['each slot', 6],
])('one node that lists %s without a block does not keep a scan from its start', async (_name, listed) => {
  const { controls } = fixture.localnet;
  const last = BigInt(controls.produceSlot());
  controls.skipSlots(6);
  controls.produceSlots(6);
  const first = last + 1n;
  nodes.liar.edit = (method, _params, answer) => {
    if (method === 'getBlocks') {
      const skipped = Array.from({ length: listed }, (_, index) => Number(first) + index);
      answer.result = [...skipped, ...answer.result];
    }
    return answer;
  };
  expect((await startBlock(nodes.pool, first)).slot).toBe(last);
});
