import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { AlertKind } from '../../src/domain/alerts.ts';
import type { ReconciledPage } from '../../src/domain/reconciliation.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { auditIn, openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();
const openAlerts = (kind: AlertKind) => openAlertsIn(fixture, kind);

const reconcile = (pageSize?: number) => reconcileIn(fixture, pageSize === undefined ? {} : { pageSize });

/** Audits a wallet with repair, which records its deleted deposits again. */
async function repair(address: string): Promise<void> {
  const to = `${(await fixture.ledger.scan.cursor())?.slot}`;
  await auditIn(fixture, { address, from: '1', to, repair: true, cause: 'operator' });
}

/** Moves the times of the comparison and of the requests into the past. */
async function timeGoesBy(hours: number): Promise<void> {
  const by = sql`make_interval(hours => ${hours})`;
  await sql`update reconciliation set compared_since = compared_since - ${by}`.execute(fixture.ledger.db);
  await sql`update unread_wallet set since = since - ${by}, asked_at = asked_at - ${by}`.execute(
    fixture.ledger.db,
  );
}

describe('the reconciliation', () => {
  it('compares balances with the database at one slot, and reports each difference', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.airdrop(wallet, 3_000_000n);
    await fixture.localnet.mintTo(fixture.localnet.feeMint.address, wallet, 1_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    const before = await reconcile();
    expect(before.differences).toBe(0);
    expect(before.accounts).toBeGreaterThan(before.wallets);
    await fixture.lose((await fixture.depositsOf(wallet)).filter(({ asset }) => asset === 'SOL'));
    expect((await reconcile()).differences).toBe(1);
    expect(await openAlerts('balance_difference')).toEqual([`${wallet}/SOL`]);
    await repair(wallet);
    expect((await reconcile()).differences).toBe(0);
    expect(await openAlerts('balance_difference')).toEqual([]);
  });

  it('compares the tokens of both programs, also of mints that are not listed', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const { mint, feeMint } = fixture.localnet;
    for (const { address } of [mint, feeMint]) await fixture.localnet.mintTo(address, wallet, 1_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    const deposits = await fixture.depositsOf(wallet);
    expect(new Set(deposits.map(({ reason }) => reason))).toEqual(new Set([null, 'unknown_mint']));
    await fixture.lose(deposits);
    expect((await reconcile()).differences).toBe(2);
    const accounts = deposits.map(({ account, asset }) => `${account}/${asset}`);
    expect((await openAlerts('balance_difference')).toSorted()).toEqual(accounts.toSorted());
    await repair(wallet);
    expect((await reconcile()).differences).toBe(0);
  });

  it('reports a token account of ours that the issuer of a listed mint has frozen, until it is thawed', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const { controls, mint, feeMint } = fixture.localnet;
    await fixture.localnet.mintTo(mint.address, wallet, 5n);
    for (const { address } of [mint, feeMint]) await controls.setFrozen(address, wallet, true);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    expect((await reconcile()).differences).toBe(0);
    const account = deriveAta(wallet, mint.address, TOKEN_PROGRAM);
    expect(await openAlerts('deposit_account_frozen')).toEqual([account]);
    await controls.setFrozen(mint.address, wallet, false);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await reconcile();
    expect(await openAlerts('deposit_account_frozen')).toEqual([]);
  });

  it('reports no difference for a wallet that no node returns, and delays no other wallet', async () => {
    const wallet = await fixture.newDepositAddress();
    await fixture.scanAll(fixture.scanner());
    const alarm = { kind: 'balance_difference' as const, subject: `${wallet}/SOL`, message: 'before' };
    await fixture.ledger.alerts.raise({ ...alarm, details: { wallet } });
    const { controls } = fixture.localnet;
    for (const node of [0, 1]) controls.setFault(node, 'getMultipleAccounts', { kind: 'null' });
    const { wallets, unread } = await reconcile();
    expect([wallets, unread > 0]).toEqual([0, true]);
    expect(await openAlerts('balance_difference')).toEqual([`${wallet}/SOL`]);
    controls.clearFaults();
    expect(await reconcile()).toMatchObject({ unread: 0, complete: true });
    expect(await openAlerts('balance_difference')).toEqual([]);
  });

  it('ends where the scan makes no progress', async () => {
    await fixture.newDepositAddress();
    await fixture.scanAll(fixture.scanner());
    fixture.finalize();
    expect(await reconcile()).toMatchObject({ complete: false, wallets: 0, next: null });
    await fixture.scanAll(fixture.scanner());
    expect(await reconcile()).toMatchObject({ complete: true });
  });

  it('continues from page to page, and keeps the alerts of other pages', async () => {
    const addresses = Array.from({ length: 25 }, newAddress);
    await fixture.ledger.addresses.import(addresses.map((address) => ({ address, path: 'm' })));
    await fixture.scanAll(fixture.scanner());
    const other = { kind: 'balance_difference' as const, subject: 'another', message: 'of another page' };
    await fixture.ledger.alerts.raise({ ...other, details: { wallet: 'another' } });
    const pages: ReconciledPage[] = [];
    do pages.push(await reconcile(10));
    while (pages.at(-1)?.next !== null);
    const known = await fixture.ledger.watched.page(null, 10_000, 'deposit');
    const sizes = pages.map(({ wallets }) => wallets);
    expect(sizes.slice(0, 2)).toEqual([10, 10]);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(known.length);
    expect(await openAlerts('balance_difference')).toEqual(['another']);
  });

  it('reports the results of its passes and the reason of a wait', async () => {
    await fixture.scanAll(fixture.scanner());
    while ((await reconcile()).next !== null);
    const passes = () => fixture.ledger.reconciliations.passes(5);
    const known = await fixture.ledger.watched.page(null, 10_000);
    const ended = await passes();
    expect(ended).toMatchObject({
      last: { wallets: known.length, differences: 0 },
      open: null,
      watched: known.length,
      unread: 0,
    });
    const { next, accounts } = await reconcile(10);
    fixture.finalize();
    await reconcile(10);
    expect(await passes()).toMatchObject({
      last: ended.last,
      open: {
        after: next,
        wallets: 10,
        accounts,
        haltedBecause: expect.stringMatching(/^the deposit scan has not reached slot /),
      },
    });
    await fixture.scanAll(fixture.scanner());
    await reconcile(10);
    expect((await passes()).open).toMatchObject({ wallets: 20, haltedBecause: null });
    while ((await reconcile()).next !== null);
    const { last } = await passes();
    expect(last).toMatchObject({ wallets: known.length });
    expect(last?.begunAt.getTime()).toBeGreaterThan(ended.last?.endedAt.getTime() ?? 0);
  });

  it('continues after a page where the round before ended because the scan made no progress', async () => {
    await fixture.scanAll(fixture.scanner());
    const { next } = await reconcile(10);
    fixture.finalize();
    expect(await reconcile(10)).toMatchObject({ complete: false, wallets: 0, next: null });
    await fixture.scanAll(fixture.scanner());
    const known = await fixture.ledger.watched.page(next, 10_000);
    expect(await reconcile()).toMatchObject({ complete: true, wallets: known.length, next: null });
  });

  it('reports wallets that no node returns for hours, until a node returns them', async () => {
    await fixture.scanAll(fixture.scanner());
    for (const node of [0, 1])
      fixture.localnet.controls.setFault(node, 'getMultipleAccounts', {
        kind: 'error',
        code: -32603,
        message: 'no',
      });
    expect((await reconcile()).wallets).toBe(0);
    await timeGoesBy(2);
    expect((await reconcile()).wallets).toBe(0);
    expect(await openAlerts('reconciliation_behind')).toEqual([]);
    await timeGoesBy(2);
    expect((await reconcile()).unread).toBeGreaterThan(0);
    expect(await openAlerts('reconciliation_behind')).toEqual(['sluice']);
    fixture.localnet.controls.clearFaults();
    const others = await reconcile(1);
    expect(others.wallets).toBe(1);
    expect(await openAlerts('reconciliation_behind')).toEqual(['sluice']);
    await timeGoesBy(1);
    expect((await reconcile(1)).wallets).toBeGreaterThan(20);
    expect(await openAlerts('reconciliation_behind')).toEqual([]);
    const left = await fixture.ledger.db.selectFrom('unreadWallet').select('wallet').execute();
    expect(left).toEqual([]);
  });

  it('reports a pass that takes too long, until the pass ends', async () => {
    await fixture.scanAll(fixture.scanner());
    while ((await reconcile()).next !== null);
    await timeGoesBy(49);
    const { next } = await reconcile(10);
    const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
    const alert = rows.find(({ kind }) => kind === 'reconciliation_behind');
    expect(alert?.message).toContain(`only wallets up to ${next} were compared`);
    expect((await reconcile()).next).toBeNull();
    expect(await openAlerts('reconciliation_behind')).toEqual([]);
  });
});
