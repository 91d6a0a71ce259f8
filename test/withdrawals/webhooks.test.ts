import { afterAll, beforeAll, expect, test } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { verifyWebhook } from '../../src/client/client.ts';
import { SLOT_MS, type TestStack, testStack } from '../support/stack.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const FINALIZED = 'withdrawal.finalized';

let running: TestStack;
let receiver: Receiver;
let finalized: Promise<void>;

beforeAll(async () => {
  running = await testStack(SLOT_MS, { SLUICE_WEBHOOK_ALLOW_PRIVATE: 'true' });
  let done: () => void = () => undefined;
  finalized = new Promise((resolve) => (done = resolve));
  receiver = await startReceiver((response, { body }) => {
    response.writeHead(204).end();
    if (body.includes(FINALIZED)) done();
  });
});
afterAll(async () => {
  await running?.close();
  await receiver?.close();
});

test('a webhook receiver gets the course of a payment, in order, signed, with the signature of the transaction on chain', async () => {
  const { webhooks } = running.sluice;
  const { secret } = await webhooks.put(`http://127.0.0.1:${receiver.port}/`, ['withdrawal.*']);
  const wish = { asset: 'SOL', amount: '1000000', destination: newAddress(), acceptEmptyWallet: true };
  await running.sluice.withdraw({ id: 'notified', ...wish });
  const paid = await running.sluice.waitForFinal('notified');
  await finalized;
  const events = await Promise.all(receiver.received.map((one) => verifyWebhook(one, String(secret))));
  const types = events.map(({ type }) => type);
  expect([types[0], types.at(-1)]).toEqual(['withdrawal.sending', FINALIZED]);
  const { acceptEmptyWallet: _accepted, ...terms } = wish;
  expect(events.at(-1)?.data).toMatchObject({
    ...terms,
    id: 'notified',
    status: 'finalized',
    signature: paid.attempts.at(-1)?.signature,
  });
});
