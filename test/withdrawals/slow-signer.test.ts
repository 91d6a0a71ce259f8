import { expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DEFAULT_SIGNER_CAPACITY } from '../../src/domain/backpressure.ts';
import { until } from '../support/until.ts';
import { expectDeadThenLanded, query, waitForStatus } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

const ATTEMPTS_OF_EACH = `select count(attempt.n)::integer as n
  from withdrawal left join attempt on attempt.settlement_id = withdrawal.id
  where withdrawal.id = any($1) group by withdrawal.id`;
// A withdrawal may be held first because no node has returned a blockhash in time.
const WAITS_FOR_THE_SIGNER = `select 1 from settlement
  where id = any($1) and status = 'held' and reason_message like '%wait to be signed and sent%'`;

it('a signer slower than the validity of the blockhash leads to a proof of death and a new attempt: one payment', async () => {
  const { sluice, stack, chain } = use;
  const destination = newAddress();
  const terms = { id: 'slow-signer', asset: 'SOL', amount: '2000000', destination, acceptEmptyWallet: true };
  await stack.signer.stop();
  await sluice.withdraw(terms);
  const { attempts } = await waitForStatus(sluice, terms.id, 'preparing');
  expect(attempts.map(({ state, signature }) => [state, signature])).toEqual([['prepared', null]]);
  await chain.expireBlockhashes();
  expect((await sluice.get(terms.id)).attempts).toHaveLength(1);

  await stack.signer.start();
  const paid = await sluice.waitForFinal(terms.id);
  expect(paid.status).toBe('finalized');
  expectDeadThenLanded(paid);
  const signatures = paid.attempts.map(({ signature }) => signature);
  expect(signatures[0]).toEqual(expect.any(String));
  expect(new Set(signatures).size).toBe(signatures.length);
  expect((await chain.paymentsTo(destination)).map(({ signature }) => signature)).toEqual(
    signatures.slice(-1),
  );
}, 240_000);

it('a worker prepares no attempt that a slow signer cannot sign in time: the waiting withdrawals are paid by one attempt each', async () => {
  const { sluice, stack, chain } = use;
  const terms = { asset: 'SOL', amount: '2000000', acceptEmptyWallet: true };
  // More than may die: see the last expectation.
  const ids = Array.from({ length: 2 * DEFAULT_SIGNER_CAPACITY + 8 }, (_, index) => `queued-${index}`);
  // One query each: so many requests to the API would keep the machine busy.
  const attempts = () => query<{ n: number }>(stack, ATTEMPTS_OF_EACH, [ids]);
  const waits = async () => (await query(stack, WAITS_FOR_THE_SIGNER, [ids])).length > 0;
  await stack.signer.stop();
  await Promise.all(ids.map((id) => sluice.withdraw({ id, ...terms, destination: newAddress() })));
  await until(waits);
  const prepared = (await attempts()).filter(({ n }) => n > 0);
  // Two workers that check at the same moment may each take the last places.
  expect(prepared.length).toBeGreaterThan(0);
  expect(prepared.length).toBeLessThan(2 * DEFAULT_SIGNER_CAPACITY);

  await chain.expireBlockhashes();
  await stack.signer.start();
  for (const id of ids) expect((await sluice.waitForFinal(id)).status).toBe('finalized');
  // Only the attempts prepared for the stopped signer have died. All attempts would have died, had all been prepared.
  const again = (await attempts()).filter(({ n }) => n > 1);
  expect(again.length).toBeGreaterThan(0);
  expect(again.length).toBeLessThan(2 * DEFAULT_SIGNER_CAPACITY);
}, 240_000);
