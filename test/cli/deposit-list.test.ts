import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { depositId } from '../../src/ledger/deposit-id.ts';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { address, chain, inflow, START } from '../ledger/chain-of-blocks.ts';
import { commit, confirmAll, imported } from '../ledger/deposit-ledger.ts';
import { lastWord, runSluice } from '../support/cli.ts';

const [ANN, BEN] = [address('ann'), address('ben')];

// Every command is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

let service: Service;
let apiUrl: string;
beforeAll(async () => {
  service = await openService();
  apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => service?.close());

const deposits = (...args: readonly string[]) =>
  runSluice(['deposits', ...args], { env: { SLUICE_API_URL: apiUrl, SLUICE_API_KEY: API_KEY } });

test('deposits are a table with their ids, which says when there are more', async () => {
  const { ledger } = service;
  await imported(ledger, ANN, BEN);
  await ledger.scan.start(START);
  await ledger.addresses.assign('user-17');
  await commit(ledger, chain(START, [inflow(ANN, 5n), inflow(BEN, 1_000n, { reason: 'below_minimum' })]));
  await confirmAll(ledger);
  const { rows } = await ledger.deposits.list({ limit: 2 });
  const lines = rows.map((row) => `${depositId(row)}  ${row.signature}`);
  const [all, one, json, alone] = await Promise.all([
    deposits(),
    deposits('--limit', '1'),
    deposits('--limit', '1', '--json'),
    deposits('--after', '3'),
  ]);

  const [headings = '', first = '', second = ''] = all.stdout.split('\n');
  expect(headings).toMatch(/^block +state +base units {2}asset {2}to +id +signature$/);
  const time = '1970-01-01T00:16:41.000Z';
  expect(first).toBe(`${time}  not_credited (below_minimum)  1000        SOL    ${BEN}  ${lines[0]}`);
  expect(second).toBe(
    `${time}  final                         5           SOL    ${'user-17'.padEnd(BEN.length)}  ${lines[1]}`,
  );
  const { nextCursor } = lastWord(json) as { readonly nextCursor: string };
  const more = `there are more: --cursor ${nextCursor} goes on, --limit lists more at once`;
  expect(one.stdout.split('\n').slice(2)).toEqual([more, '']);
  expect(lastWord(json)).toMatchObject({ deposits: [{ state: 'not_credited' }] });
  expect(lastWord(await deposits('--cursor', nextCursor, '--json'))).toMatchObject({
    deposits: [{ state: 'final' }],
    nextCursor: null,
  });
  expect(await deposits('--follow', '--cursor', nextCursor)).toMatchObject({ code: 2 });
  expect(alone).toMatchObject({ code: 2, stderr: 'sluice: --after is for the feed: add --follow\n' });
});
