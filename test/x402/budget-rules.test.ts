import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FeeFacts, feeRefusal, MAX_FAILURES } from '../../src/x402/budget-rules.ts';
import { type Admission, admit, type CheckedPayment } from '../../src/x402/purchase.ts';
import { SourceHolds } from '../../src/x402/source-holds.ts';

const lamports = fc.bigInt({ min: 0n, max: 20n });
const facts: fc.Arbitrary<FeeFacts> = fc.record({
  feePayer: fc.constant('key'),
  payer: fc.constant('buyer'),
  route: fc.constant('route'),
  spent: fc.record({ byFeePayer: lamports, byPayer: lamports }),
  budgets: fc.record({ feePayer: lamports, buyer: lamports }),
  history: fc.record({ failures: fc.nat({ max: 5 }), hasLanded: fc.boolean() }),
  newest: fc
    .nat({ max: 20 })
    .chain((buyers) => fc.record({ buyers: fc.constant(buyers), failed: fc.nat({ max: buyers }) })),
});

describe('the decision to pay a fee', () => {
  it('is positive only within both budgets, below the failures of one buyer, and for known buyers of a failing route', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const { spent, budgets, history, newest } = given;
        const isFailing = newest.buyers >= 10 && newest.failed >= newest.buyers / 2;
        const isPaid =
          spent.byFeePayer < budgets.feePayer &&
          spent.byPayer < budgets.buyer &&
          history.failures < MAX_FAILURES &&
          (history.hasLanded || !isFailing);
        expect(feeRefusal(given) === null).toBe(isPaid);
      }),
    );
  });

  it('stays negative with more fees spent, more failures, or a buyer without a landed payment', () => {
    fc.assert(
      fc.property(facts, lamports, fc.nat({ max: 3 }), (given, more, failures) => {
        const { spent, history } = given;
        const worse = {
          ...given,
          spent: { byFeePayer: spent.byFeePayer + more, byPayer: spent.byPayer + more },
          history: { failures: history.failures + failures, hasLanded: false },
        };
        if (feeRefusal(given) !== null) expect(feeRefusal(worse)).not.toBeNull();
      }),
    );
  });
});

/** One payment in a model of chain and database. `position` counts the steps that it has taken. */
class ModelPayment {
  position = 0;
  isAdmitted = false;
  #holdIfCovered: ((leftUnits: bigint) => boolean) | null = null;
  #leftUnits = 0n;
  readonly id: string;
  readonly amount: bigint;

  constructor(id: string, amount: bigint) {
    this.id = id;
    this.amount = amount;
  }

  /** Takes the next step: read, simulate, decide, store, land, see the landing. */
  async step(model: Model): Promise<void> {
    this.position += 1;
    if (this.position > 3 && !this.isAdmitted) return;
    const { id, amount } = this;
    if (this.position === 1)
      this.#holdIfCovered = await model.holds.readOthers({ id, sourceAccount: 'source', amount });
    if (this.position === 2) this.#leftUnits = model.balance - amount;
    if (this.position === 3)
      this.isAdmitted = this.#leftUnits >= 0n && this.#holdIfCovered?.(this.#leftUnits) === true;
    if (this.position === 4) model.rows.set(id, { id, amount, isOpen: true });
    if (this.position === 5) model.balance -= amount;
    if (this.position === 6) model.rows.set(id, { id, amount, isOpen: false });
  }
}

class Model {
  balance: bigint;
  readonly rows = new Map<string, { id: string; amount: bigint; isOpen: boolean }>();
  readonly holds = new SourceHolds(
    async (_source, ids) => [...this.rows.values()].filter(({ id, isOpen }) => isOpen || ids.includes(id)),
    () => 0,
  );

  constructor(balance: bigint) {
    this.balance = balance;
  }
}

describe('payments out of one token account', () => {
  const amounts = fc.array(fc.bigInt({ min: 1n, max: 9n }), { minLength: 1, maxLength: 8 });

  it('never fail for lack of balance, in whatever order they are read, simulated, stored and landed', async () => {
    const turns = fc.array(fc.nat({ max: 7 }), { maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(fc.bigInt({ min: 0n, max: 30n }), amounts, turns, async (balance, all, order) => {
        const model = new Model(balance);
        const payments = all.map((amount, n) => new ModelPayment(String(n), amount));
        const rest = payments.flatMap((_, n) => Array.from({ length: 6 }, () => n));
        for (const turn of [...order, ...rest]) {
          await payments[turn]?.step(model);
          expect(model.balance).toBeGreaterThanOrEqual(0n);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('are all admitted one after the other, as long as the balance covers them', async () => {
    await fc.assert(
      fc.asyncProperty(amounts, async (all) => {
        const model = new Model(all.reduce((sum, amount) => sum + amount, 0n));
        for (const [n, amount] of all.entries()) {
          const payment = new ModelPayment(String(n), amount);
          for (let step = 0; step < 6; step += 1) await payment.step(model);
          expect(payment.isAdmitted).toBe(true);
        }
        expect(model.balance).toBe(0n);
      }),
    );
  });

  it('are not held any more once the time to store them is over', async () => {
    let now = 0;
    const holds = new SourceHolds(
      async () => [],
      () => now,
    );
    const hold = async (id: string, leftUnits: bigint) =>
      (await holds.readOthers({ id, sourceAccount: 'source', amount: 5n }))(leftUnits);
    expect(await hold('one', 0n)).toBe(true);
    expect(await hold('two', 4n)).toBe(false);
    now = 10_000;
    expect(await hold('three', 0n)).toBe(true);
  });

  it('are not stopped by a payment whose simulation has not passed, and two at once fit the balance', async () => {
    const holds = new SourceHolds(async () => []);
    const budgets = { refusal: async () => null, readOthers: holds.readOthers.bind(holds) };
    const submit = (payer: string, id: string, amount: bigint, simulated: Promise<Admission>) =>
      admit({ budgets }, checkedPayment(payer, id, amount), 'route', () => simulated);
    let refuse: (admission: Admission) => void = () => undefined;
    const refusal = new Promise<Admission>((resolve) => (refuse = resolve));
    const foreign = submit('stranger', 'one', 10n ** 18n, refusal);
    // Both simulations begin with a balance of eight units.
    const accepted = Promise.resolve({ kind: 'admitted', slot: 1n, sourceUnits: 3n } as const);
    const own = await Promise.all(['two', 'three'].map((id) => submit('owner', id, 5n, accepted)));
    expect(own.map(({ kind }) => kind).sort()).toEqual(['admitted', 'unavailable']);
    refuse({ kind: 'refused', reason: 'r', message: 'm', payer: 'stranger' });
    expect(await foreign).toMatchObject({ kind: 'refused' });
  });
});

/** A payment by scheme `exact` whose fee one of our keys pays. */
function checkedPayment(payer: string, messageHash: string, amount: bigint): CheckedPayment {
  return {
    dialect: 'v2',
    wire: new Uint8Array(),
    terms: { network: { caip2: 'network' } },
    payment: { payer, feePayer: 'ours', sourceAccount: 'source', amount, messageHash },
  } as unknown as CheckedPayment;
}
