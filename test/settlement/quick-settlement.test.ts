import { Keypair } from '@solana/web3.js';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createQuickActivities } from '../../src/activities/quick-settlements.ts';
import { createSettlementActivities } from '../../src/activities/settlements.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { QUICK_TASK_QUEUE } from '../../src/domain/ids.ts';
import type { SettlementEnd, SettlementState } from '../../src/domain/steps.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { StatusBefore } from '../../src/ledger/settlements/settlement-row.ts';
import { startSettlement } from '../../src/platform/temporal/starts.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { acceptingSlot } from '../../src/solana/proof/adopted.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import { blockhashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { type SettlementView, settlementReached } from '../../src/workflows/messages.ts';
import { INTERVALS, useLandingFixture } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import { failOnceAt } from '../support/intercept.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { temporalClient } from '../support/temporal.ts';
import { startWorkers } from '../workflows/workers.ts';
import {
  buyerTransaction,
  type Orders,
  PRICE,
  PURCHASE,
  PURCHASE_RULE,
  purchases,
  requestPurchase,
} from './purchase.ts';
import { fundedKeys, type Keys } from './several-signers-kind.ts';

/** No machine is so slow that a test waits for the end of it. */
const PATIENT_MS = 60_000;
/** Of the workers of the workflow. */
const BRIEF_MS = 1_000;
const orders: Orders = new Map();
const buyer = Keypair.generate();
const shown = { status: 'requested', code: null } as const;
const changes: { readonly id: string; readonly before: StatusBefore; readonly now: string }[] = [];
const fixture = useLandingFixture();
let ledger: Ledger;
let keys: Keys;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  const events = {
    answersAt: 'confirmed',
    changed: async (_trx: unknown, { id, status }: { id: string; status: string }, before: StatusBefore) => {
      changes.push({ id, before, now: status });
    },
  } as const;
  ledger = await openLedger(database.url, undefined, { [PURCHASE]: events });
  keys = await fundedKeys(fixture, ['fee-payer/1'], [buyer.publicKey.toBase58()]);
});
beforeEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await ledger?.close();
  await database?.drop();
});

/** A recorded purchase whose fee a Sluice key pays: its id, and the payee of the price. */
async function bought(): Promise<{ readonly id: string; readonly seller: string }> {
  const seller = newAddress();
  const wire = await buyerTransaction(fixture, buyer, seller, keys['fee-payer/1']?.address ?? '');
  const acceptedAt = await acceptingSlot(fixture.pool, blockhashOf(readSigned(wire)?.message ?? wire));
  if (acceptedAt === null) throw new Error('no node accepts its blockhash');
  return { seller, id: await requestPurchase(ledger, orders, seller, { wire, acceptedAt }) };
}

/** What a worker that has just started has; a call at one of the points throws, once. `signs`: it has the keys. */
function activities(crashes: string[] = [], answerWithinMs = PATIENT_MS, signs = true) {
  const crash = failOnceAt(crashes);
  const record = {
    ...ledger,
    attempts: crash(ledger.attempts, 'attempts'),
    settlements: crash(ledger.settlements, 'settlements'),
  };
  const bounds = { priceCapMicroLamports: 100_000n, maxFeeLamports: 500_000n, allowHookAccounts: false };
  const kinds = { [PURCHASE]: purchases(fixture, orders, keys) };
  const watcher = new LandingWatcher(fixture.chain, INTERVALS);
  const deps = { ledger: record, kinds, watcher, chain: fixture.chain, recheckMs: 50 };
  const signer = createSignerActivities({ keys, bounds, rules: PURCHASE_RULE });
  const landing = createLanding(deps);
  return {
    ...createQuickActivities({ ...deps, ...(signs ? { signer } : {}), answerWithinMs }),
    ...landing,
    ...createSettlementActivities(deps),
    landPayment: async (attempt: Parameters<typeof landing.landAttempt>[0]) => ({
      landing: await landing.landAttempt(attempt),
      isOwed: false,
    }),
  };
}

function quickly(id: string, crashes?: string[], withinMs?: number): Promise<SettlementState> {
  return activityEnvironment().run(() => activities(crashes, withinMs).settleQuickly({ id, shown }));
}

/** Blocks come until one pays the seller, and one more: it is confirmed then, and not final. */
function untilPaid<T>(seller: string, wait: Promise<T>): Promise<T> {
  const { controls } = fixture.localnet;
  let more = 1;
  const clock = setInterval(() => {
    const isPaid = controls.chain.vm.account(seller) !== null;
    if (isPaid) more -= 1;
    if (more >= 0) controls.produceSlot();
  }, 40);
  return wait.finally(() => clearInterval(clock));
}

describe('the quick part of a settlement', () => {
  it('answers at confirmed, with the attempt recorded and sent', async () => {
    const { id, seller } = await bought();
    const state = await untilPaid(seller, quickly(id));
    expect(state).toMatchObject({ status: 'confirmed', attempt: { n: 1 } });
    expect(fixture.localnet.controls.chain.vm.account(seller)?.lamports).toBe(PRICE);
  });

  it('answers that the attempt is sent when no node shows it in time', async () => {
    const { id, seller } = await bought();
    fixture.swallow();
    expect(await quickly(id, [], BRIEF_MS)).toMatchObject({ status: 'sending', attempt: { n: 1 } });
    fixture.localnet.controls.clearFaults();
    expect(await untilPaid(seller, quickly(id))).toMatchObject({ status: 'confirmed' });
  });

  it.each([
    'before attempts.prepare',
    'after attempts.prepare',
    'before settlements.note',
    'after settlements.note',
  ])('continues from the stored attempt when its worker dies %s', async (point) => {
    const { id, seller } = await bought();
    await expect(untilPaid(seller, quickly(id, [point]))).rejects.toThrow(`crash ${point}`);
    expect(await untilPaid(seller, quickly(id))).toMatchObject({ status: 'confirmed' });
    expect(await ledger.attempts.of(id)).toHaveLength(1);
    expect(fixture.localnet.controls.chain.vm.account(seller)?.lamports).toBe(PRICE);
  });

  it('is held when the signer refuses', async () => {
    const { id, seller } = await bought();
    const order = orders.get(seller);
    const other = newAddress();
    if (order === undefined) throw new Error('it is recorded');
    const stranger = await requestPurchase(ledger, orders, other, order);
    await expect(quickly(stranger)).rejects.toMatchObject({ code: 'SigningRefused' });
    expect(await ledger.settlements.get(stranger)).toMatchObject({
      status: 'held',
      reason: { code: 'signing_refused' },
    });
    expect((await ledger.settlements.get(id)).status).toBe('requested');
  });
});

describe('a settlement that Sluice keys sign', () => {
  it('in the same worker is neither stored nor sent while payments are paused', async () => {
    const { id } = await bought();
    const send = vi.spyOn(fixture.chain, 'send');
    const note = { actor: 'ops', reason: 'look first' };
    await ledger.pauses.begin(note);
    const state = await quickly(id);
    await ledger.pauses.end(note);
    expect(state).toMatchObject({ status: 'held', reason: { code: 'paused' }, attempt: null });
    expect(await ledger.attempts.of(id)).toEqual([]);
    expect(send).not.toHaveBeenCalled();
  });

  it('on other workers returns the signing tasks to its run', async () => {
    const { id } = await bought();
    const work = () => activities([], PATIENT_MS, false).settleQuickly({ id, shown });
    const state: SettlementState = await activityEnvironment().run(work);
    expect(state).toMatchObject({
      status: 'preparing',
      attempt: { signature: null, tasks: [{ kind: PURCHASE, key: 'fee-payer/1' }] },
    });
  });
});

describe('a settlement that is confirmed', () => {
  it('and dropped by a fork is reported to its kind, with an alert that closes once it is final', async () => {
    const { id, seller } = await bought();
    const { attempt } = await untilPaid(seller, quickly(id));
    fixture.localnet.controls.fork(2);
    const land = () => activities().landAttempt({ id, n: 1, signature: attempt?.signature ?? '' });
    const landing: Promise<unknown> = activityEnvironment().run(land);
    const isOpen = async () =>
      (await ledger.alerts.list({ open: true, limit: 50 })).rows.some(({ subject }) => subject === id);
    await vi.waitFor(async () => expect(await isOpen()).toBe(true), { timeout: 20_000 });
    expect(changes).toContainEqual({ id, before: { status: 'confirmed', code: null }, now: 'sending' });
    expect(await fixture.withBlocks(landing)).toMatchObject({ kind: 'finalized' });
    expect(await isOpen()).toBe(false);
  });
});

describe('a settlement that was confirmed', () => {
  const failedOn = { code: 'failed_on_chain', message: 'it lacked funds' };
  const evidenceMissing = { code: 'evidence_missing', message: 'nodes are silent' };

  async function confirmed(): Promise<string> {
    const { id, seller } = await bought();
    await untilPaid(seller, quickly(id));
    return id;
  }

  async function alertOf(id: string): Promise<string | undefined> {
    const [alert] = await ledger.alerts.listOpenAbout(id);
    return alert?.kind === 'confirmed_taken_back' ? alert.message.split('; ').at(-1) : alert?.kind;
  }

  it('and is held is not yet dropped', async () => {
    const id = await confirmed();
    await ledger.settlements.note(id, 'held', evidenceMissing);
    expect(await alertOf(id)).toBeUndefined();
    await ledger.settlements.note(id, 'sending', null);
    expect(await alertOf(id)).toBe('its transaction is sent again');
  });

  it.each([
    [
      'fails on another fork',
      { state: 'failed', slot: 9n, error: '"X"', reason: failedOn },
      'the transaction failed on another fork',
    ],
    ['is proved dead', { state: 'dead' }, 'the transaction can no longer land'],
  ] as const)('and is held, and then %s, raises the alert', async (_what, outcome, said) => {
    const id = await confirmed();
    await ledger.settlements.note(id, 'held', evidenceMissing);
    await ledger.attempts.settle(id, 1, { ...outcome, proof: { is: 'a proof' } });
    expect(await alertOf(id)).toBe(said);
  });

  it('and fails directly raises the alert', async () => {
    const id = await confirmed();
    const outcome = { state: 'failed', slot: 9n, error: '"X"', reason: failedOn } as const;
    await ledger.attempts.settle(id, 1, { ...outcome, proof: {} });
    expect(await alertOf(id)).toBe('the transaction failed on another fork');
  });
});

describe('the workflow of a quick settlement', () => {
  type Place = Awaited<ReturnType<typeof freshNamespace>>;
  let sound: Place;
  /** Activities whose landing fails once, after it stored its status. */
  let failing: Place;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    sound = await freshNamespace('quick');
    failing = await freshNamespace('quick-failing');
    for (const [place, crashes] of [
      [sound, []],
      [failing, ['after settlements.note']],
    ] as const) {
      const steps = activities([...crashes], BRIEF_MS);
      stops.push(await startWorkers(place, steps, [], QUICK_TASK_QUEUE));
    }
  });
  afterAll(() => Promise.all(stops.map((stop) => stop())));

  /** Asks the run, started if it is missing, to answer once it is confirmed. */
  function reached(id: string, at: 'confirmed' | 'finalized', place = sound): Promise<SettlementView> {
    const startWorkflowOperation = new WithStartWorkflowOperation('x402Settlement', {
      workflowId: id,
      taskQueue: QUICK_TASK_QUEUE,
      args: [{ id }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const { workflow } = temporalClient(place);
    return workflow.executeUpdateWithStart(settlementReached, { args: [at], startWorkflowOperation });
  }

  it('answers callers at confirmed, and continues to finalized without a resend', async () => {
    const { id, seller } = await bought();
    const send = vi.spyOn(fixture.chain, 'send');
    const callers = Promise.all([reached(id, 'confirmed'), reached(id, 'confirmed')]);
    const views = await untilPaid(seller, callers);
    expect(views.map(({ status }) => status)).toEqual(['confirmed', 'confirmed']);
    const sent = send.mock.calls.length;
    expect((await fixture.withBlocks(reached(id, 'finalized'))).status).toBe('finalized');
    expect(send.mock.calls).toHaveLength(sent);
    const end: SettlementEnd = await temporalClient(sound).workflow.getHandle(id).result();
    expect(end).toMatchObject({ status: 'finalized', reason: null });
    expect(await fixture.lamportsOf(seller)).toBe(PRICE);
  }, 60_000);

  it('is the workflow that starts for a settlement of this kind without a run', async () => {
    const { id, seller } = await bought();
    const named = { kind: PURCHASE, subjectId: seller };
    const handle = await startSettlement(
      temporalClient(sound),
      named,
      ledger.settlements.answersAt(PURCHASE),
    );
    await untilPaid(seller, reached(id, 'confirmed'));
    expect(await fixture.withBlocks(handle.result())).toMatchObject({ status: 'finalized' });
  }, 60_000);

  it.each([
    ['', () => sound],
    [', and the landing fails before it has said so', () => failing],
  ])(
    'answers callers at confirmed even when that follows its quick part%s',
    async (_what, place) => {
      const { id } = await bought();
      fixture.swallow();
      const view = reached(id, 'confirmed', place());
      const { attempts } = ledger;
      await vi.waitFor(
        async () => expect(await attempts.of(id)).toMatchObject([{ state: 'signed' }]),
        20_000,
      );
      await new Promise((resolve) => setTimeout(resolve, 2 * BRIEF_MS));
      fixture.localnet.controls.clearFaults();
      const send = vi.spyOn(fixture.chain, 'send');
      await vi.waitFor(() => expect(send).toHaveBeenCalled(), 20_000);
      await Promise.all(send.mock.results.map(({ value }) => value));
      fixture.localnet.controls.produceSlots(2);
      expect((await view).status).toBe('confirmed');
      expect((await fixture.withBlocks(reached(id, 'finalized', place()))).status).toBe('finalized');
    },
    60_000,
  );
});
