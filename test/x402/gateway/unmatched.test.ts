import { Connection, Keypair, PublicKey, Transaction, TransactionInstruction } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTransferInstruction, getAssociatedTokenAddressSync } from '../../../src/shims/spl-token.ts';
import { MEMO_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { type ExampleQuote, fetchQuote, memoOf, showPayment } from '../../peers/example-client.ts';
import { Shop } from './shop.ts';

let shop: Shop;
let url: string;
beforeAll(async () => {
  shop = await Shop.open((upstream) => [{ path: '/weather', price: '0.001', upstream }]);
  url = `${shop.url}/weather`;
  await shop.opened('/weather');
});
afterAll(() => shop?.close());

/** Sends one transfer of each amount with these memos, and waits until it is confirmed. */
async function send(
  { tokenAccount, mint }: ExampleQuote,
  { secretKey, rpcUrl }: Awaited<ReturnType<Shop['buyer']>>,
  amounts: readonly number[],
  memos: readonly string[],
): Promise<string> {
  const owner = Keypair.fromSecretKey(secretKey);
  const source = getAssociatedTokenAddressSync(new PublicKey(mint), owner.publicKey);
  const transfers = amounts.map((amount) =>
    createTransferInstruction(source, new PublicKey(tokenAccount), owner.publicKey, BigInt(amount)),
  );
  const connection = new Connection(rpcUrl, 'confirmed');
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: owner.publicKey, recentBlockhash: blockhash });
  transaction.add(...transfers, ...memos.map(memo)).sign(owner);
  const signature = await connection.sendRawTransaction(transaction.serialize());
  await vi.waitFor(async () => {
    const { value } = await connection.getSignatureStatuses([signature]);
    expect(value[0]?.confirmationStatus).toMatch(/confirmed|finalized/);
  }, 20_000);
  return signature;
}

function memo(text: string): TransactionInstruction {
  return new TransactionInstruction({
    programId: new PublicKey(MEMO_PROGRAM),
    keys: [],
    data: Buffer.from(text),
  });
}

async function sent(
  amounts: (price: number) => readonly number[],
  memos: (own: string) => readonly string[],
) {
  const buyer = await shop.buyer();
  const quote = await fetchQuote(url, buyer);
  const { quoteToken = '' } = quote;
  const signature = await send(quote, buyer, amounts(quote.amount), memos(memoOf(quoteToken)));
  const response = await showPayment(url, buyer, quote, { signature, quoteToken });
  return { signature, response, body: await response.json(), payer: buyer.address };
}

describe('a transaction that its buyer has submitted for a quote, and that breaks the rules,', () => {
  it('is stored as unmatched where it paid too little', async () => {
    const { signature, response, body, payer } = await sent(
      (price) => [price - 1],
      (own) => [own],
    );
    expect([response.status, body]).toMatchObject([402, { error: 'Received 999, expected 1000' }]);
    expect(await shop.ledger.payments.findByName(signature)).toMatchObject({
      state: 'unmatched',
      payer,
      dialect: 'submitted',
      reason: 'received 999 base units, expected 1000: Found transfer of 999, expected 1000',
    });
    expect(shop.asked).toHaveLength(0);
  });

  it('is stored as unmatched where it paid in parts, or has a second memo', async () => {
    const parts = await sent(
      (price) => [price / 2, price / 2],
      (own) => [own],
    );
    expect(parts.body).toMatchObject({ details: 'Found transfer of 500, expected 1000' });
    const memos = await sent(
      (price) => [price],
      (own) => [own, 'two'],
    );
    expect(memos.body).toMatchObject({ error: 'Payment verification failed' });
    for (const { signature } of [parts, memos])
      expect(await shop.ledger.payments.findByName(signature)).toMatchObject({
        state: 'unmatched',
        reason: expect.stringContaining('received 1000 base units, expected 1000: '),
      });
  });

  it('is not stored where it has no quote, or paid nothing', async () => {
    const foreign = await sent(
      (price) => [price],
      () => ['x402:another'],
    );
    const empty = await sent(
      () => [0],
      (own) => [own],
    );
    for (const { signature, response } of [foreign, empty]) {
      expect(response.status).toBe(402);
      expect(await shop.ledger.payments.findByName(signature)).toBeUndefined();
    }
  });
});
