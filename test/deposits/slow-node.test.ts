import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture(3);
const nodes = useLiar(room);

it('one node of three that answers correctly, but late, is not asked for each block', async () => {
  await room.scanAll(room.scanner());
  const blocks = 24;
  room.finalize(blocks);
  nodes.liar.edit = async (method, _params, answer) => {
    if (method === 'getBlock') await sleep(2_500);
    return answer;
  };
  nodes.liar.asked = [];
  await room.scanAll(new DepositScanner(room.deps(nodes.pool)));
  expect(nodes.liar.asked.filter((method) => method === 'getBlock').length).toBeLessThan(blocks);
  expect((await room.ledger.scan.cursor())?.slot).toBe(
    BigInt(room.localnet.controls.chain.at('finalized').slot),
  );
});
