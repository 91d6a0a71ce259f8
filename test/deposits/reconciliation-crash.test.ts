import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import { COMPILED } from '../support/compiled.ts';
import { openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();
const run = promisify(execFile);
const PAGE = 5;
let wallets: readonly string[] = [];

beforeAll(async () => {
  await fixture.scanAll(fixture.scanner());
  const entries = Array.from({ length: 3 * PAGE }, (_, index) => ({
    address: newAddress(),
    path: `m/${index}`,
  }));
  await fixture.ledger.addresses.import(entries);
  wallets = await fixture.ledger.watched.page(null, entries.length);
  // The second page has a difference: a payment that the database lacks.
  const paid = wallets[PAGE] ?? '';
  await fixture.localnet.airdrop(paid, 3_000_000n);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  await fixture.ledger.db.deleteFrom('depositEvent').execute();
  await fixture.ledger.db.deleteFrom('deposit').where('wallet', '=', paid).execute();
});

/** A process that compares pages until it kills itself at the commit of its second page. */
async function crash(side: 'before' | 'after'): Promise<void> {
  const { command, args } = nodeProgram(new URL('./reconcile-process.ts', import.meta.url), [], COMPILED);
  const died = run(command, [...args, fixture.url, side, ...fixture.localnet.rpcUrls]);
  await expect(died).rejects.toMatchObject({ signal: 'SIGKILL' });
}

/** The number of wallets that another process still has to compare. */
async function walletsLeft(): Promise<number> {
  const page = await reconcileIn(fixture);
  expect(page).toMatchObject({ next: null, complete: true, unread: 0 });
  return page.wallets;
}

describe('a reconciliation pass whose process dies', () => {
  it('before it records a page continues with that page, and has reported none of its differences', async () => {
    await crash('before');
    expect(await fixture.ledger.reconciliations.begin()).toMatchObject({
      after: wallets[PAGE - 1],
      pages: 1n,
    });
    expect(await openAlertsIn(fixture, 'balance_difference')).toEqual([]);
    expect(await walletsLeft()).toBe(2 * PAGE);
    expect(await openAlertsIn(fixture, 'balance_difference')).toEqual([`${wallets[PAGE]}/SOL`]);
  });

  it('after it records a page continues with the next page, and has reported all differences of the first', async () => {
    await fixture.ledger.alerts.close('balance_difference', `${wallets[PAGE]}/SOL`);
    await crash('after');
    expect(await openAlertsIn(fixture, 'balance_difference')).toEqual([`${wallets[PAGE]}/SOL`]);
    expect(await walletsLeft()).toBe(PAGE);
    const { last, open } = await fixture.ledger.reconciliations.passes(1);
    expect([last?.wallets, last?.differences, open]).toEqual([wallets.length, 1, null]);
  });

  it('continues once where two processes compare the same page', async () => {
    const place = await fixture.ledger.reconciliations.begin();
    const tally = { wallets: 0, accounts: 0, differences: 0 };
    const page = { next: wallets[0] ?? null, compared: [], tally, alarms: [], unread: [] };
    expect(await fixture.ledger.reconciliations.commit(place, page)).toBe(true);
    const late = { ...page, next: null, unread: [{ wallet: wallets[1] ?? '', reason: 'late' }] };
    expect(await fixture.ledger.reconciliations.commit(place, late)).toBe(false);
    expect(await fixture.ledger.reconciliations.begin()).toMatchObject({ after: wallets[0] });
    expect(await fixture.ledger.db.selectFrom('unreadWallet').selectAll().execute()).toEqual([]);
  });
});
