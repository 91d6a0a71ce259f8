import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

it('one node of three that answers correctly, but late, is not asked for each block', async () => {
  await fixture.scanAll(fixture.scanner());
  const blocks = 24;
  fixture.finalize(blocks);
  nodes.liar.edit = async (method, _params, answer) => {
    if (method === 'getBlock') await sleep(2_500);
    return answer;
  };
  nodes.liar.asked = [];
  await fixture.scanAll(new DepositScanner(fixture.deps(nodes.pool)));
  expect(nodes.liar.asked.filter((method) => method === 'getBlock').length).toBeLessThan(blocks);
  expect((await fixture.ledger.scan.cursor())?.slot).toBe(
    BigInt(fixture.localnet.controls.chain.at('finalized').slot),
  );
});
