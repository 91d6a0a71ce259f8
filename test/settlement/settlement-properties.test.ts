import { base58 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createSettlementActivities } from '../../src/activities/settlements.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { isTerminal } from '../../src/domain/settlement.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Kinds } from '../../src/settlement/kind.ts';
import { createLanding } from '../../src/settlement/land.ts';
import type { SigningRules } from '../../src/signing/checks.ts';
import { acceptingSlot, sentTransaction } from '../../src/solana/proof/adopted.ts';
import { LandingWatcher } from '../../src/solana/proof/landing.ts';
import { blockhashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { openReservations, useLedger } from '../ledger/support.ts';
import { INTERVALS, useLandingFixture } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import { failOnceAt } from '../support/intercept.ts';
import {
  buyerTransaction,
  type Orders,
  PRICE,
  PURCHASE,
  PURCHASE_RULE,
  purchases,
  requestPurchase,
} from './purchase.ts';
import {
  EACH,
  fundedKeys,
  GATHERING,
  GATHERING_RULE,
  gathering,
  type Keys,
  requestGathering,
} from './several-signers-kind.ts';

const FEE_PAYER = 'fee-payer/1';
const GIVERS = ['deposit/1', 'deposit/2', 'deposit/3'];
const use = useLedger();
const orders: Orders = new Map();
const buyer = Keypair.generate();
const fixture = useLandingFixture(undefined, 3);
let keys: Keys;

beforeAll(async () => {
  keys = await fundedKeys(fixture, [FEE_PAYER, ...GIVERS], [buyer.publicKey.toBase58()]);
});

/** How a kind creates a settlement that pays `payee`, and the amount received. */
interface Case {
  readonly request: (payee: string) => Promise<string>;
  readonly amount: bigint;
  readonly isAdopted: boolean;
  /** The wallet that, once it is emptied, makes the transaction fail on chain. */
  readonly source: () => string;
}

async function sentFirst(payee: string): Promise<string> {
  const wire = await buyerTransaction(fixture, buyer, payee, null);
  const signature = base58.encode(wire.subarray(1, 65));
  expect(await sentTransaction(fixture.pool, signature)).toBeNull();
  await fixture.chain.send(Buffer.from(wire).toString('base64'));
  fixture.localnet.controls.produceSlots(2);
  const sent = await sentTransaction(fixture.pool, signature);
  if (sent === null) throw new Error('no node shows what the buyer has sent');
  return requestPurchase(use.ledger, orders, payee, { wire: sent.wire, acceptedAt: sent.slot });
}

const CASES: Readonly<Record<string, Case>> = {
  'composed with three source wallets': {
    request: (payee) => requestGathering(use.ledger, payee),
    amount: 3n * EACH,
    isAdopted: false,
    source: () => keys['deposit/2']?.address ?? '',
  },
  'adopted with the signature of its buyer': {
    request: async (payee) => {
      const wire = await buyerTransaction(fixture, buyer, payee, keys[FEE_PAYER]?.address ?? '');
      const message = readSigned(wire)?.message ?? new Uint8Array();
      const acceptedAt = await acceptingSlot(fixture.pool, blockhashOf(message));
      if (acceptedAt === null) throw new Error('no node accepts its blockhash');
      return requestPurchase(use.ledger, orders, payee, { wire, acceptedAt });
    },
    amount: PRICE,
    isAdopted: true,
    source: () => buyer.publicKey.toBase58(),
  },
  'sent by its buyer before it is known': {
    request: sentFirst,
    amount: PRICE,
    isAdopted: true,
    source: () => buyer.publicKey.toBase58(),
  },
};

const CRASHES = [
  'before attempts.prepare',
  'after attempts.prepare',
  'before attempts.storeSignature',
  'after attempts.storeSignature',
  'before settlements.note',
  'after settlements.note',
  'before attempts.settle',
  'after attempts.settle',
];
const resultFault = (result: unknown): Fault => ({ kind: 'result', result });
const atSlot = (value: unknown) => resultFault({ context: { slot: 1 }, value });
const seen = (confirmationStatus: string, err: unknown) =>
  atSlot([{ slot: 1, confirmations: null, err, confirmationStatus }]);
const LIES: readonly (readonly [method: string, fault: Fault])[] = [
  ['getSignatureStatuses', atSlot([null])],
  ['getSignatureStatuses', seen('finalized', null)],
  ['getSignatureStatuses', seen('finalized', 'AccountNotFound')],
  ['getTransaction', resultFault(null)],
  ['getBlock', resultFault(null)],
  ['getBlocksWithLimit', resultFault([])],
  ['isBlockhashValid', atSlot(true)],
  ['getBlockHeight', resultFault(1)],
];

const scenarios = fc.record({
  crashes: fc.uniqueArray(fc.constantFrom(...CRASHES), { maxLength: 3 }),
  lies: fc.uniqueArray(fc.constantFrom(...LIES), { maxLength: 2 }),
  /** The best node is asked first and alone, the last node only when two nodes are asked. */
  liar: fc.constantFrom(0, 2),
  fate: fc.constantFrom('lands', 'swallowed', 'forked', 'forked and swallowed'),
  failures: fc.constantFrom(0, 0, 1, 2, 6),
});
type Scenario = typeof scenarios extends fc.Arbitrary<infer T> ? T : never;

/** The steps of a worker that has just started, and throws where the scenario has it crash. */
function worker(left: string[]) {
  const crash = failOnceAt(left);
  const ledger: Ledger = {
    ...use.ledger,
    attempts: crash(use.ledger.attempts, 'attempts'),
    settlements: crash(use.ledger.settlements, 'settlements'),
  };
  const { [FEE_PAYER]: feePayer, ...givers } = keys;
  const kinds: Kinds = {
    [GATHERING]: gathering(fixture, { ...(feePayer && { [FEE_PAYER]: feePayer }), ...givers }),
    [PURCHASE]: purchases(fixture, orders, feePayer ? { [FEE_PAYER]: feePayer } : {}),
  };
  const rules: SigningRules = { ...GATHERING_RULE, ...PURCHASE_RULE };
  const bounds = { priceCapMicroLamports: 100_000n, maxFeeLamports: 500_000n, allowHookAccounts: false };
  const watcher = new LandingWatcher(fixture.chain, { ...INTERVALS, maxUnconfirmedTries: 5 });
  return {
    ...createSettlementActivities({ ledger, kinds }),
    ...createSignerActivities({ keys, bounds, rules }),
    ...createLanding({ ledger, kinds, watcher, chain: fixture.chain, recheckMs: 50 }),
  };
}

/** Empties a wallet while attempts are to fail, past the runtime, and gives it back its lamports once one has. */
class Emptied {
  readonly #wallet: string;
  readonly #most: number;
  #held: bigint | null = null;

  constructor(wallet: string, most: number) {
    this.#wallet = wallet;
    this.#most = most;
  }

  /** Before attempt `n` lands. */
  empty(n: number): void {
    if (n <= this.#most && this.#held === null) this.#held = this.#set(1_000_000n);
  }

  /** After each turn: one that failed has met it. */
  async giveBack(id: string): Promise<void> {
    const last = (await use.ledger.attempts.of(id)).at(-1);
    if (this.#held === null || last?.state === 'signed') return;
    this.#set(this.#held);
    this.#held = null;
  }

  #set(lamports: bigint): bigint {
    const { vm } = fixture.localnet.controls.chain;
    const stored = vm.account(this.#wallet);
    if (stored === null) throw new Error(`there is no wallet ${this.#wallet}`);
    vm.setAccount(this.#wallet, { ...stored, lamports });
    return stored.lamports;
  }
}

/** Lets the wait after a failure be over, and has an operator close the alert about too many of them. */
async function afterFailure(id: string): Promise<void> {
  await use.ledger.db
    .updateTable('attempt')
    .set({ endedAt: new Date(0) })
    .where('settlementId', '=', id)
    .where('state', '=', 'failed')
    .execute();
  const note = { actor: 'ops', reason: 'it has lamports again' };
  await use.ledger.alerts.close('payment_keeps_failing', id, note);
}

/** What the workflow does, by a new worker for each turn, until the settlement has ended. Heals sends after the first death. */
async function settled(id: string, left: string[], emptied: Emptied): Promise<void> {
  const steps = worker(left);
  const run = <T>(work: () => Promise<T>): Promise<T> => activityEnvironment().run(work);
  const shown = { status: 'requested', code: null } as const;
  const { attempt, status } = await run(() => steps.findSettlement({ id }));
  if (isTerminal(status)) return;
  const preparation = attempt ?? (await run(() => steps.prepareSettlement({ id, shown })));
  if ('kind' in preparation && preparation.kind !== 'prepared') return;
  const { n, signature, tasks = [] } = 'kind' in preparation ? preparation.attempt : preparation;
  let last = signature ?? '';
  for (const [index, task] of tasks.entries()) {
    last = (await run(() => steps.signTransaction(task))).signature;
    if (index < tasks.length - 1) await steps.storeSignature({ id, n, signature: last });
  }
  emptied.empty(n);
  const landing = await run(() => steps.landAttempt({ id, n, signature: last }));
  if (landing.kind === 'dead') fixture.localnet.controls.clearFaults();
}

async function untilEnded(id: string, left: string[], emptied: Emptied): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) {
    await settled(id, left, emptied).catch((error: Error) => {
      if (!error.message.startsWith('crash')) throw error;
    });
    await emptied.giveBack(id);
    await afterFailure(id);
    if (isTerminal((await use.ledger.settlements.get(id)).status)) return;
  }
  throw new Error(`${id} has not ended`);
}

/** Plays the scenario on the chain while blocks come: a fork drops the first block that pays. */
async function play<T>(payee: string, { fate, lies, liar }: Scenario, work: Promise<T>): Promise<T> {
  const { controls } = fixture.localnet;
  if (fate.includes('swallowed')) fixture.swallow();
  for (const [method, fault] of lies) controls.setFault(liar, method, fault);
  let forks = fate.includes('forked') ? 1 : 0;
  const clock = setInterval(() => {
    const isPaid = (controls.chain.vm.account(payee)?.lamports ?? 0n) > 0n;
    if (forks > 0 && isPaid) forks = controls.fork(2) * 0;
    else controls.produceSlot();
  }, 10);
  return work.finally(() => {
    clearInterval(clock);
    controls.clearFaults();
  });
}

describe.each(Object.entries(CASES))('a settlement %s', (_, { request, amount, isAdopted, source }) => {
  it('is paid at most once, and its end matches the chain, whatever crashes, lies, forks or fails', async () => {
    const ends = new Set<string>();
    const states = new Set<string>();
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const payee = newAddress();
        const id = await request(payee);
        const emptied = new Emptied(source(), scenario.failures);
        await play(payee, scenario, untilEnded(id, [...scenario.crashes], emptied));
        fixture.localnet.controls.produceSlots(10);
        const { status } = await use.ledger.settlements.get(id);
        ends.add(status);
        expect(await fixture.lamportsOf(payee)).toBe(status === 'finalized' ? amount : 0n);
        if (!isAdopted) expect(status).toBe('finalized');
        expect(await openReservations(use.ledger)).toBe(0n);
        const rows = await use.ledger.attempts.of(id);
        for (const { state, signature } of rows) {
          states.add(state);
          const record = fixture.localnet.controls.chain.ledger.record(signature ?? '');
          expect(record === undefined ? 'dead' : record.meta.err === null ? 'landed' : 'failed').toBe(state);
        }
        expect(rows.filter(({ state }) => state === 'landed')).toHaveLength(status === 'finalized' ? 1 : 0);
        if (isAdopted) expect(rows).toHaveLength(1);
      }),
      { numRuns: 8, seed: 13 },
    );
    // What a fork took back may fail when it is sent again: an adopted message then ends so.
    const certain = isAdopted ? ['dead', 'finalized'] : ['finalized'];
    expect([...ends].toSorted()).toEqual(isAdopted ? expect.arrayContaining(certain) : certain);
    if (!isAdopted) expect(states).toContain('failed');
  }, 300_000);
});
