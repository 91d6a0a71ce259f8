import { expect, test, vi } from 'vitest';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { API_KEY } from '../http/service.ts';
import { address, chain, inflow, START } from '../ledger/chain-of-blocks.ts';
import { commit, confirmAll, importWallets } from '../ledger/deposit-ledger.ts';
import { jsonOf, startSluice } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const [ANN, BEN] = [address('ann'), address('ben')];

// Starting a process takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const use = useCommands();

const deposits = (...args: readonly string[]) => use.sluice('deposits', 'list', ...args);

test('deposits list prints a table with ids, and says when more rows exist', async () => {
  const { ledger } = use.service;
  await importWallets(ledger, ANN, BEN);
  await ledger.scan.start(START);
  await ledger.addresses.assign('user-17');
  await commit(ledger, chain(START, [inflow(ANN, 5n), inflow(BEN, 1_000n, { reason: 'below_minimum' })]));
  await confirmAll(ledger);
  const { rows } = await ledger.deposits.list({ limit: 2 });
  const lines = rows.map((row) => `${depositId(row)}  ${row.signature}`);
  const [all, one, json] = await Promise.all([
    deposits(),
    deposits('--limit', '1'),
    deposits('--limit', '1', '-o', 'json'),
  ]);

  const [headings = '', first = '', second = ''] = all.stdout.split('\n');
  expect(headings).toMatch(/^slot +block time +state +base units {2}asset {2}to +id +signature$/);
  const time = '1970-01-01T00:16:41.000Z';
  expect(first).toBe(`101   ${time}  not_credited (below_minimum)  1000        SOL    ${BEN}  ${lines[0]}`);
  expect(second).toBe(
    `101   ${time}  final                         5           SOL    ${'user-17'.padEnd(BEN.length)}  ${lines[1]}`,
  );
  const { nextCursor } = jsonOf(json) as { readonly nextCursor: string };
  const more = `More rows: add --cursor ${nextCursor}, or raise --limit`;
  expect(one.stdout.split('\n').slice(2)).toEqual([more, '']);
  expect(jsonOf(json)).toMatchObject({ deposits: [{ state: 'not_credited' }] });
  expect(jsonOf(await deposits('--cursor', nextCursor, '-o', 'json'))).toMatchObject({
    deposits: [{ state: 'final' }],
    nextCursor: null,
  });
});

test('deposits get prints one deposit as a table row or as JSON', async () => {
  const [row] = (await use.service.ledger.deposits.list({ limit: 1 })).rows;
  const id = row === undefined ? '' : depositId(row);
  const [shown, json] = await Promise.all([
    use.sluice('deposits', 'get', id),
    use.sluice('deposits', 'get', id, '-o', 'json'),
  ]);
  expect(shown.stdout.split('\n')[1]).toContain(
    `not_credited (below_minimum)  1000        SOL    ${BEN}  ${id}`,
  );
  expect(jsonOf(json)).toMatchObject({ id, state: 'not_credited', wallet: BEN });
});

test('deposits follow prints the feed below table headings', async () => {
  const [at] = use.service.app.addresses();
  if (typeof at !== 'object') throw new Error('it listens');
  const env = { SLUICE_API_URL: `http://127.0.0.1:${at.port}`, SLUICE_API_KEY: API_KEY };
  const following = startSluice(['deposits', 'follow'], { env });
  await expect.poll(() => following.stdout().split('\n').length, { timeout: 120_000 }).toBeGreaterThan(2);
  following.child.kill('SIGINT');
  const [headings = '', first = ''] = (await following.ended).stdout.split('\n');
  expect(headings).toMatch(/^event +at +slot +block time +state +base units +asset +to +id +signature/);
  for (const [heading, cell] of [
    ['slot', /101|102/],
    ['base units', /5|1000/],
    ['id', /dep_/],
  ] as const)
    expect(first.slice(headings.indexOf(`  ${heading}`) + 2).search(cell)).toBe(0);
});
