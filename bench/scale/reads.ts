import { ALL_SETTLEMENTS } from '../../src/domain/settlement.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { BUSY_DESTINATION, FEE_PAYER, HOT, RARE, TOKEN } from './rows.ts';
import { withClient } from './server.ts';

/** Names of rows in the middle of the made history. */
export interface Sample {
  readonly rows: number;
  readonly id: string;
  readonly signature: string;
  readonly messageHash: string;
  readonly payment: string;
  readonly payer: string;
  readonly sourceAccount: string;
  readonly paymentSignature: string;
  readonly address: string;
  readonly user: string;
}

const PAGE = { limit: 50 };
const HOUR_MS = 3_600_000;

/** Reads the sample of a filled database. */
export function sampleOf(url: string, rows: number): Promise<Sample> {
  const middle = rows / 2 + 2;
  const one = `select w.id, a.signature, a.message_hash as "messageHash", p.id as payment, p.payer, p.source_account as "sourceAccount", p.signature as "paymentSignature",
      d.address, d.user_ref as "user"
    from withdrawal w join attempt a on a.settlement_id = w.id, payment p, deposit_address d
    where w.id = $1 and d.position = $2 and p.position = $2`;
  return withClient(url, async (client) => {
    const { rows: found } = await client.query<Omit<Sample, 'rows'>>(one, [`w-${middle}`, middle]);
    const [row] = found;
    if (row === undefined) throw new Error('the made history has no such rows');
    return { ...row, rows };
  });
}

/** Every list of the API, by each filter. `say` labels the call that follows. */
export async function readLists(ledger: Ledger, of: Sample, say: (label: string) => void): Promise<void> {
  const { settlementViews, withdrawals, payments, deposits, depositFeed, deliveries, alerts } = ledger;
  for (const status of ['finalized', 'held', 'rejected'] as const) {
    say(status);
    await withdrawals.list({ ...PAGE, status });
    await settlementViews.list({ ...PAGE, status });
    await settlementViews.list({ ...PAGE, status, kind: 'withdrawal' });
  }
  for (const [label, filter] of Object.entries({
    all: {},
    'next page': { cursor: String(of.rows / 2) },
    'rare asset': { asset: RARE },
    'common asset': { asset: TOKEN },
    'busy destination': { destination: BUSY_DESTINATION },
    'held and rare': { asset: RARE, status: 'held' },
    'finalized and busy': { destination: BUSY_DESTINATION, status: 'finalized' },
  } as const)) {
    say(label);
    await withdrawals.list({ ...PAGE, ...filter });
  }
  for (const [label, filter] of Object.entries({
    all: {},
    kind: { kind: 'x402' },
    subject: { subject: of.id },
    signature: { signature: of.signature },
  })) {
    say(label);
    await settlementViews.list({ ...PAGE, ...filter });
  }
  for (const state of [undefined, 'settling', 'owed', 'served', 'refundable', 'unmatched', 'void'] as const) {
    say(state ?? 'all');
    await payments.list({ ...PAGE, state });
  }
  const [day, month] = [24, 720].map((hours) => new Date(Date.now() - hours * HOUR_MS));
  for (const [label, filter] of Object.entries({
    'next page': { cursor: String(of.rows / 2) },
    'next page of a state': { cursor: String(of.rows / 2), state: 'void' },
    route: { route: 'GET /r1' },
    payer: { payer: of.payer },
    'rare asset': { asset: RARE },
    'common asset': { asset: TOKEN },
    facilitator: { seller: 'facilitator' },
    gateway: { seller: 'gateway' },
    'before a month ago': { to: month },
    'a day a month ago': { from: month, to: new Date(Number(month) + 24 * HOUR_MS), state: 'served' },
    'owed of a route': { route: 'GET /r1', state: 'owed' },
    'refundable of a rare asset': { asset: RARE, state: 'refundable', from: day },
  } as const)) {
    say(label);
    await payments.list({ ...PAGE, ...filter });
  }
  for (const [label, filter] of Object.entries({
    all: {},
    address: { address: of.address },
    user: { userRef: of.user },
    pending: { state: 'pending' },
    final: { state: 'final' },
    'not credited': { state: 'not_credited' },
    'rare asset': { asset: RARE },
    'rare and pending': { asset: RARE, state: 'pending' },
  } as const)) {
    say(label);
    await deposits.list({ ...PAGE, ...filter });
    await depositFeed.events(BigInt(of.rows - 5_000), 50, filter);
  }
  for (const open of [undefined, true, false]) {
    say(`open ${open}`);
    await alerts.list({ ...PAGE, open });
  }
  for (const state of [undefined, 'waiting', 'dead', 'delivered'] as const) {
    say(state ?? 'all');
    await deliveries.list({ ...PAGE, endpoint: 'e-1', state });
  }
  say('');
  await ledger.gaps.list(50);
  await ledger.backfills.list(PAGE);
  await ledger.backfills.get(1n).catch(() => undefined);
  await ledger.webhooks.list();
  await ledger.assets.list();
  await ledger.nonces.list();
}

/** The lookups of single rows by the API and the workers. */
export async function readOnes(ledger: Ledger, of: Sample): Promise<void> {
  const { settlements, attempts, payments, walletHistory, watched, addresses } = ledger;
  await settlements.find(of.id);
  await settlements.get(of.id);
  await settlements.paidByDead([of.id]);
  await ledger.settlementViews.get(of.id);
  await ledger.withdrawals.find(of.id);
  await ledger.withdrawals.get(of.id);
  await attempts.of(of.id);
  await attempts.get(of.id, 1);
  await attempts.newestSignatures([of.id]);
  for (const name of [of.paymentSignature, of.payment, of.signature]) await payments.findByName(name);
  await payments.find(of.payment);
  await payments.listByIds([of.payment]);
  await payments.get(of.payment);
  await ledger.obligations.answerOf(of.payment);
  await ledger.obligations.requestOf(of.payment);
  await ledger.accessPasses.find(of.payment);
  await ledger.accessPasses.revocationOf(of.payment);
  await ledger.accessPasses.findValid(of.payer, 'GET /r1', '/r1');
  await walletHistory.kindOf(of.address);
  for (const wallet of [HOT, FEE_PAYER, 'a new wallet']) await walletHistory.judgedTo(wallet);
  await walletHistory.attemptsBySignature([of.signature, 'none']);
  await walletHistory.attemptOfMessage(of.messageHash);
  await watched.watchKindsOf([of.address, HOT]);
  await addresses.byAddress(of.address);
  await addresses.byUser(of.user);
  await ledger.deposits.get(BigInt(of.rows / 2));
  await ledger.deposits.find(`dep_${'0'.repeat(32)}`);
  await ledger.deposits.unconfirmedAmong([BigInt(of.rows)]);
  await ledger.webhooks.get('e-1');
  await ledger.webhooks.secretsOf('e-1').catch(() => undefined);
  await ledger.deliveries.findDue({ endpoint: 'e-1', event: 'event-300' });
  await ledger.deliveries.nextInLine({ endpoint: 'e-1', entity: 'withdrawal/w-300' });
  await ledger.nonces.get('nonce-1');
  await ledger.lostNonces.get('nonce-1');
  await ledger.assets.get(TOKEN);
  await ledger.apiKeys.nameOf('a key');
  await ledger.apiKeys.facilitatorKey('a key');
}

/** The periodic queries of workers and alerts. */
export async function readAlarms(ledger: Ledger, of: Sample): Promise<void> {
  const { inFlight, payments, paymentCosts, walletHistory, movements, deliveries, alerts } = ledger;
  const [since, top] = [new Date(Date.now() - HOUR_MS), BigInt(of.rows + 2_000)];
  for await (const row of ledger.settlements.listUnfinished()) void row;
  await ledger.settlementViews.countUnfinished();
  await ledger.attempts.listUnsigned(100);
  for (const kind of ['withdrawal', 'x402', 'nonce-create']) await inFlight.countUnsent(kind, top);
  await inFlight.newestEnds('withdrawal', 32);
  await paymentCosts.failuresOf('GET /r1', since, { payments: 1_000, buyers: 20 });
  await payments.listOverdue(60_000, 100);
  await payments.listLate(0, 2_000);
  await payments.listOwed(of.payer, '0'.repeat(64));
  for (const by of [[], ['route', 'day']] as const)
    await payments.revenue({ by, from: since, to: new Date() });
  await paymentCosts.spentSince(since, 'feePayer', FEE_PAYER);
  await paymentCosts.spentSince(since, 'payer', of.payer);
  await paymentCosts.spentSince(since, 'facilitatorKey', 'shop');
  await paymentCosts.payerHistory(of.payer, since);
  for (const ids of [[], [of.payment]]) await paymentCosts.paymentsOf(of.sourceAccount, ids);
  await walletHistory.wallets(HOT);
  await walletHistory.feePayers();
  await ledger.withdrawals.findUnpaid([of.address, TOKEN]);
  await ledger.withdrawals.findUnpaid([of.address], true);
  await ledger.spends.unjudged(HOT, 5_000);
  await ledger.deposits.unconfirmed(32, [1n]);
  await ledger.addresses.isEmpty();
  await ledger.addresses.freeCount(100);
  await ledger.importAudits.listDue(12);
  await ledger.watched.version();
  await ledger.watched.changesSince(BigInt(Math.floor(of.rows / 1_000)));
  await ledger.watched.page(of.address, 1_000);
  await ledger.watched.page(null, 1_000, 'hot');
  await movements.balancesOf([of.address, HOT], top, BigInt(of.rows - 1_000));
  await movements.accountsOf([of.address, HOT]);
  await movements.inflowsOf(of.address, 1n, top);
  await ledger.baselines.of(HOT);
  await ledger.reconciliations.due(200);
  await ledger.reconciliations.passes(10);
  await deliveries.pendingLines();
  await deliveries.backlogs();
  await alerts.listOpenAbout(of.id);
  await alerts.countOpenByKind();
  await alerts.subjectsEverRaised('unknown_spend', [of.signature]);
  await alerts.isLandingKnown(of.id, { signature: of.signature, shownBy: [] }, ALL_SETTLEMENTS);
  await ledger.pauses.listOpen();
  await ledger.nonces.candidate(HOT, 1n);
  await ledger.nonces.unprovedAccounts(HOT);
  await ledger.lostNonces.list();
  await ledger.continuity.databaseId();
  await ledger.continuity.isUnbrokenSince(0);
  await ledger.cluster.get();
  await ledger.scan.cursor();
  await ledger.scan.headersBetween(top - 1_200n, top);
  await ledger.scanPauses.assertNone();
  await ledger.scanStatus.read();
  await ledger.backfills.listOpen(10);
  await ledger.backfills.listDue(10);
  await ledger.gaps.closedBetween(1n, top);
  await ledger.stagedRanges.list();
  await ledger.offers.valid('GET /r1', HOUR_MS);
  await ledger.offers.findServedUnpaid('GET /r1');
  await ledger.paymentCounts.read();
  await ledger.catalog.list(30, 500);
  await ledger.routeVersions.head();
  await ledger.routeVersions.recent(30);
  await ledger.blockHeaders.neededSlot();
}
