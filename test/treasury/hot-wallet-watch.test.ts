import { Keypair, PublicKey, SystemProgram } from '@solana/web3.js';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { DepositMatcher } from '../../src/deposits/scan/matcher.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { CANCELLED } from '../../src/domain/withdrawal.ts';
import { verifySignature } from '../../src/signing/ed25519.ts';
import { partiesOf } from '../../src/solana/history/wallet-history.ts';
import { unknownSpendAlarm } from '../../src/treasury/hot-wallet-alerts.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { useHotWallet } from '../activities/hot-wallet.ts';
import { attempt, codeOf, newId, PLENTY, resume, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { quickChain } from '../support/quick-chain.ts';

const use = useLedger();
const hot = useHotWallet(2, use);

function check(): Promise<void> {
  return hot.check(use.ledger);
}

/** A recorded withdrawal to a new wallet, not yet prepared. */
async function reserved(): Promise<{ id: string; destination: PublicKey }> {
  const id = newId();
  const destination = Keypair.generate().publicKey;
  await use.ledger.withdrawals.reserve(terms(id, { destination: destination.toBase58() }));
  return { id, destination };
}

/** Its first attempt with this signature, ended as dead or failed. */
async function givenUp(id: string, signature: string, state: 'dead' | 'failed'): Promise<void> {
  await use.ledger.attempts.prepare(attempt(id), PLENTY);
  await use.ledger.attempts.storeSignature(id, 1, signature);
  const failure = { slot: 9n, error: 'AccountNotFound' };
  await use.ledger.attempts.settle(id, 1, { state, proof: {}, ...(state === 'failed' ? failure : {}) });
}

async function open(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.map(({ kind, subject, count }) => `${kind} ${subject} ${count}`);
}

async function causes(): Promise<readonly string[]> {
  return (await use.ledger.pauses.listOpen()).map(({ cause }) => cause);
}

describe('a check of the hot wallet history', () => {
  it('reports no deposit and no recorded attempt', async () => {
    await hot.localnet.airdrop(hot.address, 5_000_000n);
    const { id, destination } = await reserved();
    await use.ledger.attempts.prepare(attempt(id), PLENTY);
    await use.ledger.attempts.storeSignature(id, 1, await hot.spend(destination));
    await check();
    expect([await open(), await causes()]).toEqual([[], []]);
  });

  it('pauses all payments once for a spend without an attempt, and stops each withdrawal it may have paid', async () => {
    const [suspect, other] = [await reserved(), await reserved()];
    const signature = await hot.spend(suspect.destination);
    await check();
    await check();
    const alerts = [`maybe_paid ${suspect.id} 1`, `unknown_spend ${signature} 1`];
    expect([await open(), await causes()]).toEqual([alerts, ['unknown_spend']]);
    expect((await use.ledger.attempts.prepare(attempt(other.id), PLENTY)).kind).toBe('stopped');

    await resume(use.ledger);
    await check();
    expect(await causes()).toEqual([]);
    expect((await use.ledger.attempts.prepare(attempt(other.id), PLENTY)).kind).toBe('prepared');
    expect((await use.ledger.attempts.prepare(attempt(suspect.id), PLENTY)).kind).toBe('stopped');
    await use.ledger.alerts.close('maybe_paid', suspect.id);
  });

  it('pauses all payments even when the search for the paid withdrawal fails, and repeats that search', async () => {
    const suspect = await reserved();
    const signature = await hot.spend(suspect.destination);
    const search = vi.spyOn(use.ledger.withdrawals, 'findUnpaid').mockRejectedValue(new Error('too slow'));
    await expect(check()).rejects.toThrow('too slow');
    expect([await open(), await causes()]).toEqual([[`unknown_spend ${signature} 1`], ['unknown_spend']]);
    await expect(check()).rejects.toThrow('too slow');
    search.mockRestore();
    await check();
    expect(await open()).toEqual([`maybe_paid ${suspect.id} 1`, `unknown_spend ${signature} 3`]);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 9 });
    expect(rows.map(({ details }) => details['maybePaid'])).toEqual([undefined, [suspect.id]]);
    await resume(use.ledger);
    await check();
    expect(await causes()).toEqual([]);
    await use.ledger.alerts.close('maybe_paid', suspect.id);
  });

  it('retires only the fee payer for a spend of its own without an attempt, and reads none during payments', async () => {
    const feePayer = Keypair.generate();
    const wallet = feePayer.publicKey.toBase58();
    await use.ledger.walletHistory.addFeePayers([wallet]);
    await hot.localnet.airdrop(wallet, 1_000_000_000n);
    const watch = new WalletWatch({
      ledger: use.ledger,
      chain: quickChain(hot.pool),
      hotWallet: hot.address,
    });
    await watch.judgeFeePayers();
    const { id } = await reserved();
    // It pays the hot wallet, whose own history lists it too: there it is no spend.
    const signature = await hot.spend(new PublicKey(hot.address), feePayer);
    await watch.check();
    expect([await open(), await causes()]).toEqual([[], []]);
    await watch.judgeFeePayers();
    expect([await open(), await causes()]).toEqual([[`unknown_spend ${signature} 1`], ['unknown_spend']]);
    const signers = [wallet, hot.address];
    const retired = await use.ledger.attempts.prepare(attempt((await reserved()).id, 1, { signers }), PLENTY);
    expect(retired.kind).toBe('stopped');
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('prepared');
    await resume(use.ledger);
  });

  it('pauses all payments for a spend of the hot wallet, even if a fee payer that signed it was checked before', async () => {
    const { destination, id } = await reserved();
    const signature = await hot.spend(destination);
    const scope = 'wallet/a-fee-payer';
    const alarm = unknownSpendAlarm('a-fee-payer', signature, 1n, []);
    await use.ledger.pauses.pauseWithAlert(alarm, undefined, scope);
    await check();
    expect((await use.ledger.pauses.listOpen()).map((one) => one.scope)).toEqual([scope, 'all']);
    expect(await open()).toEqual([`maybe_paid ${id} 1`, `unknown_spend ${signature} 2`]);
    await use.ledger.pauses.pauseWithAlert(alarm, undefined, scope);
    const { rows } = await use.ledger.alerts.list({ open: true, limit: 9 });
    expect(rows.find(({ subject }) => subject === signature)?.details).not.toHaveProperty('scope');
    await use.ledger.alerts.close('maybe_paid', id);
    expect(await codeOf(use.ledger.settlements.move(id, 'rejected', CANCELLED))).toBe('DatabaseIncomplete');
    await resume(use.ledger);
  });

  it('raises an alert while the spends of a fee payer cannot be read, and stops no payment', async () => {
    const wallet = Keypair.generate().publicKey.toBase58();
    await use.ledger.walletHistory.addFeePayers([wallet]);
    const watch = new WalletWatch({
      ledger: use.ledger,
      chain: quickChain(hot.pool),
      hotWallet: hot.address,
    });
    await watch.judgeFeePayers();
    for (const node of [0, 1])
      hot.localnet.controls.setFault(node, 'getSignaturesForAddress', { kind: 'http', status: 503 });
    await watch.judgeFeePayers();
    expect(await open()).toContain(`fee_payer_unread ${wallet} 1`);
    hot.localnet.controls.clearFaults();
    expect((await use.ledger.attempts.prepare(attempt((await reserved()).id), PLENTY)).kind).toBe('prepared');
    await watch.judgeFeePayers();
    expect(await open()).toEqual([]);
  });

  it('names a withdrawal that was cancelled before the spend landed, and none that ended earlier', async () => {
    const [suspect, old] = [await reserved(), await reserved()];
    for (const { id } of [suspect, old]) await use.ledger.settlements.cancel(id, CANCELLED);
    await sql`update settlement set updated_at = now() - interval '2 days' where id = ${old.id}`.execute(
      use.ledger.db,
    );
    await sql`update withdrawal set destination = ${suspect.destination.toBase58()} where id = ${old.id}`.execute(
      use.ledger.db,
    );
    const signature = await hot.spend(suspect.destination);
    await check();
    expect(await open()).toEqual([`maybe_paid ${suspect.id} 1`, `unknown_spend ${signature} 1`]);
    await use.ledger.alerts.close('maybe_paid', suspect.id);
  });

  it('matches an attempt by its message when the signature was never stored', async () => {
    const { id, destination } = await reserved();
    const signature = await hot.spend(destination);
    const parties = await partiesOf(hot.pool, signature, verifySignature);
    const row = attempt(id, 1, { messageHash: parties?.messageHash ?? '' });
    await use.ledger.attempts.prepare(row, PLENTY);
    await check();
    expect([await open(), await causes()]).toEqual([[], []]);
    expect(await use.ledger.attempts.get(id, 1)).toMatchObject({ state: 'signed', signature });
    await use.ledger.attempts.settle(id, 1, { state: 'dead', signature, proof: {} });
    await check();
    expect(await open()).toEqual([`dead_attempt_landed ${id} 1`]);
  });

  it('finds a spend although one node lists nothing or does not answer', async () => {
    hot.localnet.controls.setFault(0, 'getSignaturesForAddress', { kind: 'result', result: [] });
    const first = await hot.spend();
    await check();
    hot.localnet.controls.setFault(0, 'getSignaturesForAddress', { kind: 'null' });
    const second = await hot.spend();
    await check();
    expect(await open()).toEqual([`unknown_spend ${second} 1`, `unknown_spend ${first} 1`]);
  });

  it('finds a spend that no node lists but the scanner read, and retries one that no node proves', async () => {
    await use.ledger.watched.addHot([hot.address]);
    const options = { ownerChangeAllowed: false, maxTransactionVersion: 1, minimumLamports: async () => 1n };
    const matcher = new DepositMatcher(use.ledger, options);
    const scanner = new DepositScanner({ ledger: use.ledger, pool: hot.pool, matcher });
    await scanner.step();
    const signature = await hot.spend();
    while ((await scanner.step()).state === 'continues');
    const { controls } = hot.localnet;
    for (const node of [0, 1]) {
      controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
      controls.setFault(node, 'getTransaction', { kind: 'null' });
    }
    await check();
    expect(await use.ledger.spends.unjudged(hot.address, 10)).toMatchObject([{ signature }]);
    controls.clearFaults();
    for (const node of [0, 1])
      controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
    await check();
    await check();
    expect(await open()).toContain(`unknown_spend ${signature} 1`);
    expect(await causes()).toEqual(['unknown_spend']);
    expect(await use.ledger.spends.unjudged(hot.address, 10)).toEqual([]);
  });

  it('reads a long list in several runs, down to the spend below the dust', async () => {
    await check();
    const spent = await hot.spend();
    for (let dust = 0; dust < 12; dust += 1) await hot.localnet.airdrop(hot.address, 5_000n);
    hot.localnet.controls.produceSlots(4);
    const watch = new WalletWatch({
      ledger: use.ledger,
      chain: quickChain(hot.pool),
      hotWallet: hot.address,
      history: { pageSize: 2, pagesPerCall: 2 },
    });
    let looks = 1;
    for (; (await codeOf(watch.check())) === 'Unavailable'; looks += 1) expect(looks).toBeLessThan(50);
    expect(looks).toBeGreaterThan(3);
    expect(await open()).toContain(`unknown_spend ${spent} 1`);
  });

  it('fails when a listed transaction cannot be read, because an unread transaction may be a spend', async () => {
    const signature = await hot.spend();
    for (const node of [0, 1]) hot.localnet.controls.setFault(node, 'getTransaction', { kind: 'null' });
    expect(await codeOf(check())).toBe('NodeFault');
    hot.localnet.controls.clearFaults();
    await check();
    expect(await open()).toEqual([`unknown_spend ${signature} 1`]);
  });

  it('finds an attempt that was proved dead, and holds its withdrawal with both signatures', async () => {
    const { id, destination } = await reserved();
    const landed = await hot.spend(destination);
    await givenUp(id, landed, 'dead');
    await use.ledger.attempts.prepare(attempt(id, 2), PLENTY);
    await use.ledger.attempts.storeSignature(id, 2, 'the-second-signature');
    await check();
    const { status, reason } = await use.ledger.withdrawals.get(id);
    expect([status, reason?.code]).toEqual(['held', 'dead_attempt_landed']);
    expect(reason?.message).toContain(landed);
    expect(reason?.message).toContain('the-second-signature');
    expect(await causes()).toEqual(['dead_attempt_landed']);
    await check();
    expect(await open()).toEqual([`dead_attempt_landed ${id} 1`]);
    const note = { actor: 'ops', reason: 'both nodes are of one provider, and lied' };
    expect(await use.ledger.settlements.continueUnpaid(id, note)).toBe(true);
    await check();
    expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'sending', reason: null });
    expect(await open()).toEqual([]);
  });

  it('raises the alert again after an operator closed it as false, when two nodes prove it', async () => {
    const { id, destination } = await reserved();
    await givenUp(id, await hot.spend(destination), 'dead');
    const alarm = { kind: 'dead_attempt_landed', subject: id, message: 'one node alone lists it' } as const;
    await use.ledger.pauses.pauseWithAlert(alarm, id);
    await resume(use.ledger);
    expect(
      await use.ledger.settlements.continueUnpaid(id, { actor: 'ops', reason: 'no other shows it' }),
    ).toBe(true);
    expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'preparing' });
    await check();
    expect(await open()).toEqual([`dead_attempt_landed ${id} 1`]);
    expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'held' });
  });

  it('finds an attempt that was judged failed and succeeded, and ignores one that did fail', async () => {
    const [refunded, failed] = [await reserved(), await reserved()];
    await givenUp(refunded.id, await hot.spend(refunded.destination), 'failed');
    const transfer = { fromPubkey: new PublicKey(hot.address), toPubkey: failed.destination };
    const broke = await hot.sign([SystemProgram.transfer({ ...transfer, lamports: 10n ** 18n })]);
    await givenUp(failed.id, broke, 'failed');
    await check();
    expect(await open()).toEqual([`dead_attempt_landed ${refunded.id} 1`]);
    expect(await causes()).toEqual(['dead_attempt_landed']);
  });
});

describe('a gap after a restore', () => {
  it('ends only after a quorum finalized more than a blockhash lifetime, and the wallet was listed afterwards', async () => {
    const { id } = await reserved();
    await sql`update continuity set identity = 'another'`.execute(use.ledger.db);
    const height = BigInt(hot.localnet.controls.produceSlot());
    await check();
    expect(await open()).toEqual(['database_restored sluice 1']);
    hot.localnet.controls.produceSlots(290);
    await check();
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('stopped');
    hot.localnet.controls.produceSlots(20);
    hot.localnet.controls.setFault(0, 'getSignaturesForAddress', { kind: 'null' });
    await check();
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('stopped');
    expect(await open()).toHaveLength(1);
    hot.localnet.controls.clearFaults();
    hot.localnet.controls.setFault(1, 'getEpochInfo', {
      kind: 'result',
      result: { epoch: 0, absoluteSlot: Number(height), blockHeight: Number(height) },
    });
    await check();
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('stopped');
    hot.localnet.controls.clearFaults();
    await check();
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('prepared');
    expect(await open()).toEqual([]);
  });

  it('does not end while fewer nodes than a quorum list one of two wallets', async () => {
    const other = Keypair.generate().publicKey.toBase58();
    await hot.check(use.ledger, other);
    const { id } = await reserved();
    await sql`update continuity set identity = 'another'`.execute(use.ledger.db);
    await check();
    const { controls } = hot.localnet;
    controls.produceSlots(310);
    const history = use.ledger.walletHistory;
    const judgedTo = history.judgedTo.bind(history);
    const spy = vi.spyOn(history, 'judgedTo').mockImplementation(async (wallet) => {
      if (wallet === other) controls.setFault(0, 'getSignaturesForAddress', { kind: 'null' });
      return judgedTo(wallet);
    });
    await check();
    spy.mockRestore();
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('stopped');
    controls.clearFaults();
    await check();
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('prepared');
  });

  it('of a database from before the first wallet check hides no payment', async () => {
    const { id, destination } = await reserved();
    const paid = await hot.spend(destination);
    hot.localnet.controls.produceSlots(200);
    await sql`update continuity set identity = 'another'`.execute(use.ledger.db);
    await sql`delete from wallet_history`.execute(use.ledger.db);
    await sql`delete from attempt`.execute(use.ledger.db);
    for (let looks = 0; looks < 4; looks += 1) {
      await check();
      hot.localnet.controls.produceSlots(160);
    }
    expect(await use.ledger.continuity.pulse()).toBeNull();
    expect(await open()).toEqual(expect.arrayContaining([`maybe_paid ${id} 1`, `unknown_spend ${paid} 1`]));
    await resume(use.ledger);
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('stopped');
  });
});
