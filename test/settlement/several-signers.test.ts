import { beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createSettlementActivities } from '../../src/activities/settlements.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import type { Landing, Preparation, PreparedAttempt, SigningTask } from '../../src/domain/steps.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { codeOf, openReservations, resume, useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import {
  EACH,
  fundedKeys,
  GATHERING,
  GATHERING_RULE,
  gathering,
  type Keys,
  requestGathering,
} from './several-signers-kind.ts';

const GIVERS = ['deposit/1', 'deposit/2', 'deposit/3'];
const use = useLedger();
const fixture = useLandingFixture();
let keys: Keys;

beforeAll(async () => {
  keys = await fundedKeys(fixture, ['fee-payer/1', ...GIVERS]);
});

/** The steps of the workflow, by a worker that has just started: nothing is remembered from one to the next. */
function worker(keysOfSigner: Keys = keys) {
  const { ledger } = use;
  const kinds = { [GATHERING]: gathering(fixture, keys) };
  const bounds = { priceCapMicroLamports: 100_000n, maxFeeLamports: 500_000n, allowHookAccounts: false };
  return {
    ...createSettlementActivities({ ledger, kinds }),
    ...createSignerActivities({ keys: keysOfSigner, bounds, rules: GATHERING_RULE }),
    ...createLanding({ ledger, kinds, watcher: fixture.watcher, chain: fixture.chain, recheckMs: 50 }),
  };
}

async function prepared(id: string): Promise<PreparedAttempt> {
  const shown = { status: 'requested', code: null } as const;
  const work: Promise<Preparation> = activityEnvironment().run(() =>
    worker().prepareSettlement({ id, shown }),
  );
  const preparation = await work;
  if (preparation.kind !== 'prepared') throw new Error(`${id} is ${preparation.status}`);
  return preparation.attempt;
}

async function sign(task: SigningTask, signer = worker()): Promise<string> {
  const work: Promise<{ readonly signature: string }> = activityEnvironment().run(() =>
    signer.signTransaction(task),
  );
  return (await work).signature;
}

/** Adds one signature, and returns the remaining signing tasks. */
async function oneMore(id: string): Promise<number> {
  const { n, tasks: [task, ...rest] = [] } = await prepared(id);
  if (task === undefined) throw new Error('all have signed');
  if (rest.length > 0) await worker().storeSignature({ id, n, signature: await sign(task) });
  return rest.length;
}

async function landed(id: string): Promise<Landing> {
  while ((await oneMore(id)) > 0);
  const { n, tasks: [last] = [] } = await prepared(id);
  if (last === undefined) throw new Error('the fee payer signs last');
  const signature = await sign(last);
  return fixture.withBlocks(activityEnvironment().run(() => worker().landAttempt({ id, n, signature })));
}

function openOf(name: string): Promise<bigint> {
  return openReservations(use.ledger, keys[name]?.address ?? '', 'SOL');
}

describe('a settlement with three source wallets and a fee payer of its own', () => {
  it('is paid once by a transaction that each wallet signed, whichever worker continues after which signature', async () => {
    const destination = newAddress();
    const id = await requestGathering(use.ledger, destination);
    const { tasks = [] } = await prepared(id);
    expect(tasks.map(({ key }) => key).toSorted()).toEqual([...GIVERS, 'fee-payer/1']);
    expect(tasks.at(-1)?.key).toBe('fee-payer/1');
    expect(await Promise.all(GIVERS.map(openOf))).toEqual([EACH, EACH, EACH]);
    expect(await oneMore(id)).toBe(3);
    expect((await prepared(id)).tasks).toHaveLength(3);
    const landing = await landed(id);
    expect(landing.kind).toBe('finalized');
    expect(await fixture.lamportsOf(destination)).toBe(3n * EACH);
    expect(await use.ledger.settlements.get(id)).toMatchObject({ status: 'finalized' });
    expect(await Promise.all(['fee-payer/1', ...GIVERS].map(openOf))).toEqual([0n, 0n, 0n, 0n]);
    expect(await use.ledger.attempts.of(id)).toMatchObject([{ n: 1, state: 'landed' }]);
  });

  it('has no transaction id before its fee payer signed, and keeps the first signature of each wallet', async () => {
    const id = await requestGathering(use.ledger, newAddress());
    const { n, tasks: [task] = [] } = await prepared(id);
    if (task === undefined) throw new Error('a signature is missing');
    const signature = await sign(task);
    await worker().storeSignature({ id, n, signature });
    const [row] = await use.ledger.attempts.of(id);
    expect(row).toMatchObject({ state: 'prepared', signature: null });
    const other = keys[task.key]?.address;
    const kept = await use.ledger.attempts.storeSignature(id, n, 'another', other);
    expect(kept.signatures).toEqual(row?.signatures);
    const foreign = worker().storeSignature({
      id,
      n,
      signature: await sign({ ...task, key: 'fee-payer/1' }),
    });
    expect(await codeOf(foreign)).toBe('none');
    expect((await use.ledger.attempts.get(id, n)).signature).not.toBeNull();
    const wrong = worker().storeSignature({ id, n, signature: '1'.repeat(64) });
    expect(await codeOf(wrong)).toBe('SigningRefused');
  });

  it('is neither sent nor failed while a wallet other than its fee payer has not signed', async () => {
    const destination = newAddress();
    const id = await requestGathering(use.ledger, destination);
    const { n, tasks = [] } = await prepared(id);
    const last = tasks.at(-1);
    if (last === undefined) throw new Error('the fee payer signs last');
    const signature = await sign(last);
    const landing = activityEnvironment().run(() => worker().landAttempt({ id, n, signature }));
    await expect(landing).rejects.toMatchObject({ code: 'IllegalTransition' });
    expect(await use.ledger.settlements.get(id)).toMatchObject({ status: 'preparing' });
    expect(await fixture.lamportsOf(destination)).toBe(0n);
  });

  it('is composed again when it is proved dead, and then paid once', async () => {
    const destination = newAddress();
    const id = await requestGathering(use.ledger, destination);
    fixture.swallow();
    expect(await landed(id)).toMatchObject({ kind: 'dead' });
    fixture.localnet.controls.clearFaults();
    expect(await landed(id)).toMatchObject({ kind: 'finalized' });
    expect(await fixture.lamportsOf(destination)).toBe(3n * EACH);
    const rows = await use.ledger.attempts.of(id);
    expect(rows.map(({ state }) => state)).toEqual(['dead', 'landed']);
  });

  it('is not signed for another destination, by another key or by an unknown rule', async () => {
    const id = await requestGathering(use.ledger, newAddress());
    const { tasks: [task] = [] } = await prepared(id);
    if (task === undefined) throw new Error('a signature is missing');
    for (const changes of [{ terms: { destination: newAddress() } }, { key: 'hot' }, { kind: 'withdrawal' }])
      expect(await codeOf(sign({ ...task, ...changes }))).toBe('SigningRefused');
  });

  it('is not signed by a key that its kind does not use, although this signer has it', async () => {
    const id = await requestGathering(use.ledger, newAddress());
    const { tasks: [task] = [] } = await prepared(id);
    if (task === undefined) throw new Error('a signature is missing');
    const hot = keys[task.key];
    const signer = worker({ ...keys, ...(hot && { hot }) });
    await expect(sign({ ...task, key: 'hot' }, signer)).rejects.toThrow(
      `key hot is not allowed to sign messages of kind ${task.kind}`,
    );
    expect(await sign(task, signer)).toBe(await sign(task));
  });

  it('waits while payments are paused', async () => {
    const id = await requestGathering(use.ledger, newAddress());
    await use.ledger.pauses.begin({ actor: 'ops', reason: 'a look' });
    await expect(prepared(id)).rejects.toThrow('is held');
    await resume(use.ledger);
    expect((await prepared(id)).n).toBe(1);
  });
});
