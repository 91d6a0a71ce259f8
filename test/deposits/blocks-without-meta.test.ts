import { expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { haltAfter } from '../../src/deposits/scan/failure-alerts.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { isWholeBlock, useProxies } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture(3);
const use = useProxies(room);

it('the scan waits for a block that every node returns without metadata, and reads it once a node returns the metadata', async () => {
  const scanner = new DepositScanner(room.deps(use.pool));
  await room.scanAll(scanner);
  const wallet = await room.newDepositAddress();
  await room.localnet.airdrop(newAddress(), 7_000_000n);
  await room.localnet.airdrop(wallet, 8_000_000n);
  room.finalize();
  for (const proxy of use.proxies)
    proxy.edit = (method, params, answer) => {
      if (isWholeBlock(method, params))
        for (const transaction of answer.result?.transactions ?? []) transaction.meta = null;
      return answer;
    };
  for (let looks = 0; looks < 3; looks += 1) {
    const halt = haltAfter(await room.scanAll(scanner).catch((error: unknown) => error));
    expect(halt).toMatchObject({ state: 'waiting', reason: expect.stringContaining('without meta') });
  }
  expect(await room.depositsOf(wallet)).toEqual([]);
  for (const proxy of use.proxies) proxy.beHonest();
  await room.scanAll(scanner);
  expect(await room.depositsOf(wallet)).toMatchObject([{ amount: 8_000_000n }]);
});
