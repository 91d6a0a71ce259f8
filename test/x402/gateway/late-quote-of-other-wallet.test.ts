import { Keypair } from '@solana/web3.js';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { issueQuoteToken, quoteKeyOf, readQuoteToken } from '../../../src/x402/formats/quote-token.ts';
import { fetchQuote, showPayment, submitTransfer } from '../../peers/example-client.ts';
import { Shop } from './shop.ts';

const QUOTE_SECRET = 'the secret of the quotes of this test';
let shop: Shop;
let otherSeller: string;
const routes = (upstream: string) => [{ path: '/weather', price: '0.001', upstream }];

beforeAll(async () => {
  shop = await Shop.open(routes, { SLUICE_X402_QUOTE_SECRET: QUOTE_SECRET });
  otherSeller = Keypair.generate().publicKey.toBase58();
  await shop.localnet.mintTo(shop.localnet.plantedMint.address, otherSeller, 1n);
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

it.each(['expired', 'valid'])(
  'a transaction that its buyer has submitted to the former wallet is stored as unmatched, its quote being %s',
  async (age) => {
    const forget = () =>
      shop.ledger.db
        .updateTable('offer')
        .set({ lastOfferedAt: sql<Date>`now() - interval '2 hours'` })
        .execute();
    await shop.reopen(routes, shop.seller, forget);
    await shop.opened('/weather');
    const url = `${shop.url}/weather?${age}`;
    const buyer = await shop.buyer();
    const quote = await fetchQuote(url, buyer);
    const claims = readQuoteToken([quoteKeyOf(QUOTE_SECRET, shop.url)], quote.quoteToken ?? '', 0);
    if (claims === null) throw new Error('the gateway has another secret');
    // More than an hour after the change, since old terms are valid that long.
    const expiresAt = age === 'expired' ? Date.now() - 3_600_000 : claims.expiresAt;
    const late = {
      ...quote,
      quoteToken: issueQuoteToken(quoteKeyOf(QUOTE_SECRET, shop.url), { ...claims, expiresAt }),
    };
    const shown = await submitTransfer(late, buyer);
    await shop.reopen(routes, otherSeller, forget);
    await shop.opened('/weather');
    const response = await showPayment(url, buyer, late, shown);
    const body = await response.text();
    expect.soft(await shop.ledger.payments.findByName(shown.signature)).toMatchObject({ state: 'unmatched' });
    expect.soft([response.status, response.headers.get('payment-required')]).toEqual([402, null]);
    expect.soft(body).not.toContain('accepts');
  },
);
