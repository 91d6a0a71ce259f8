import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { useLedger } from '../../ledger/support.ts';
import { SellingFixture } from '../facilitator/selling-fixture.ts';
import { priceIn, routeOffers } from './route-offers.ts';

const use = useLedger();
let selling: SellingFixture;
/** A mint for which the seller has a token account in the test that opens it. */
let second: string;
beforeAll(async () => {
  selling = await SellingFixture.open(use.ledger);
});
afterAll(() => selling.close());
beforeEach(async () => {
  second = await selling.fixture.localnet.controls.createToken22Mint();
});

const PATIENT = { timeout: 10_000, interval: 50 };

function offersOf(upstreamPrice: { readonly url: null; readonly validSeconds: number } | null = null) {
  const feePayers = selling.feePayers.map(({ address }) => address);
  const prices = [priceIn(selling, second, 7n), priceIn(selling, selling.mint)] as const;
  return routeOffers({ selling, rows: use.ledger.offers, feePayers, prices, upstreamPrice });
}

async function openSecond(): Promise<void> {
  await selling.fixture.localnet.controls.mintTo(second, selling.seller, 1n);
}

describe('a route with two assets', () => {
  it('is sold for the one that can be paid with; the other opens by itself, in the order of the file', async () => {
    const { route, offers, changes, assetChanges } = offersOf();
    const assets = () => {
      const offer = offers.of(route.id);
      return offer.kind === 'open' ? offer.current.map(({ asset }) => asset) : offer.reason;
    };
    const areSold = (expected: readonly string[]) => async () => {
      await offers.refreshClosed();
      expect(assets()).toEqual(expected);
    };
    await vi.waitFor(areSold([selling.mint]), PATIENT);
    expect(offers.of(route.id)).toMatchObject({
      valid: { fixed: [{ asset: selling.mint }], capped: [] },
      closedAssets: [second],
    });
    await openSecond();
    await vi.waitFor(areSold([second, selling.mint]), PATIENT);
    const closed = [second, expect.stringContaining('has no associated token account')];
    expect(assetChanges).toEqual([closed, [second, null]]);
    expect(changes.filter((reason) => reason === null).length).toBe(changes.length / 2);
  });

  it('is closed if none can be paid with, with the reasons', async () => {
    const unknown = [1, 2].map(() => Keypair.generate().publicKey.toBase58());
    const [one = '', other = ''] = unknown;
    const prices = [priceIn(selling, one), priceIn(selling, other)] as const;
    const feePayers = selling.feePayers.map(({ address }) => address);
    const { route, offers } = routeOffers({ selling, rows: use.ledger.offers, feePayers, prices });
    await vi.waitFor(async () => {
      await offers.refresh();
      const offer = offers.of(route.id);
      if (offer.kind === 'open') expect.fail('the route is sold');
      for (const asset of unknown) expect(offer.reason).toContain(asset);
    }, PATIENT);
  });

  it('whose prices the upstream sets keeps its limits apart from prices', async () => {
    await openSecond();
    const { route, offers } = offersOf({ url: null, validSeconds: 300 });
    await vi.waitFor(async () => {
      await offers.refresh();
      expect(offers.of(route.id)).toMatchObject({ kind: 'open', valid: { fixed: [] }, closedAssets: [] });
    }, PATIENT);
    const offer = offers.of(route.id);
    const capped = offer.kind === 'open' ? offer.valid.capped : [];
    expect(new Map(capped.map(({ asset, amount }) => [asset, amount]))).toEqual(
      new Map([
        [second, 7n],
        [selling.mint, 5n],
      ]),
    );
  });
});
