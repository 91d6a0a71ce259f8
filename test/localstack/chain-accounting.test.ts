import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { readBooks } from '../../devkit/localstack/books.ts';
import { newPayment } from '../ledger/new-payment.ts';
import { attempt, PLENTY, reserved, useLedger } from '../ledger/support.ts';

const use = useLedger();
let chain: Localnet;
beforeAll(async () => {
  chain = await startLocalnet({ slotMs: 10, finalityLag: 2, nodes: 1 });
});
afterAll(() => chain?.close());

async function landed(id: string, signers: readonly string[]): Promise<void> {
  const { attempts } = use.ledger;
  const made = attempt(id, 1, { signers, lastValidBlockHeight: 1n });
  await attempts.prepare(made, signers[0] === 'hot' ? PLENTY : []);
  for (const signer of signers) await attempts.storeSignature(id, 1, `${signer} of ${id}`, signer);
  await attempts.settle(id, 1, { state: 'landed', slot: 1n, proof: {} });
}

it('the accounting counts no spend of a transaction that other keys signed', async () => {
  const [withdrawal, payment] = [await reserved(use.ledger), newPayment()];
  await use.ledger.payments.open(payment);
  await landed(withdrawal, ['hot']);
  await landed(payment.id, ['fee payer', 'buyer']);
  const { record } = await readBooks({ databaseUrl: use.url, rpcUrls: chain.rpcUrls, hotWallet: 'hot' });
  expect(Object.keys(record)).toEqual([`hot of ${withdrawal}`]);
});
