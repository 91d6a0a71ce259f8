import { Keypair } from '@solana/web3.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPreparation } from '../../src/activities/withdrawals.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { DisplayedStatus, Preparation } from '../../src/domain/steps.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { DEAD, newId, REASON, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { QUICK_PRICES } from '../support/quick-chain.ts';
import { quickPreparation } from '../support/quick-preparation.ts';
import { useHotWallet } from './hot-wallet.ts';

const REQUESTED: DisplayedStatus = { status: 'requested', code: null };
const use = useLedger();
const hot = useHotWallet(2, use);
let preparation: ReturnType<typeof quickPreparation>;

beforeAll(() => {
  preparation = quickPreparation(use.ledger, hot);
});

/** The activity with this attempt number. */
function prepared(
  of: WithdrawalTerms,
  shown: DisplayedStatus,
  attempt = 1,
  by = preparation,
): Promise<Preparation> {
  const run = () => by.prepareAttempt({ terms: of, shown });
  return new MockActivityEnvironment({ attempt }).run(run);
}

function newTerms(): WithdrawalTerms {
  const destination = Keypair.generate().publicKey.toBase58();
  return terms(newId(), { destination, acceptEmptyWallet: true, amount: '3000000' });
}

describe('a preparation', () => {
  it('restores a withdrawal whose row was lost, and an operator must confirm before it is paid', async () => {
    const lost = newTerms();
    const held = { kind: 'waiting', status: 'held', reason: { code: 'maybe_paid' } };
    expect(await prepared(lost, REQUESTED)).toMatchObject(held);
    expect(await use.ledger.withdrawals.get(lost.id)).toMatchObject({ status: 'held' });
    await use.ledger.alerts.close('maybe_paid', lost.id);
    expect((await prepared(lost, REQUESTED)).kind).toBe('prepared');
  });

  it('holds what it would reject while the database may lack a payment of it', async () => {
    const { alerts, withdrawals } = use.ledger;
    const unpayable = { ...newTerms(), destination: hot.address };
    await withdrawals.reserve(unpayable);
    await alerts.raise({ kind: 'maybe_paid', subject: unpayable.id, message: 'look' });
    const held = { kind: 'waiting', status: 'held', reason: { code: 'maybe_paid' } };
    expect(await prepared(unpayable, REQUESTED)).toMatchObject(held);
    await alerts.close('maybe_paid', unpayable.id);
    const shown: DisplayedStatus = { status: 'held', code: 'maybe_paid' };
    expect(await prepared(unpayable, shown)).toMatchObject({ kind: 'ended', status: 'rejected' });
  });

  it('returns the hold and no message to sign when the chain shows a dead attempt', async () => {
    const { attempts, withdrawals, pauses } = use.ledger;
    const paid = newTerms();
    await withdrawals.reserve(paid);
    await prepared(paid, REQUESTED);
    await attempts.settle(paid.id, 1, DEAD);
    expect((await prepared(paid, REQUESTED)).kind).toBe('prepared');
    const reason = { code: 'dead_attempt_landed', message: 'the first has landed' };
    await pauses.pauseWithAlert(
      { kind: 'dead_attempt_landed', subject: paid.id, message: reason.message },
      paid.id,
    );
    expect(await prepared(paid, REQUESTED)).toEqual({ kind: 'waiting', status: 'held', reason });
    await attempts.settle(paid.id, 2, DEAD);
    expect(await prepared(paid, REQUESTED)).toEqual({ kind: 'waiting', status: 'held', reason });
  });

  it('offers at least twice the price of a dead attempt, whatever the salts of both', async () => {
    const { attempts, withdrawals } = use.ledger;
    for (const again of Array.from({ length: 6 }, newTerms)) {
      await withdrawals.reserve(again);
      await prepared(again, REQUESTED);
      await attempts.settle(again.id, 1, DEAD);
      await prepared(again, REQUESTED);
      const rows = await attempts.of(again.id);
      const [first = 0n, second = 0n] = rows.map((attempt) => attempt.computeUnitPriceMicroLamports);
      expect(second).toBeGreaterThanOrEqual(2n * first);
      await attempts.settle(again.id, 2, { state: 'failed', slot: 7n, proof: {}, reason: REASON });
    }
  });

  it('holds a payment whose fee exceeds its bound, and continues once the bound is raised', async () => {
    const dear = newTerms();
    await use.ledger.withdrawals.reserve(dear);
    const bounded = quickPreparation(use.ledger, hot, { ...QUICK_PRICES, maxFeeLamports: 5_000n });
    expect(await prepared(dear, REQUESTED, 1, bounded)).toMatchObject({
      kind: 'waiting',
      status: 'held',
      reason: {
        code: 'fee_above_bound',
        message: expect.stringContaining('SLUICE_MAX_FEE_LAMPORTS is 5000'),
      },
    });
    const shown: DisplayedStatus = { status: 'held', code: 'fee_above_bound' };
    expect((await prepared(dear, shown)).kind).toBe('prepared');
  });

  it('that fails a third time is shown as held with the error and an alert, and continues by itself', async () => {
    const openAlerts = async () => {
      const { rows } = await use.ledger.alerts.list({ open: true, limit: 100 });
      return rows.flatMap(({ kind, subject }) => (kind === 'cannot_prepare' ? [subject] : []));
    };
    const stuck = newTerms();
    await use.ledger.withdrawals.reserve(stuck);
    for (const node of [0, 1])
      hot.localnet.controls.setFault(node, 'getMultipleAccounts', { kind: 'result', result: 'no account' });
    await expect(prepared(stuck, REQUESTED, 2)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    expect(await use.ledger.withdrawals.get(stuck.id)).toMatchObject({ status: 'requested' });
    const waiting = await prepared(stuck, REQUESTED, 3);
    expect(waiting).toMatchObject({ kind: 'waiting', status: 'held', reason: { code: 'cannot_prepare' } });
    expect(await openAlerts()).toEqual(['SOL']);
    const shown: DisplayedStatus = { status: 'held', code: 'cannot_prepare' };
    await expect(prepared(stuck, shown, 3)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    hot.localnet.controls.clearFaults();
    await hot.pool.probe();
    await expect(prepared(stuck, shown, 4)).resolves.toMatchObject({ kind: 'prepared' });
    expect(await openAlerts()).toEqual([]);
  });

  it('is held at once after an internal error, fails no run, and continues after the fix', async () => {
    const { ledger } = use;
    const refused = newTerms();
    await ledger.withdrawals.reserve(refused);
    const compose = async () => {
      throw new DomainError('InvalidRequest', 'a defect of ours');
    };
    const defective = createPreparation({ ledger, kind: { compose } });
    const run = (shown: DisplayedStatus) =>
      new MockActivityEnvironment({ attempt: 1 }).run(() =>
        defective.prepareAttempt({ terms: refused, shown }),
      );
    const held = { kind: 'waiting', status: 'held', reason: { code: 'cannot_prepare' } };
    expect(await run(REQUESTED)).toMatchObject(held);
    const shown: DisplayedStatus = { status: 'held', code: 'cannot_prepare' };
    await expect(run(shown)).rejects.toMatchObject({ type: 'cannot_prepare', nonRetryable: false });
    expect((await prepared(refused, shown)).kind).toBe('prepared');
  });

  it('returns a wait that operators do not see yet, and retries one that they see', async () => {
    const poor = { ...newTerms(), amount: (10n ** 18n).toString() };
    await use.ledger.withdrawals.reserve(poor);
    const waiting = await prepared(poor, { status: 'held', code: 'paused' });
    expect(waiting).toMatchObject({ kind: 'waiting', status: 'awaiting_funds' });
    const shown: DisplayedStatus = { status: 'awaiting_funds', code: 'insufficient_funds' };
    await expect(prepared(poor, shown)).rejects.toMatchObject({ type: 'insufficient_funds' });
    await use.ledger.pauses.begin({ actor: 'test', reason: 'to see it' });
    const paused = newTerms();
    await use.ledger.withdrawals.reserve(paused);
    expect(await prepared(paused, shown)).toMatchObject({ status: 'held', reason: { code: 'paused' } });
    await use.ledger.settlements.move(poor.id, 'rejected', REASON);
    expect(await prepared(poor, shown)).toMatchObject({ kind: 'ended', status: 'rejected' });
  });
});
