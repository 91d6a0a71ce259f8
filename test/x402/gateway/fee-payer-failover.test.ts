import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FeePayers, inOrderOf } from '../../../src/x402/fee-payers.ts';
import { RouteOffers } from '../../../src/x402/gateway/offers.ts';
import type { PricedRoute } from '../../../src/x402/routes/route.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { useLedger } from '../../ledger/support.ts';
import { NETWORK, SellingFixture } from '../facilitator/selling-fixture.ts';
import { facilitatorServer, post } from '../facilitator/support.ts';

const use = useLedger();
let selling: SellingFixture;
beforeAll(async () => {
  selling = await SellingFixture.open(use.ledger);
});
afterAll(() => selling.close());

const MAX_FEE = 15_000n;
const address = () => Keypair.generate().publicKey.toBase58();

function offersOf(addresses: readonly string[], budget = 10_000_000n) {
  const route: PricedRoute = {
    kind: 'priced',
    id: `GET /${address()}`,
    method: 'GET',
    segments: ['report'],
    upstream: null,
    upstreamHeaders: {},
    answer: null,
    asset: selling.mint,
    amount: 5n,
    decimals: null,
    payTo: selling.seller,
    description: '',
    mimeType: '',
    flow: 'settle-first',
    stream: false,
    timeoutSeconds: 30,
    finalizedAbove: null,
    confirmedByTwoAbove: null,
    maxAnswerBytes: null,
    retryUnsafe: false,
    paymentIdentifier: 'off',
    maxTimeoutSeconds: 60,
    memo: null,
    discovery: null,
  };
  const { chain } = selling.fixture;
  const budgets = selling.budgets(budget, 10_000_000n);
  const feePayers = new FeePayers({ chain, budgets, addresses, maxFeeLamports: MAX_FEE });
  const deps = { offers: use.ledger.offers, chain, network: NETWORK, tokenPolicy: {}, validMs: 60_000 };
  const changes: (string | null)[] = [];
  const onChange = (_route: string, reason: string | null) => changes.push(reason);
  const offers = new RouteOffers({ ...deps, feePayers, onChange }, [route]);
  const feePayer = () => {
    const offer = offers.of(route.id);
    return offer.kind === 'open' ? offer.current.feePayer : offer.reason;
  };
  return { route, offers, feePayer, changes };
}

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
