import { expect, it } from 'vitest';
import { createDeliverySteps, createWebhookActivities } from '../../src/activities/webhooks.ts';
import { verifyWebhook } from '../../src/client/verify-webhook.ts';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { WebhookSender } from '../../src/webhooks/sender.ts';
import { authorization, EXPLORER, openService } from '../http/service.ts';
import { address, chain, inflow, START } from '../ledger/chain-of-blocks.ts';
import { commit, confirmAll, importWallets } from '../ledger/deposit-ledger.ts';
import { startReceiver } from './receiver.ts';

it('the deposit of a webhook equals that of the API, with the sequence of the event', async () => {
  const service = await openService();
  const receiver = await startReceiver();
  const sender = new WebhookSender({ allowPrivate: true });
  try {
    const { ledger } = service;
    const { row, secret } = await ledger.webhooks.put(`http://127.0.0.1:${receiver.port}/`, [
      'deposit.not_credited',
      'deposit.final',
    ]);
    await importWallets(ledger, address('ann'));
    await ledger.scan.start(START);
    await commit(ledger, chain(START, [inflow(address('ann'), 7n)]));
    await confirmAll(ledger);
    const answer = await service.app.inject({ url: '/v1/deposits', headers: { authorization } });
    const [deposit] = answer.json().deposits;
    const [stored] = (await ledger.deposits.list({ limit: 1 })).rows;
    if (stored === undefined) throw new Error('a deposit');
    const line = { endpoint: row.id, entity: `deposit/${depositId(stored)}` };
    const key = await createDeliverySteps(ledger).nextDelivery(line);
    if (key === null) throw new Error('nothing waits');
    const activities = createWebhookActivities({ ledger, sender, explorer: EXPLORER, triesAtOnce: 100 });
    await activities.deliver(key, { firstRetryMs: 20, longestRetryMs: 50, attempts: 1 });
    const [received] = receiver.received;
    if (received === undefined) throw new Error('nothing came');
    const event = await verifyWebhook(received, secret ?? '');
    expect(event).toMatchObject({ type: 'deposit.final' });
    expect(event.data).toEqual({ sequence: '2', ...deposit });
    expect(deposit.explorerUrl).toContain(EXPLORER.explorerUrl);
  } finally {
    await sender.close();
    await receiver.close();
    await service.close();
  }
});
