import { createHash } from 'node:crypto';
import { base58, base64 } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createPreparation } from '../../src/activities/withdrawals.ts';
import type { Preparation, PreparedAttempt } from '../../src/domain/steps.ts';
import type { WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { AttemptRow, NewAttempt } from '../../src/ledger/settlements/attempts.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { withdrawalKind } from '../../src/withdrawals/kind.ts';
import { newId, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { recordCalls } from '../solana/rpc-calls.ts';
import { activityEnvironment } from '../support/activity.ts';
import { QUICK_PRICES } from '../support/quick-chain.ts';
import { landedWithdrawals } from '../support/withdrawal-kind.ts';

const use = useLedger();
const AMOUNT = 3_000_000n;
const fixture = useLandingFixture();

/** A recorded withdrawal, of the same terms as every other one to this destination. */
async function reserved(destination: string, id = newId()): Promise<WithdrawalTerms> {
  const asked = terms(id, { destination, acceptEmptyWallet: true, amount: AMOUNT.toString() });
  await use.ledger.withdrawals.reserve(asked);
  return asked;
}

/** A chain worker that has just started. */
function worker(ledger: Ledger): (of: WithdrawalTerms) => Promise<PreparedAttempt> {
  const { chain, signer } = fixture;
  const composer = new Composer({
    chain,
    fees: new FeePlanner(chain, QUICK_PRICES),
    lifetimes: blockhashLifetimes(chain),
    rules: { hotWallet: signer.address, confirmUsedWallet: false, tokenPolicy: {} },
    bounds: { priceCapMicroLamports: 1_000_000n, maxFeeLamports: 500_000n, allowHookAccounts: false },
  });
  const walletWatch = { check: async () => undefined };
  const preparing = createPreparation({
    ledger,
    kind: withdrawalKind({ ledger, composer, walletWatch, chain }),
  });
  const shown = { status: 'requested', code: null } as const;
  return async (of) => {
    const work: Promise<Preparation> = activityEnvironment().run(() =>
      preparing.prepareAttempt({ terms: of, shown }),
    );
    const preparation = await work;
    if (preparation.kind !== 'prepared') throw new Error(`${of.id} is ${preparation.status}`);
    return preparation.attempt;
  };
}

/** The store, and the hash of each message that a caller tried to write. */
function overheard(): { readonly ledger: Ledger; readonly wanted: string[] } {
  const wanted: string[] = [];
  const attempts = new Proxy(use.ledger.attempts, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]) => {
        if (key === 'prepare') wanted.push((args[0] as NewAttempt).messageHash);
        return member.apply(target, args);
      };
    },
  });
  return { ledger: { ...use.ledger, attempts }, wanted };
}

/** Two ids whose first attempts get the same salt, the only difference between equal terms with one blockhash. */
function twins(): readonly [string, string] {
  const seen = new Map<number, string>();
  for (let number = 0; ; number += 1) {
    const id = `twin-${number}`;
    const salt = createHash('sha256').update(`${id}/1/0`).digest().readUInt16BE(0);
    const twin = seen.get(salt);
    if (twin !== undefined) return [twin, id];
    seen.set(salt, id);
  }
}

async function land({ id }: WithdrawalTerms, { n, message }: PreparedAttempt): Promise<unknown> {
  const signature = base58.encode(await fixture.signer.sign(base64.decode(message)));
  const landings = createLanding({
    ledger: use.ledger,
    watcher: fixture.watcher,
    chain: fixture.chain,
    kinds: landedWithdrawals(use.ledger),
  });
  return activityEnvironment().run(() => landings.landAttempt({ id, n, signature }));
}

describe('withdrawals with equal terms', () => {
  it('get different messages: the second is composed again, and both are paid', async () => {
    const destination = newAddress();
    const [one, other] = twins();
    const asked = [await reserved(destination, one), await reserved(destination, other)];
    const { ledger, wanted } = overheard();
    const prepare = worker(ledger);
    const prepared: PreparedAttempt[] = [];
    for (const each of asked) prepared.push(await prepare(each));
    expect(wanted).toHaveLength(3);
    expect(wanted[1]).toBe(wanted[0]);
    const rows: AttemptRow[] = [];
    for (const { id } of asked) rows.push(await use.ledger.attempts.get(id, 1));
    expect(rows.map(({ messageHash }) => messageHash)).toEqual([wanted[0], wanted[2]]);
    expect(new Set(rows.map(({ blockhash }) => blockhash)).size).toBe(1);

    const landings = prepared.map((attempt, at) => land(asked[at] ?? terms(''), attempt));
    expect(await fixture.withBlocks(Promise.all(landings))).toMatchObject([
      { kind: 'finalized' },
      { kind: 'finalized' },
    ]);
    expect(await fixture.lamportsOf(destination)).toBe(2n * AMOUNT);
  });

  it('that are prepared at once share one simulation by two nodes, and each gets its own message', async () => {
    const destination = newAddress();
    const asked = await Promise.all(Array.from({ length: 20 }, () => reserved(destination)));
    const calls: string[] = [];
    const stop = recordCalls(fixture.pool, calls);
    const prepared = await Promise.all(asked.map(worker(use.ledger)));
    stop();
    expect(new Set(prepared.map(({ message }) => message)).size).toBe(20);
    expect(calls.filter((method) => method === 'simulateTransaction')).toHaveLength(fixture.pool.quorum);
  });
});
