import { Connection, Keypair, PublicKey, Transaction, TransactionInstruction } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTransferInstruction, getAssociatedTokenAddressSync } from '../../../src/shims/spl-token.ts';
import { MEMO_PROGRAM } from '../../../src/solana/tx/programs.ts';
import {
  buyAsExample,
  type ExamplePayload,
  fetchQuote,
  memoOf,
  type Quote,
  showPayment,
} from '../../peers/example-client.ts';
import { settlementOf } from './customer.ts';
import { Shop } from './shop.ts';

type Buyer = Awaited<ReturnType<Shop['buyer']>>;

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
  { tokenAccount, mint }: Quote,
  { secretKey, rpcUrl }: Buyer,
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

/**
 * Sends a transfer of `authority` that fails on chain: the authority does not sign, or has no tokens. The sender signs
 * as a member of a multisig would.
 */
async function sendFailing(
  { tokenAccount, mint }: Quote,
  { secretKey }: Buyer,
  authority: string,
  memos: readonly string[],
): Promise<{ readonly signature: string; readonly serializedTransaction: string }> {
  const [sender, owner] = [Keypair.fromSecretKey(secretKey), new PublicKey(authority)];
  const source = getAssociatedTokenAddressSync(new PublicKey(mint), owner);
  const connection = new Connection(shop.rpcUrl, 'confirmed');
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: sender.publicKey, recentBlockhash: blockhash });
  const keys = [sender.publicKey];
  transaction.add(createTransferInstruction(source, new PublicKey(tokenAccount), owner, 1_000n, keys));
  for (const text of memos) transaction.add(memo(text));
  transaction.sign(sender);
  const wire = transaction.serialize();
  const signature = await connection.sendRawTransaction(wire, { skipPreflight: true });
  await vi.waitFor(async () => {
    const { value } = await connection.getSignatureStatuses([signature]);
    expect(value[0]?.err).toBeTruthy();
    expect(value[0]?.confirmationStatus).toMatch(/confirmed|finalized/);
  }, 20_000);
  return { signature, serializedTransaction: wire.toString('base64') };
}

describe('a transaction that its buyer has sent, and that failed on chain,', () => {
  afterEach(() => {
    shop.localnet.controls.clearFaults();
    shop.asked.length = 0;
  });

  /** Shows the payment until its failure is final. */
  async function expectFailed(buyer: Buyer, quote: Quote, payload: ExamplePayload, signature: string) {
    await vi.waitFor(async () => {
      const response = await showPayment(url, buyer, quote, payload);
      const body: unknown = await response.json();
      expect(body).toMatchObject({ error: 'Transaction failed on-chain', payment: expect.anything() });
      expect([response.status, settlementOf(response)]).toMatchObject([402, { transaction: signature }]);
    }, 20_000);
    expect(await shop.ledger.payments.findByName(signature)).toBeUndefined();
  }

  it('is not stored, and the authority that it names can buy', async () => {
    const [attacker, victim] = [await shop.buyer(), await shop.buyer()];
    const quote = await fetchQuote(url, attacker);
    const { quoteToken = '' } = quote;
    const { signature } = await sendFailing(quote, attacker, victim.address, [memoOf(quoteToken)]);
    await expectFailed(attacker, quote, { signature, quoteToken }, signature);
    const { rows } = await shop.ledger.payments.list({ limit: 200 });
    expect(rows.filter(({ payer }) => payer === victim.address)).toEqual([]);
    expect((await buyAsExample(url, victim)).response.status).toBe(200);
  });

  it('is not stored where its buyer shows its bytes', async () => {
    const poor = await shop.buyer(0n);
    const quote = await fetchQuote(url, poor);
    const { signature, serializedTransaction } = await sendFailing(quote, poor, poor.address, []);
    await vi.waitFor(async () => {
      const [status] = await finalStatuses(signature);
      expect(status).toMatchObject({ confirmationStatus: 'finalized' });
    }, 20_000);
    await expectFailed(poor, quote, { serializedTransaction }, signature);
  });

  it('is pending until the failure is final', async () => {
    const poor = await shop.buyer(0n);
    const quote = await fetchQuote(url, poor);
    const { quoteToken = '' } = quote;
    const { slot } = shop.localnet.controls.chain.at('finalized');
    shop.localnet.controls.setFault(0, '*', { kind: 'stuck-finality', slot });
    const { signature } = await sendFailing(quote, poor, poor.address, [memoOf(quoteToken)]);
    const pending = await showPayment(url, poor, quote, { signature, quoteToken });
    expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending' });
    expect(pending.headers.get('payment-required')).toBeNull();
    expect(await shop.ledger.payments.findByName(signature)).toBeUndefined();
  });

  async function finalStatuses(signature: string) {
    return (await new Connection(shop.rpcUrl).getSignatureStatuses([signature])).value;
  }
});

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
    for (const { response, body, signature } of [parts, memos]) {
      expect(response.headers.get('payment-required')).toBeNull();
      expect(body).not.toHaveProperty('accepts');
      expect(body).not.toHaveProperty('payment');
      expect(settlementOf(response)).toMatchObject({ transaction: signature });
    }
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
