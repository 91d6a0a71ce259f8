import { expect, it } from 'vitest';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { address, chain, childOf, EMPTY_FINDING, inflow, START } from './chain-of-blocks.ts';
import { commit, confirmAll, confirmationOf, importWallets, useDepositLedgers } from './deposit-ledger.ts';

const use = useDepositLedgers();
const [ANN, BEN] = [address('ann'), address('ben')];

interface News {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events that an endpoint receives, in order. */
async function newsOf(endpoint: string): Promise<readonly News[]> {
  const rows = await use.ledger.db
    .selectFrom('webhookDelivery as delivery')
    .innerJoin('webhookEvent as event', 'event.sequence', 'delivery.sequence')
    .select('event.body')
    .where('delivery.endpoint', '=', endpoint)
    .orderBy('delivery.sequence')
    .execute();
  return rows.map(({ body }) => JSON.parse(body) as News);
}

it('an endpoint receives every event of the feed in its order', async () => {
  const all = (await use.ledger.webhooks.put('https://all.example/', ['deposit.*'])).row.id;
  const last = (await use.ledger.webhooks.put('https://final.example/', ['deposit.final'])).row.id;
  await importWallets(use.ledger, ANN, BEN);
  await use.ledger.addresses.assign('user-1');
  const fork = {
    header: childOf(START, { fork: 'x' }),
    finding: { ...EMPTY_FINDING, inflows: [inflow(BEN, 9n)] },
  };
  await use.ledger.deposits.announce([fork]);
  const low = inflow(BEN, 1n, { reason: 'below_minimum' });
  await commit(use.ledger, chain(START, [inflow(ANN, 2n ** 63n), low, inflow(ANN, 6n)]));
  const [first] = await use.ledger.deposits.unconfirmed(1);
  if (first === undefined) throw new Error('one deposit');
  await use.ledger.deposits.confirm([confirmationOf(first)]);

  const final = {
    type: 'deposit.final',
    data: {
      id: depositId(first),
      sequence: '5',
      signature: first.signature,
      slot: '101',
      blockhash: 'b101',
      blockTime: '1970-01-01T00:16:41.000Z',
      account: ANN,
      wallet: ANN,
      userRef: 'user-1',
      asset: 'SOL',
      amount: '9223372036854775808',
      state: 'final',
    },
  };
  expect(await newsOf(last)).toMatchObject([final]);
  expect((await newsOf(all)).map(({ type, data }) => [data['sequence'], type, data['amount']])).toEqual([
    ['1', 'deposit.pending', '9'],
    ['2', 'deposit.pending', '9223372036854775808'],
    ['3', 'deposit.pending', '6'],
    ['4', 'deposit.dropped', '9'],
    ['5', 'deposit.final', '9223372036854775808'],
  ]);
});

it('an endpoint receives the reason of a deposit that is not credited, whether or not it received the pending event', async () => {
  const endpoint = (await use.ledger.webhooks.put('https://late.example/', ['deposit.*'])).row.id;
  await importWallets(use.ledger, ANN);
  const header = childOf(START);
  const found = (reason: 'deposits_off' | null) => ({
    header,
    finding: {
      ...EMPTY_FINDING,
      inflows: [inflow(ANN, 7n, { reason }), inflow(ANN, 8n, { reason: 'unknown_mint', asset: BEN })],
    },
  });
  await use.ledger.deposits.announce([found(null)]);
  await commit(use.ledger, [found('deposits_off')]);
  await confirmAll(use.ledger);
  const events = (await newsOf(endpoint)).map(({ type, data }) => [
    type,
    data['amount'],
    data['state'],
    data['reason'],
  ]);
  expect(events).toEqual([
    ['deposit.pending', '7', 'pending', null],
    ['deposit.not_credited', '7', 'not_credited', 'deposits_off'],
    ['deposit.not_credited', '8', 'not_credited', 'unknown_mint'],
  ]);
});
