import { expect, test } from 'vitest';
import { START } from '../ledger/chain-of-blocks.ts';
import { jsonOf } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const use = useCommands(async ({ ledger }) => {
  await ledger.scan.start(START);
  await ledger.db.updateTable('scanCursor').set({ slot: 109n }).execute();
});

const backfill = (...args: readonly string[]) => use.sluice('backfill', ...args);

test('sluice lists backfills page by page, and shows the actor who requested a joined backfill', async () => {
  const { backfills } = use.service.ledger;
  for (const to of [102n, 101n]) await backfills.begin({ from: 100n, to, actor: 'ops', reason: 'x' });
  await backfills.begin({ from: 100n, to: 100n, actor: 'operator', reason: 'missed one' });
  const joined = await backfill('blocks', '--from', '100', '--to', '100', '--reason', 'again');
  expect(joined.stdout).toMatch(
    /^backfill 3 of slots 100 to 100 by operator since \S+Z: workflow backfill\/blocks\/100-100; see `sluice backfill get 3`\n$/,
  );
  const newest = await backfill('list', '--limit', '2');
  expect(newest.stdout).toMatch(/ 100 +reading [^]+ 101 +reading [^]+\nMore rows: add --cursor \S+, or/);
  const first = jsonOf(await backfill('list', '--limit', '2', '-o', 'json')) as {
    readonly nextCursor: string;
  };
  expect(first).toMatchObject({ backfills: [{ to: '100' }, { to: '101' }] });
  const rest = jsonOf(await backfill('list', '--cursor', first.nextCursor, '-o', 'json'));
  expect(rest).toMatchObject({ backfills: [{ to: '102' }], nextCursor: null });
});

test('sluice names the slots of an incomplete backfill that the nodes did not return', async () => {
  const { backfills } = use.service.ledger;
  const begun = await backfills.begin({ from: 100n, to: 109n, actor: 'ops', reason: 'x' });
  await backfills.end(begun, { blocks: 4, unread: [{ from: '104', to: '106' }], read: [] });
  const newest = await backfill('list', '--limit', '1');
  expect((await backfill('get', '5')).code).toBe(5);
  expect(newest.stdout).toMatch(/ incomplete \S+Z: nodes did not return slots 104 to 106 +4 +0 /);
});
