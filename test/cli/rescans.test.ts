import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { START } from '../ledger/chain-of-blocks.ts';
import { lastWord, runSluice } from '../support/cli.ts';

// Every command is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

let service: Service;
let apiUrl: string;
beforeAll(async () => {
  service = await openService();
  apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
  await service.ledger.scan.start(START);
});
afterAll(() => service?.close());

const scan = (...args: readonly string[]) =>
  runSluice(['scan', ...args], { env: { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY } });

test('rescans are listed in parts, and one that is only joined is told by who asked for it', async () => {
  const { rescans } = service.ledger;
  for (const to of [102n, 101n]) await rescans.begin({ from: 100n, to, who: 'ops', why: 'x' });
  await rescans.begin({ from: 100n, to: 100n, who: 'somebody', why: 'missed one' });
  const joined = await scan('rescan', '100', '100', 'again');
  expect(joined.stdout).toMatch(
    /^rescan of 100 to 100 by somebody since \S+Z: workflow deposit-rescan\/100-100\n/,
  );
  const newest = await scan('rescans', '--limit', '2');
  expect(newest.stdout).toMatch(/ 100 +reading [^]+ 101 +reading [^]+\nthere are more: --cursor \S+ goes on/);
  const first = lastWord(await scan('rescans', '--limit', '2', '--json')) as { readonly nextCursor: string };
  expect(first).toMatchObject({ rescans: [{ to: '100' }, { to: '101' }] });
  const rest = lastWord(await scan('rescans', '--cursor', first.nextCursor, '--json'));
  expect(rest).toMatchObject({ rescans: [{ to: '102' }], nextCursor: null });
});
