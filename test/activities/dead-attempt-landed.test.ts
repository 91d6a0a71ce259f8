import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createAdmission } from '../../src/activities/withdrawals.ts';
import { PAID_BY_DEAD } from '../../src/domain/settlement.ts';
import { createUnsignedExpiry } from '../../src/settlement/expire-unsigned.ts';
import { attempt, DEAD, newId, PLENTY, resume, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { AMOUNT, landAttempt, signedPayment, stateOf } from './prepared-attempt.ts';

const use = useLedger();
/** How often the watchers of a {@link LandingFixture} resend an attempt that has not landed. */
const RESEND_MS = 100;
const fixture = useLandingFixture();

/** A withdrawal whose first attempt is recorded as dead, and whose second is prepared; `signature` and `raw` are those of the second. */
async function secondPrepared() {
  const [id, destination] = [newId(), newAddress()];
  const { raw, signature, row } = await signedPayment(fixture, destination);
  const { attempts, withdrawals } = use.ledger;
  await withdrawals.reserve(terms(id, { destination }));
  await attempts.prepare(attempt(id, 1, { blockhashSlot: row.blockhashSlot }), PLENTY);
  await attempts.storeSignature(id, 1, `first-${id}`);
  await attempts.settle(id, 1, DEAD);
  await attempts.prepare(attempt(id, 2, row), PLENTY);
  return { id, signature, raw, destination };
}

async function raisePaidByDead(id: string): Promise<void> {
  await use.ledger.pauses.pauseWithAlert(
    { kind: PAID_BY_DEAD, subject: id, message: 'the first has landed' },
    id,
  );
  await resume(use.ledger);
}

const landing = (id: string, signature: string) => landAttempt(use.ledger, fixture, { id, n: 2, signature });

describe('after the alert that a dead attempt landed, the next attempt', () => {
  it('is not given to the signer', async () => {
    const { id, destination } = await secondPrepared();
    const admission = createAdmission({ ledger: use.ledger });
    const again = terms(id, { destination });
    expect((await admission.admit(again)).attempt).toMatchObject({ n: 2, signature: null });
    await raisePaidByDead(id);
    expect(await admission.admit(again)).toMatchObject({ status: 'held', attempt: null });
  });

  it('gets no late signature, and expires once it can no longer land', async () => {
    const { id, signature, destination } = await secondPrepared();
    await raisePaidByDead(id);
    const { end, heartbeats } = landing(id, signature);
    await expect.poll(() => heartbeats, { timeout: 30_000 }).toContain(PAID_BY_DEAD);
    expect(await stateOf(use.ledger, id)).toEqual(['held', PAID_BY_DEAD, 'dead', 'prepared']);
    fixture.localnet.controls.produceSlots(170);
    await createUnsignedExpiry({ ledger: use.ledger, chain: fixture.chain }).expireUnsigned();
    expect(await end).toEqual({ kind: 'dead', signature: null });
    expect(await stateOf(use.ledger, id)).toEqual(['held', PAID_BY_DEAD, 'dead', 'dead']);
    expect(await fixture.lamportsOf(destination)).toBe(0n);
  });

  it('is not resent when it is signed, and the judge still examines it', async () => {
    const { id, signature, destination } = await secondPrepared();
    for (const node of [0, 1])
      fixture.localnet.controls.setFault(node, 'sendTransaction', { kind: 'http', status: 503 });
    const { end, heartbeats } = landing(id, signature);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['sending', undefined, 'dead', 'signed']);
    await raisePaidByDead(id);
    await expect.poll(() => heartbeats, { timeout: 30_000 }).toContain(PAID_BY_DEAD);
    fixture.localnet.controls.clearFaults();
    await sleep(10 * RESEND_MS);
    fixture.localnet.controls.produceSlots(170);
    expect(await end).toEqual({ kind: 'dead', signature });
    expect(await stateOf(use.ledger, id)).toEqual(['held', PAID_BY_DEAD, 'dead', 'dead']);
    expect(await fixture.lamportsOf(destination)).toBe(0n);
  });

  it('is resent once an operator closes the alert as false', async () => {
    const { id, signature, destination } = await secondPrepared();
    await use.ledger.attempts.storeSignature(id, 2, signature);
    await raisePaidByDead(id);
    const { end, heartbeats } = landing(id, signature);
    await expect.poll(() => heartbeats, { timeout: 30_000 }).toContain(PAID_BY_DEAD);
    await use.ledger.settlements.continueUnpaid(id, { actor: 'ops', reason: 'no second node shows it' });
    expect(await fixture.withBlocks(end)).toMatchObject({ kind: 'finalized', signature });
    expect(await stateOf(use.ledger, id)).toEqual(['finalized', undefined, 'dead', 'landed']);
    expect(await fixture.lamportsOf(destination)).toBe(AMOUNT);
  });

  it('is recorded when it lands, and only an operator ends the withdrawal', async () => {
    const { id, signature, raw } = await secondPrepared();
    await use.ledger.attempts.storeSignature(id, 2, signature);
    await fixture.chain.send(raw);
    await raisePaidByDead(id);
    const { end, stop } = landing(id, signature);
    fixture.localnet.controls.produceSlots(8);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['held', PAID_BY_DEAD, 'dead', 'landed']);
    const waits = Symbol('the run still waits');
    expect(await Promise.race([end, sleep(10 * RESEND_MS, waits)])).toBe(waits);
    stop();
    expect(await end).toMatchObject({ name: 'CancelledFailure' });
  });
});
