import { expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { haltAfter } from '../../src/deposits/scan/failure-alerts.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { isWholeBlock, useProxies } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const use = useProxies(fixture);

it('the scan waits for a block that every node returns without metadata, and reads it once a node returns the metadata', async () => {
  const scanner = new DepositScanner(fixture.deps(use.pool));
  await fixture.scanAll(scanner);
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(newAddress(), 7_000_000n);
  await fixture.localnet.airdrop(wallet, 8_000_000n);
  fixture.finalize();
  for (const proxy of use.proxies)
    proxy.edit = (method, params, answer) => {
      if (isWholeBlock(method, params))
        for (const transaction of answer.result?.transactions ?? []) transaction.meta = null;
      return answer;
    };
  for (let looks = 0; looks < 3; looks += 1) {
    const halt = haltAfter(await fixture.scanAll(scanner).catch((error: unknown) => error));
    expect(halt).toMatchObject({ state: 'waiting', reason: expect.stringContaining('without meta') });
  }
  expect(await fixture.depositsOf(wallet)).toEqual([]);
  for (const proxy of use.proxies) proxy.beHonest();
  await fixture.scanAll(scanner);
  expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 8_000_000n }]);
});
