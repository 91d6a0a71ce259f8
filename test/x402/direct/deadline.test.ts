import { expect, it } from 'vitest';
import { DirectSettlements } from '../../../src/x402/direct/settle.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { attempt, newId, useLedger } from '../../ledger/support.ts';

const use = useLedger();

it('a payment whose caller has given up meanwhile, for example while the worker was frozen, is not stored', async () => {
  const unused = undefined as never;
  const settlements = new DirectSettlements({
    ledger: use.ledger,
    chain: unused,
    watcher: unused,
    kinds: unused,
    adopt: async ({ id, feePayer }) =>
      attempt(id, 1, { signers: [feePayer], signatures: [newId('sig')], isSignedHere: true }),
    sign: unused,
    discard: () => undefined,
    warn: unused,
    observe: () => undefined,
  });
  const payment = newPayment();
  const outcome = await settlements.settle({ payment, withinMs: 0, storeBefore: Date.now() - 1 });
  expect(outcome).toMatchObject({ kind: 'declined' });
  expect(await use.ledger.payments.find(payment.id)).toBeUndefined();
});
