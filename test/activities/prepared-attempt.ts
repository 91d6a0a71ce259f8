import { base64 } from '@scure/base';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { NewAttempt } from '../../src/ledger/settlements/attempts.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { attempt, newId, PLENTY } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { type LandingFixture } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import { landedWithdrawals } from '../support/withdrawal-kind.ts';

/** The amount of each payment, in lamports. */
export const AMOUNT = 5_000_000n;

/** A signed payment of the hot wallet, and the fields of its attempt row before the signature is stored. */
export async function signedPayment(fixture: LandingFixture, destination: string) {
  const {
    raw,
    signature,
    message,
    feeLamports: _fee,
    ...lifetime
  } = await fixture.attempt(destination, AMOUNT);
  const row = {
    ...lifetime,
    signers: [fixture.signer.address],
    message: base64.encode(message),
    messageHash: messageHashOf(message),
  };
  return { raw, signature, message, row };
}

/** A withdrawal with a prepared attempt; the database lacks the signature of the attempt. */
export async function preparedAttempt(
  ledger: Ledger,
  fixture: LandingFixture,
  changes: Partial<NewAttempt> = {},
) {
  const [id, destination] = [newId(), newAddress()];
  const { row, ...payment } = await signedPayment(fixture, destination);
  await ledger.withdrawals.reserve(terms(id, { destination }));
  const { kind } = await ledger.attempts.prepare(attempt(id, 1, { ...row, ...changes }), PLENTY);
  if (kind !== 'prepared') throw new Error(`the attempt is ${kind}`);
  return { id, destination, ...payment };
}

/** The landing of an attempt as a run waits for it; `heartbeats` are the reason codes in its heartbeats. */
export function landAttempt(
  ledger: Ledger,
  { watcher, chain }: LandingFixture,
  request: { readonly id: string; readonly n: number; readonly signature: string },
) {
  const heartbeats: (string | undefined)[] = [];
  const environment = activityEnvironment();
  environment.on('heartbeat', ({ reason }) => heartbeats.push(reason?.code));
  const landings = createLanding({ ledger, watcher, chain, kinds: landedWithdrawals(ledger), recheckMs: 50 });
  const work: Promise<unknown> = environment.run((input) => landings.landAttempt(input), request);
  const end = work.catch((error: unknown) => error);
  return { end, heartbeats, stop: () => environment.cancel() };
}

/** The status of a withdrawal, the code of its reason, and the states of its attempts. */
export async function stateOf(ledger: Ledger, id: string): Promise<readonly unknown[]> {
  const { status, reason } = await ledger.withdrawals.get(id);
  return [status, reason?.code, ...(await ledger.attempts.of(id)).map(({ state }) => state)];
}
