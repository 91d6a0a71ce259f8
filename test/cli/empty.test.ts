import { expect, test } from 'vitest';
import { jsonOf } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const use = useCommands();

/** The text of each empty list, and the JSON field of its rows. */
const LISTS = [
  {
    args: ['withdrawals', 'list', '--status', 'held'],
    says: 'no withdrawals found',
    json: { withdrawals: [], nextCursor: null },
  },
  {
    args: ['settlements', 'list'],
    says: 'no settlements found',
    json: { settlements: [], nextCursor: null },
  },
  { args: ['payments', 'list'], says: 'no payments found', json: { payments: [], nextCursor: null } },
  {
    args: ['deposits', 'list', '--state', 'final'],
    says: 'no deposits found',
    json: { deposits: [], nextCursor: null },
  },
  { args: ['backfill', 'list'], says: 'no backfills found', json: { backfills: [], nextCursor: null } },
  {
    args: ['webhooks', 'list'],
    says: 'no webhooks found',
    json: { webhooks: [] },
  },
  { args: ['alerts', 'list'], says: 'no alerts found', json: { alerts: [], pauses: [] } },
] as const;

test.each(LISTS)('sluice $args prints that the list is empty', async ({ args, says, json }) => {
  const [read, parsed] = await Promise.all([use.sluice(...args), use.sluice(...args, '-o', 'json')]);
  expect(read.stdout).toBe(`${says}\n`);
  expect(jsonOf(parsed)).toEqual(json);
  expect([read.code, parsed.code]).toEqual([0, 0]);
});
