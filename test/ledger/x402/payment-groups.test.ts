import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isDomainError } from '../../../src/domain/errors.ts';
import { PAID_BY_DEAD } from '../../../src/domain/settlement.ts';
import { X402 } from '../../../src/domain/settlement-kinds.ts';
import { NO_ENCRYPTION } from '../../../src/domain/webhook.ts';
import { EVENTS_BY_KIND, type Ledger, openLedger } from '../../../src/ledger/ledger.ts';
import type { AttemptOutcome } from '../../../src/ledger/settlements/attempts.ts';
import { newPayment } from '../new-payment.ts';
import { attempt, DEAD, REASON, useLedger } from '../support.ts';

const use = useLedger();
/** A ledger on the same database that makes each change alone. */
let alone: Ledger;

beforeAll(async () => {
  const { groups: _groups, ...events } = EVENTS_BY_KIND[X402];
  alone = await openLedger(use.url, NO_ENCRYPTION, { ...EVENTS_BY_KIND, [X402]: events });
});
afterAll(() => alone?.close());

type PaymentStep = (ledger: Ledger, id: string) => Promise<unknown>;

const land =
  (change: Partial<AttemptOutcome> = {}): PaymentStep =>
  async ({ attempts }, id) => {
    const landed: AttemptOutcome = { state: 'landed', slot: 7n, proof: { of: 7n }, signature: `sig-${id}` };
    return (await attempts.settle(id, 1, { ...landed, amountReceived: 1_000n, ...change })).state;
  };
const note =
  (...[status, reason]: ['sending' | 'confirmed', null] | ['held', typeof REASON]): PaymentStep =>
  ({ settlements }, id) =>
    settlements.note(id, status, reason);

const STEPS: Readonly<Record<string, PaymentStep>> = {
  confirm: note('confirmed', null),
  revert: note('sending', null),
  hold: note('held', REASON),
  holdForDead: async ({ settlements }, id) =>
    (await settlements.move(id, 'held', { code: PAID_BY_DEAD, message: 'paid' })).status,
  land: land(),
  landWithCosts: land({ feeLamports: 3n, rentLamports: 2n }),
  landShort: land({ amountReceived: 999n }),
  landWithoutAmount: async (ledger, id) => {
    const outcome: AttemptOutcome = { state: 'landed', slot: 7n, proof: {}, signature: `sig-${id}` };
    return (await ledger.attempts.settle(id, 1, outcome)).state;
  },
  landOther: land({ signature: 'another signature' }),
  fail: land({ state: 'failed', error: 'an error', reason: REASON }),
  die: async ({ attempts }, id) => (await attempts.settle(id, 1, DEAD)).state,
  serve: ({ obligations }, id) => obligations.markServed(id, 200, null),
};

async function apply(ledger: Ledger, id: string, name: string): Promise<unknown> {
  try {
    return await STEPS[name]?.(ledger, id);
  } catch (error) {
    if (isDomainError(error)) return error.code;
    throw error;
  }
}

async function open(): Promise<string> {
  const payment = newPayment({ payer: 'a payer' });
  const { id, feePayer } = payment;
  const blockhash = 'hash-1000';
  await use.ledger.payments.openSigned(
    payment,
    attempt(id, 1, {
      signers: [feePayer],
      signatures: [`sig-${id}`],
      adoptedFrom: blockhash,
      isSignedHere: true,
    }),
  );
  return id;
}

/** Columns that differ between two payments, and from time to time. */
const OWN = ['id', 'settlementId', 'subjectId', 'position', 'payer', 'sourceAccount', 'requestHash'].concat([
  'messageHash',
  'signature',
  'signatures',
  'message',
  'subject',
]);

function comparable(row: object): object {
  const columns = Object.entries(row).filter(([name]) => !OWN.includes(name));
  return Object.fromEntries(columns.map(([name, value]) => [name, value instanceof Date ? 'a time' : value]));
}

/** All rows about a payment. */
async function stored(id: string): Promise<readonly object[]> {
  const { settlements, attempts, payments, db } = use.ledger;
  const alerts = await db.selectFrom('alert').selectAll().where('subject', '=', id).orderBy('kind').execute();
  const rows = [await settlements.get(id), await payments.get(id), ...(await attempts.of(id)), ...alerts];
  return rows.map(comparable);
}

const step = fc.constantFrom(...Object.keys(STEPS));

it('payments that change at the same time end as if each had changed alone', async () => {
  const histories = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(histories, async (all) => {
      const pairs = await Promise.all(
        all.map(async (steps) => ({ steps, id: await open(), twin: await open() })),
      );
      for (let turn = 0; turn < 6; turn += 1) {
        const due = pairs.flatMap(({ steps, ...ids }) => {
          const name = steps[turn];
          return name === undefined ? [] : [{ name, ...ids }];
        });
        const together = await Promise.all(due.map(({ name, id }) => apply(use.ledger, id, name)));
        const results: unknown[] = [];
        for (const { name, twin } of due) results.push(await apply(alone, twin, name));
        expect(together).toEqual(results);
      }
      for (const { id, twin } of pairs) expect(await stored(id)).toEqual(await stored(twin));
    }),
    { numRuns: 15, examples: [[[['confirm', 'revert', 'land']]], [[['confirm', 'serve', 'landShort']]]] },
  );
});

it('one transaction confirms all payments of a turn, and one lands them', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, open));
  const transactions = async (name: string) => {
    await Promise.all(ids.map((id) => apply(use.ledger, id, name)));
    const changes = await use.ledger.db
      .selectFrom('settlement')
      .select('updatedAt')
      .distinct()
      .where('id', 'in', ids)
      .execute();
    return changes.length;
  };
  expect(await transactions('confirm')).toBe(1);
  expect(await transactions('land')).toBe(1);
});
