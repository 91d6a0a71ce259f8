import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import { address } from '../ledger/chain-of-blocks.ts';
import { importWallets } from '../ledger/deposit-ledger.ts';
import { jsonOf } from '../support/cli.ts';
import { useCommands } from './commands.ts';

const [ANN, BEN] = [address('ann'), address('ben')];
const REASON = 'no quorum of the nodes shows what it holds, and what moved';
const NOTHING = { compared: [], alarms: [], unread: [] };

const use = useCommands(({ ledger }) => importWallets(ledger, ANN, BEN));
beforeEach(() => sql`truncate reconciliation, unread_wallet`.execute(use.service.ledger.db));

const reconciliation = (...args: readonly string[]) => use.sluice('reconciliation', 'status', ...args);

test('reconciliation status reports that no pass has started', async () => {
  const [text, json] = [await reconciliation(), await reconciliation('-o', 'json')];
  expect(text).toMatchObject({
    code: 5,
    stdout: expect.stringMatching(/^the reconciliation has never run: check the chain workers/),
  });
  expect(jsonOf(json)).toEqual({ last: null, open: null, watched: 2, unread: 0, longestUnread: [] });
});

test('reconciliation status shows the progress of a running pass, its obstacle, and the wallets that no node returns', async () => {
  const { reconciliations } = use.service.ledger;
  const tally = { wallets: 1, accounts: 3, differences: 0 };
  const unread = [{ wallet: BEN, reason: REASON }];
  await reconciliations.commit(await reconciliations.begin(), { ...NOTHING, next: ANN, tally, unread });
  await reconciliations.halt(await reconciliations.begin(), 'the scan has not reached slot 95');
  const { code, stdout } = await reconciliation();
  const lines = stdout.split('\n');
  expect(code).toBe(5);
  expect(lines[0]).toBe('no pass has ended yet');
  expect(lines[1]).toMatch(/^pass running since \S+Z, after wallet /);
  expect(lines[1]).toContain(`after wallet ${ANN}; 2 wallets in all`);
  expect(lines.slice(2, 6)).toEqual([
    '  compared  1 wallet, 3 accounts',
    '  verdict   chain and database agree',
    '  halted    the scan has not reached slot 95: the next round continues',
    '1 wallet could not be compared; Sluice tries again every hour:',
  ]);
  expect(lines[7]).toMatch(new RegExp(`^  ${BEN} +\\S+Z +${REASON}$`));
});

test('reconciliation status shows what the last pass compared, when, and whether chain and database agree', async () => {
  const { reconciliations } = use.service.ledger;
  const [first, last] = [
    { wallets: 1, accounts: 3, differences: 0 },
    { wallets: 1, accounts: 2, differences: 1 },
  ];
  const pages = [
    { ...NOTHING, compared: [ANN], next: ANN, tally: first },
    { ...NOTHING, compared: [BEN], next: null, tally: last },
  ];
  for (const page of pages) await reconciliations.commit(await reconciliations.begin(), page);
  const [text, json] = [await reconciliation(), await reconciliation('-o', 'json')];
  expect(text.code).toBe(6);
  expect(text.stdout.split('\n').slice(1)).toEqual([
    '  compared  2 wallets, 5 accounts',
    '  verdict   1 account with a difference: see `sluice alerts list`',
    'no pass is running: one begins every hour',
    'no wallet failed its last comparison',
    '',
  ]);
  expect(jsonOf(json)).toMatchObject({
    last: { wallets: 2, endedAt: expect.stringMatching(/Z$/) },
    open: null,
  });
  const agreed = { ...NOTHING, compared: [ANN, BEN], next: null, tally: { ...last, differences: 0 } };
  await reconciliations.commit(await reconciliations.begin(), agreed);
  expect((await reconciliation()).code).toBe(0);
});
