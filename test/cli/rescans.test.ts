import { expect, test } from 'vitest';
import { START } from '../ledger/chain-of-blocks.ts';
import { lastWord } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const use = useCommands(async ({ ledger }) => {
  await ledger.scan.start(START);
  await ledger.db.updateTable('scanCursor').set({ slot: 109n }).execute();
});

const scan = (...args: readonly string[]) => use.sluice('scan', ...args);

test('rescans are listed in parts, and one that is only joined is told by who asked for it', async () => {
  const { rescans } = use.service.ledger;
  for (const to of [102n, 101n]) await rescans.begin({ from: 100n, to, actor: 'ops', reason: 'x' });
  await rescans.begin({ from: 100n, to: 100n, actor: 'somebody', reason: 'missed one' });
  const joined = await scan('rescan', '--from', '100', '--to', '100', '--reason', 'again');
  expect(joined.stdout).toMatch(
    /^rescan of 100 to 100 by somebody since \S+Z: workflow deposit-rescan\/100-100; see `sluice scan list-rescans`\n$/,
  );
  const newest = await scan('list-rescans', '--limit', '2');
  expect(newest.stdout).toMatch(/ 100 +reading [^]+ 101 +reading [^]+\nMore rows: add --cursor \S+, or/);
  const first = lastWord(await scan('list-rescans', '--limit', '2', '-o', 'json')) as {
    readonly nextCursor: string;
  };
  expect(first).toMatchObject({ rescans: [{ to: '100' }, { to: '101' }] });
  const rest = lastWord(await scan('list-rescans', '--cursor', first.nextCursor, '-o', 'json'));
  expect(rest).toMatchObject({ rescans: [{ to: '102' }], nextCursor: null });
});

test('of a rescan that is not whole it says which slots nodes did not show', async () => {
  const { rescans } = use.service.ledger;
  const begun = await rescans.begin({ from: 100n, to: 109n, actor: 'ops', reason: 'x' });
  await rescans.end(begun, { blocks: 4, unread: [{ from: '104', to: '106' }], read: [] });
  const newest = await scan('list-rescans', '--limit', '1');
  expect(newest.stdout).toMatch(/ incomplete \S+Z: nodes did not show slots 104 to 106 +4 +0 /);
});
