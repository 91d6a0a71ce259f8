import { randomBytes } from 'node:crypto';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { NewAttempt, ReservationInput } from '../../src/ledger/settlements/attempts.ts';
import type { NewPayment } from '../../src/ledger/x402/payments.ts';
import type { Sample } from './reads.ts';
import { FEE_PAYER, HOT, TOKEN } from './rows.ts';

const NOTE = { actor: 'the bench', reason: 'a measurement' };
const REASON = { code: 'test', message: 'a reason' };
const hex = () => randomBytes(32).toString('hex');

/** A need that the hot wallet can meet whatever it has reserved. */
export function need(amount: bigint): readonly ReservationInput[] {
  const needs = [{ asset: 'SOL', amount, finalizedBalance: 10n ** 18n, keep: 0n }];
  return [{ wallet: HOT, observedSlot: 10n ** 12n, needs }];
}

export function newAttempt(settlementId: string, n = 1): NewAttempt {
  return {
    settlementId,
    n,
    signers: [HOT],
    messageHash: hex(),
    message: 'AQID',
    blockhash: 'a blockhash',
    blockhashSlot: 2_000n,
    blockhashHeight: 1_000n,
    lastValidBlockHeight: 1_150n,
    adoptedFrom: null,
    nonceAccount: null,
    bareAdvance: false,
    computeUnitLimit: 450,
    computeUnitPriceMicroLamports: 10_000n,
    feeLamports: 5_000n,
    rentLamports: 0n,
  };
}

export async function newWithdrawal(ledger: Ledger): Promise<string> {
  const id = `bench-${hex()}`;
  const destination = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
  await ledger.withdrawals.reserve({ id, asset: 'SOL', amount: '100', destination });
  return id;
}

/** The life of a withdrawal, in each way that it may end. */
export async function writeWithdrawals(ledger: Ledger): Promise<void> {
  const { attempts, settlements } = ledger;
  const paid = await newWithdrawal(ledger);
  await attempts.prepare(newAttempt(paid), need(1_000n));
  await attempts.settle(paid, 1, { state: 'dead', proof: {} });
  await attempts.prepare(newAttempt(paid, 2), need(1_000n));
  await attempts.storeSignature(paid, 2, hex());
  await attempts.storeFoundSignatures(paid, 2, [hex()], true);
  await settlements.note(paid, 'confirmed', null);
  const { signature } = await attempts.get(paid, 2);
  await attempts.settle(paid, 2, { state: 'landed', slot: 7n, proof: {}, ...(signature && { signature }) });
  const confirmed = await newWithdrawal(ledger);
  await settlements.move(confirmed, 'awaiting_confirmation', REASON);
  await ledger.withdrawals.confirmDestination(confirmed);
  await settlements.cancel(confirmed, REASON);
  await settlements.drop(await newWithdrawal(ledger), REASON);
  const maybe = await newWithdrawal(ledger);
  await ledger.alerts.raise({ kind: 'maybe_paid', subject: maybe, message: 'a message' });
  await settlements.endAsPaid(maybe, NOTE);
  await settlements.continueUnpaid(await newWithdrawal(ledger), NOTE);
}

/** A payment of x402, from the buyer's request to its end. */
export async function writePayments(ledger: Ledger): Promise<void> {
  const { payments, obligations } = ledger;
  const input = newPayment();
  const { id } = input;
  await payments.open(input);
  await obligations.storeAnswer(id, { status: 200, headers: {}, body: '' });
  await ledger.attempts.prepare({ ...newAttempt(id), signers: [FEE_PAYER] }, []);
  await ledger.attempts.storeSignature(id, 1, hex());
  await ledger.settlements.note(id, 'confirmed', null);
  await obligations.take(id, { holder: 'me', ms: 1_000 });
  await obligations.release(id, 'me');
  const { request: _request, answer: _answer, lease, ...unmatched } = newPayment();
  await payments.replace({ ...unmatched, id: `x402/${hex()}` }, id, lease);
  await obligations.claim(id, null, { holder: 'me', ms: 1_000 });
  await obligations.endUnfetched();
  await obligations.updateOwedAlerts();
  await obligations.markServed(id, 200, null);
  await ledger.accessPasses.issue(id, '/reports', 300);
  await ledger.accessPasses.revoke(id, NOTE);
  await obligations.takeRepeat(id);
  await obligations.returnRepeat(id);
  await obligations.noteDelivered(id);
  await obligations.markRefused(id, 'a reason', null);
  await obligations.markShort(id, 1n, 'a reason');
  const signed = newPayment();
  await payments.openSigned(signed, { ...newAttempt(signed.id), signers: [FEE_PAYER], signatures: [hex()] });
  await payments.deleteOldData(20);
  await payments.storeUnmatched({ ...unmatched, reason: 'a reason' });
  await ledger.catalog.put('shop', { resource: 'http://127.0.0.1/r1', method: 'GET', item: {} });
  await ledger.offers.offer('GET /r1', { ...input.terms, feePayer: FEE_PAYER, maxTimeoutSeconds: 60 });
}

/** The writes of the scan, the alerts and the webhooks. */
export async function writeOthers(ledger: Ledger, of: Sample): Promise<void> {
  const { walletHistory, alerts, deliveries, addresses } = ledger;
  await walletHistory.advance(HOT, 1n);
  await walletHistory.addFeePayers([FEE_PAYER]);
  await ledger.spends.markJudged(HOT, [of.signature]);
  const entry = { address: randomAddress(), path: `m/${hex()}` };
  await addresses.import([entry]);
  await addresses.assign(hex());
  await ledger.importAudits.noteTried([of.address]);
  const record = await ledger.continuity.databaseId();
  await ledger.importAudits.scheduleRetry(of.address, record);
  await ledger.importAudits.markAudited(of.address, { from: 1n, to: 2n }, record);
  await ledger.watched.addHot([randomAddress()]);
  await alerts.noteMaybePaid(of.signature, []);
  await alerts.syncOpen(['balance_difference'], []);
  await alerts.close('maybe_paid', of.id);
  await alerts.acknowledge([1n], NOTE).catch(() => undefined);
  await ledger.pauses.pauseWithAlert(
    { kind: 'unknown_spend', subject: of.signature, message: 'a message' },
    of.id,
  );
  await ledger.pauses.begin(NOTE);
  const { rows } = await alerts.list({ open: true, limit: 200 });
  await ledger.pauses.end({ ...NOTE, seen: rows.map(({ position }) => position) });
  const place = await ledger.reconciliations.begin();
  const page = { next: null, compared: [of.address], alarms: [], unread: [] };
  const tally = { wallets: 1, accounts: 1, differences: 0 };
  await ledger.reconciliations.commit(place, { ...page, tally });
  await ledger.reconciliations.halt(place, 'a reason');
  await ledger.reconciliations.begin();
  await ledger.reconciliations.updateBehindAlert();
  await deliveries.markHandedOver({ endpoint: 'e-1', entity: 'withdrawal/w-300', upTo: 300n });
  await deliveries.markDelivered({ endpoint: 'e-1', event: 'event-300' });
  await deliveries.recordFailure({ endpoint: 'e-2', event: 'event-301' }, 'an error');
  await deliveries.giveUp({ endpoint: 'e-2', event: 'event-301' });
  await deliveries.updateLateAlerts();
  await deliveries.replay('e-2', 'event-301');
  await deliveries.deleteOld(20);
  await writeFindings(ledger, of);
  await ledger.blockHeaders.prune();
  await ledger.scan.recordTip(1n);
  await ledger.continuity.pulse();
}

/** What a block brings, and what becomes of it. */
async function writeFindings(ledger: Ledger, { rows, address }: Sample): Promise<void> {
  const slot = BigInt(rows + 500);
  const moved = { account: address, wallet: address, asset: 'SOL', amount: 7n };
  const inflow = { ...moved, signature: hex(), reason: null };
  const header = { slot, blockhash: 'block-500', time: null };
  const spent = { signature: hex(), wallet: HOT };
  const outflows = [{ ...spent, account: HOT, asset: TOKEN, amount: 7n, ownerSigned: false }];
  const finding = { inflows: [inflow], outflows, spends: [{ ...spent, error: null }] };
  const blocks = [{ header, finding }];
  const later = { ...inflow, signature: hex() };
  const ahead = { slot: slot + 1_000n, blockhash: 'a later block', time: null };
  await ledger.deposits.announce([{ header: ahead, finding: { ...finding, inflows: [later] } }]);
  const watchVersion = await ledger.watched.holdVersion(() => ledger.watched.version());
  await ledger.scan.upsert({ blocks, watchVersion });
  const found = await ledger.deposits.unconfirmed(50);
  const [row, other] = found.filter(({ signature }) => signature === inflow.signature).concat(found);
  if (row === undefined || other === undefined) throw new Error('nothing waits to be confirmed');
  const { wallet, amount, reason } = row;
  await ledger.deposits.confirm([{ row, verdict: { wallet, amount, reason, by: ['one', 'two'] } }]);
  await ledger.rejections.reject({ row: other, ...NOTE, deniedBy: ['one', 'two'] }).catch(() => undefined);
  const balances = [{ account: HOT, asset: 'SOL', amount: 7n }];
  const baseline = await ledger.baselines.of(HOT);
  await ledger.baselines.take({ wallet: HOT, slot, balances, replaces: baseline?.slot ?? null });
}

/** Nonces, nodes and endpoints: few of each, but their writes touch what grows. */
export async function writeFew(ledger: Ledger): Promise<void> {
  const { nonces, webhooks, scanPauses } = ledger;
  const { address } = await nonces.register(HOT, () => randomAddress());
  await nonces.prove(address, { nonce: hex(), slot: 1n });
  await nonces.markUnproved(address, hex());
  await nonces.requestAdvance({ address, nonce: hex() });
  await nonces.adopt(
    { authority: HOT, position: 1_000_000, address: randomAddress() },
    { nonce: hex(), slot: 1n },
  );
  await ledger.cluster.bind('a genesis hash');
  await ledger.cluster.check('a genesis hash');
  await ledger.alerts.closeStale(['node_silent'], 90);
  await ledger.scanStatus.report({ state: 'tail', tip: 1n, reason: null });
  await ledger.scanStatus.recordActivity(true);
  await scanPauses.begin(NOTE);
  await scanPauses.end(NOTE);
  const {
    row: { id },
  } = await webhooks.put(`http://127.0.0.1:9/${hex()}`, ['withdrawal.finalized']);
  await webhooks.disable(id, 'a reason');
  await webhooks.enable(id);
  await webhooks.rotate(id, 1);
  await webhooks.remove(id);
  await ledger.deliveries.deleteAll(id);
}

function newPayment(): NewPayment {
  const network = 'a network';
  return {
    id: `x402/${hex()}`,
    seller: 'facilitator',
    dialect: 'v2',
    payer: hex(),
    sourceAccount: hex(),
    feePayer: FEE_PAYER,
    feeLamports: 5_000n,
    computeUnitLimit: 450,
    computeUnitPriceMicroLamports: 1n,
    terms: {
      network,
      asset: 'a mint',
      tokenProgram: 'a program',
      decimals: 6,
      amount: '1',
      payTo: 'a seller',
      tokenAccount: 'an account',
      memo: null,
    },
    wire: 'AQ==',
    signature: null,
    acceptedSlot: 7n,
    route: 'GET /r1',
    requestHash: hex(),
    request: {
      method: 'GET',
      url: 'http://127.0.0.1:9/',
      headers: {},
      routeHeaders: {},
      body: '',
      isRepeatable: true,
      timeoutMs: 30_000,
    },
    answer: null,
    caller: { identifier: null, authorization: null, cookie: null, address: null },
    lease: { holder: 'me', ms: 60_000 },
  };
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function randomAddress(): string {
  return [...randomBytes(44)].map((byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
}
