import { setTimeout as sleep } from 'node:timers/promises';
import { base64 } from '@scure/base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/activities/withdrawals.ts';
import { PAID_BY_DEAD } from '../../src/domain/settlement.ts';
import type { NewAttempt } from '../../src/ledger/settlements/attempts.ts';
import { createUnsignedExpiry } from '../../src/settlement/expire-unsigned.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { attempt, DEAD, newId, PLENTY, resume, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { LandingRoom, wallet } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import { landedWithdrawals } from '../support/withdrawal-kind.ts';

const use = useLedger();
/** How often the watchers of a {@link LandingRoom} resend an attempt that has not landed. */
const PACE_MS = 100;
let room: LandingRoom;

beforeAll(async () => {
  room = await LandingRoom.open();
});
afterEach(() => room.localnet.controls.clearFaults());
afterAll(() => room?.close());

/** A withdrawal whose first attempt is recorded as dead, and whose second is prepared; `signature` and `raw` are those of the second. */
async function secondPrepared() {
  const [id, destination] = [newId(), wallet()];
  const { raw, signature, feeLamports: _fee, ...life } = await room.attempt(destination, 5_000_000n);
  const message = readSigned(base64.decode(raw))?.message ?? new Uint8Array();
  const { attempts, withdrawals } = use.ledger;
  await withdrawals.reserve(terms(id, { destination }));
  await attempts.prepare(attempt(id, 1, { blockhashSlot: life.blockhashSlot }), PLENTY);
  await attempts.storeSignature(id, 1, `first-${id}`);
  await attempts.settle(id, 1, DEAD);
  const row: Partial<NewAttempt> = {
    ...life,
    signers: [room.signer.address],
    message: base64.encode(message),
    messageHash: messageHashOf(message),
  };
  await attempts.prepare(attempt(id, 2, row), PLENTY);
  return { id, signature, raw, destination };
}

async function sound(id: string): Promise<void> {
  await use.ledger.pauses.pauseWithAlert(
    { kind: PAID_BY_DEAD, subject: id, message: 'the first has landed' },
    id,
  );
  await resume(use.ledger);
}

/** The landing of attempt 2 as a run waits for it; `heartbeats` are the reasons that its heartbeats carry. */
function landing(id: string, signature: string) {
  const { ledger } = use;
  const heartbeats: (string | undefined)[] = [];
  const environment = activityEnvironment();
  environment.on('heartbeat', ({ reason }) => heartbeats.push(reason?.code));
  const { watcher, chain } = room;
  const landings = createLanding({ ledger, watcher, chain, kinds: landedWithdrawals(ledger), restMs: 50 });
  const work: Promise<unknown> = environment.run((input) => landings.landAttempt(input), {
    id,
    n: 2,
    signature,
  });
  const end = work.catch((error: unknown) => error);
  return { end, heartbeats, stop: () => environment.cancel() };
}

async function balanceOf(address: string): Promise<bigint> {
  const { accounts } = await room.chain.accounts([address]);
  return accounts[0]?.lamports ?? 0n;
}

const stateOf = async (id: string) => {
  const { status, reason } = await use.ledger.withdrawals.get(id);
  return [status, reason?.code, ...(await use.ledger.attempts.of(id)).map(({ state }) => state)];
};

describe('after the alert that a dead attempt landed, the next attempt', () => {
  it('is not given to the signer', async () => {
    const { id, destination } = await secondPrepared();
    const admission = createAdmission({ ledger: use.ledger });
    const again = terms(id, { destination });
    expect((await admission.admit(again)).attempt).toMatchObject({ n: 2, signature: null });
    await sound(id);
    expect(await admission.admit(again)).toMatchObject({ status: 'held', attempt: null });
  });

  it('gets no late signature, and expires once it can no longer land', async () => {
    const { id, signature, destination } = await secondPrepared();
    await sound(id);
    const { end, heartbeats } = landing(id, signature);
    await expect.poll(() => heartbeats, { timeout: 30_000 }).toContain(PAID_BY_DEAD);
    expect(await stateOf(id)).toEqual(['held', PAID_BY_DEAD, 'dead', 'prepared']);
    room.localnet.controls.produceSlots(170);
    await createUnsignedExpiry({ ledger: use.ledger, chain: room.chain }).expireUnsigned();
    expect(await end).toEqual({ kind: 'dead', signature: null });
    expect(await stateOf(id)).toEqual(['held', PAID_BY_DEAD, 'dead', 'dead']);
    expect(await balanceOf(destination)).toBe(0n);
  });

  it('is not resent when it is signed, and the judge still examines it', async () => {
    const { id, signature, destination } = await secondPrepared();
    for (const node of [0, 1])
      room.localnet.controls.setFault(node, 'sendTransaction', { kind: 'http', status: 503 });
    const { end, heartbeats } = landing(id, signature);
    await expect
      .poll(() => stateOf(id), { timeout: 30_000 })
      .toEqual(['sending', undefined, 'dead', 'signed']);
    await sound(id);
    await expect.poll(() => heartbeats, { timeout: 30_000 }).toContain(PAID_BY_DEAD);
    room.localnet.controls.clearFaults();
    await sleep(10 * PACE_MS);
    room.localnet.controls.produceSlots(170);
    expect(await end).toEqual({ kind: 'dead', signature });
    expect(await stateOf(id)).toEqual(['held', PAID_BY_DEAD, 'dead', 'dead']);
    expect(await balanceOf(destination)).toBe(0n);
  });

  it('is resent once an operator closes the alert as false', async () => {
    const { id, signature, destination } = await secondPrepared();
    await use.ledger.attempts.storeSignature(id, 2, signature);
    await sound(id);
    const { end, heartbeats } = landing(id, signature);
    await expect.poll(() => heartbeats, { timeout: 30_000 }).toContain(PAID_BY_DEAD);
    await use.ledger.settlements.continueUnpaid(id, { actor: 'ops', reason: 'no second node shows it' });
    expect(await room.withBlocks(end)).toMatchObject({ kind: 'finalized', signature });
    expect(await stateOf(id)).toEqual(['finalized', undefined, 'dead', 'landed']);
    expect(await balanceOf(destination)).toBe(5_000_000n);
  });

  it('is recorded when it lands, and only an operator ends the withdrawal', async () => {
    const { id, signature, raw } = await secondPrepared();
    await use.ledger.attempts.storeSignature(id, 2, signature);
    await room.chain.send(raw);
    await sound(id);
    const { end, stop } = landing(id, signature);
    room.localnet.controls.produceSlots(8);
    await expect
      .poll(() => stateOf(id), { timeout: 30_000 })
      .toEqual(['held', PAID_BY_DEAD, 'dead', 'landed']);
    const waits = Symbol('the run still waits');
    expect(await Promise.race([end, sleep(10 * PACE_MS, waits)])).toBe(waits);
    stop();
    expect(await end).toMatchObject({ name: 'CancelledFailure' });
  });
});
