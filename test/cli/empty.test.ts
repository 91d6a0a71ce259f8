import { expect, test } from 'vitest';
import { lastWord } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const use = useCommands();

/** What each list says of nothing, and where `--json` has its rows. */
const LISTS = [
  { args: ['list'], says: 'no withdrawals yet', json: { withdrawals: [] } },
  { args: ['list', '--status', 'held'], says: 'no withdrawal matches', json: { withdrawals: [] } },
  { args: ['deposits'], says: 'no deposits yet', json: { deposits: [], nextCursor: null } },
  {
    args: ['deposits', '--state', 'final'],
    says: 'no deposit matches',
    json: { deposits: [], nextCursor: null },
  },
  { args: ['scan', 'rescans'], says: 'no rescans yet', json: { rescans: [], nextCursor: null } },
  {
    args: ['webhooks'],
    says: 'no webhooks yet: `sluice webhooks add URL` makes one',
    json: { webhooks: [] },
  },
] as const;

test.each(LISTS)('sluice $args of nothing says so', async ({ args, says, json }) => {
  const [read, parsed] = await Promise.all([use.sluice(...args), use.sluice(...args, '--json')]);
  expect(read.stdout).toBe(`${says}\n`);
  expect(lastWord(parsed)).toEqual(json);
  expect([read.code, parsed.code]).toEqual([0, 0]);
});
