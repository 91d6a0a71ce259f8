import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { inOrderOf } from '../../../src/x402/fee-payers.ts';
import { closedRouteWatch } from '../../../src/x402/gateway/closed-route-alerts.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { useLedger } from '../../ledger/support.ts';
import { SellingFixture } from '../facilitator/selling-fixture.ts';
import { facilitatorServer, post } from '../facilitator/support.ts';
import { routeOffers } from './route-offers.ts';

const use = useLedger();
let selling: SellingFixture;
beforeAll(async () => {
  selling = await SellingFixture.open(use.ledger);
});
afterAll(() => selling.close());

const address = () => Keypair.generate().publicKey.toBase58();

function offersOf(addresses: readonly string[], budget = 10_000_000n) {
  const { offers, route, changes } = routeOffers({
    selling,
    rows: use.ledger.offers,
    feePayers: addresses,
    budget,
  });
  const feePayer = () => {
    const offer = offers.of(route.id);
    return offer.kind === 'open' ? offer.current[0].feePayer : offer.reason;
  };
  return { route, offers, feePayer, changes };
}

it('a route that a gateway cannot sell has an alert from its second check on, which closes once no gateway raises it', async () => {
  const [key, { alerts, db }] = [address(), use.ledger];
  const { route, offers } = offersOf([key]);
  const [here, elsewhere] = [0, 1].map(() => closedRouteWatch({ ledger: use.ledger, offers }));
  const alert = async () => {
    const { rows } = await alerts.list({ open: true, limit: 50 });
    return rows.find(({ kind, subject }) => kind === 'route_closed' && subject === route.id);
  };
  const age = () =>
    db
      .updateTable('alert')
      .set({ lastSeenAt: sql<Date>`now() - interval '91 seconds'` })
      .where('subject', '=', route.id)
      .execute();
  await offers.refresh();
  await here?.();
  expect(await alert()).toBeUndefined();
  await here?.();
  expect(await alert()).toMatchObject({
    message: expect.stringMatching(/answers 503 since .*Z: each fee payer lacks SOL/),
    details: { reason: expect.stringContaining(key), since: expect.any(String) },
  });
  await age();
  await here?.();
  expect(await alert()).toMatchObject({ count: 2 });
  await selling.fixture.localnet.controls.airdrop(key, 10_000_000n);
  await vi.waitFor(async () => {
    await offers.refreshClosed();
    expect(offers.closed()).toEqual([]);
  }, 10_000);
  await elsewhere?.();
  expect(await alert()).toBeDefined();
  await age();
  await elsewhere?.();
  expect(await alert()).toBeUndefined();
});

describe('the fee payer of a route', () => {
  it('is the next key with SOL, and the first one again once it is funded; without any the route is closed', async () => {
    const [empty, other] = [address(), address()];
    const { controls } = selling.fixture.localnet;
    const { route, offers, feePayer, changes } = offersOf([empty, other]);
    await offers.refresh();
    expect(feePayer()).toContain('each fee payer lacks SOL');
    const [first = '', second = ''] = inOrderOf(route.id, [empty, other]);
    await controls.airdrop(second, 10_000_000n);
    const isUsed = (key: string) => async () => {
      await offers.refreshClosed();
      expect(feePayer()).toBe(key);
    };
    await vi.waitFor(isUsed(second), 10_000);
    await controls.airdrop(first, 10_000_000n);
    await vi.waitFor(isUsed(first), 10_000);
    expect(changes).toEqual([expect.stringContaining('each fee payer lacks SOL'), null]);
  });

  it('is the next key if the first one has spent its budget', async () => {
    const keys = [address(), address()];
    const { controls } = selling.fixture.localnet;
    for (const key of keys) await controls.airdrop(key, 10_000_000n);
    const { route, offers, feePayer } = offersOf(keys, 10_000n);
    const [first = '', second = ''] = inOrderOf(route.id, keys);
    await use.ledger.payments.open(newPayment({ feePayer: first, feeLamports: 10_000n }));
    await vi.waitFor(async () => {
      await offers.refresh();
      expect(feePayer()).toBe(second);
    }, 10_000);
  });

  it('is chosen in an order with every key once, which depends on the route alone', () => {
    fc.assert(
      fc.property(fc.string(), fc.uniqueArray(fc.string(), { maxLength: 5 }), (id, keys) => {
        expect(inOrderOf(id, keys).toSorted()).toEqual(keys.toSorted());
        expect(inOrderOf(id, keys)).toEqual(inOrderOf(id, [...keys]));
      }),
    );
  });
});

it('a payment whose fee payer has no SOL is unavailable, which is no fault of its buyer', async () => {
  const empty = address();
  const managed = [...selling.feePayers.map((key) => key.address), empty];
  const server = await facilitatorServer(selling.deps({ managed }));
  const transaction = await selling.transaction({ feePayer: empty });
  const { body } = await post(
    server,
    'settle',
    selling.version2(transaction, { extra: { feePayer: empty } }),
  );
  await server.close();
  expect(body).toMatchObject({
    errorReason: 'unexpected_settle_error',
    errorMessage: expect.stringContaining(`fee payer ${empty} lacks SOL`),
  });
});
