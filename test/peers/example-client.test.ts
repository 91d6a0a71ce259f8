import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { getAccount, getAssociatedTokenAddressSync } from '@solana/spl-token';
import { type Connection, Keypair, PublicKey, VersionedTransaction } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bench } from '../localnet/support.ts';
import { type HttpServer, startHttp } from '../support/http.ts';
import type { Buyer } from './buyers.ts';
import { buyAsExample, buyAsSubmitter, type ExamplePayload, memoOf, showPayment } from './example-client.ts';

const PRICE = 100;
const POLL_MS = 20;

let bench: Bench;
let seller: HttpServer;
let buyer: Buyer;
let recipientWallet: PublicKey;
beforeAll(async () => {
  bench = await Bench.start({ slotMs: 20, finalityLag: 8, nodes: 1 });
  const { rpcUrls, plantedMint } = bench.localnet;
  // The hot wallet of the chain has SOL and tokens.
  buyer = { rpcUrl: rpcUrls[0] ?? '', secretKey: bench.payer.secretKey };
  const mint = plantedMint.address;
  seller = await startHttp(async ({ headers }, response) => {
    const tokenAccount = getAssociatedTokenAddressSync(new PublicKey(mint), recipientWallet);
    const header = headers['x-payment'];
    if (typeof header === 'string') {
      const proof = JSON.parse(Buffer.from(header, 'base64').toString());
      expect(proof).toMatchObject({ x402Version: 1, scheme: 'exact', network: 'chain-devnet' });
      const signature = await settle(bench.connection, proof.payload, tokenAccount);
      return void response.end(JSON.stringify({ signature }));
    }
    const quote = { mint, amount: PRICE, amountStable: PRICE / 1e6, cluster: 'devnet', message: 'Pay' };
    const payment = { ...quote, recipientWallet, tokenAccount, quoteToken: randomUUID() };
    response.writeHead(402).end(JSON.stringify({ payment }));
  });
});
afterAll(async () => {
  await seller?.close();
  await bench?.localnet.close();
});

/** Submits the transaction of the payload, or finds the submitted one; a transaction that does not pay throws. */
async function settle(
  connection: Connection,
  payload: ExamplePayload,
  tokenAccount: PublicKey,
): Promise<string> {
  const isSubmitted = 'signature' in payload;
  const signature = isSubmitted ? payload.signature : await submit(connection, payload.serializedTransaction);
  const landed = await transactionOf(connection, signature);
  const keys = landed.transaction.message.staticAccountKeys;
  const received = landed.meta?.postTokenBalances?.find(({ accountIndex }) =>
    keys[accountIndex]?.equals(tokenAccount),
  );
  expect(received?.uiTokenAmount.amount).toBe(String(PRICE));
  if (isSubmitted) expect(landed.meta?.logMessages?.join('\n')).toContain(memoOf(payload.quoteToken));
  return signature;
}

async function submit(connection: Connection, base64: string): Promise<string> {
  const wire = Buffer.from(base64, 'base64');
  const { message } = VersionedTransaction.deserialize(wire);
  const transfer = message.compiledInstructions.at(-1);
  expect(transfer?.data[0]).toBe(3);
  expect(Buffer.from(transfer?.data ?? []).readBigUInt64LE(1)).toBe(BigInt(PRICE));
  return connection.sendRawTransaction(wire, { preflightCommitment: 'confirmed' });
}

async function transactionOf(connection: Connection, signature: string) {
  for (;;) {
    const found = await connection.getTransaction(signature, {
      commitment: 'confirmed',
      maxSupportedTransactionVersion: 0,
    });
    if (found !== null) return found;
    await sleep(POLL_MS);
  }
}

async function recipientHas(): Promise<bigint> {
  const mint = new PublicKey(bench.localnet.plantedMint.address);
  const account = getAssociatedTokenAddressSync(mint, recipientWallet);
  return (await getAccount(bench.connection, account, 'confirmed')).amount;
}

describe.each(['legacy', 0] as const)('with transactions of version %s', (version) => {
  it('the client of the example signs a transfer that also creates the token account of the recipient', async () => {
    recipientWallet = Keypair.generate().publicKey;
    const { response, payload } = await buyAsExample(seller.url, buyer, { version });
    expect(response.status).toBe(200);
    expect(payload).toHaveProperty('serializedTransaction');
    expect(await recipientHas()).toBe(BigInt(PRICE));
  });

  it('the client that submits shows its confirmed signature, and can show it again', async () => {
    recipientWallet = Keypair.generate().publicKey;
    const { response, quote, payload } = await buyAsSubmitter(seller.url, buyer, { version });
    expect(await response.json()).toEqual({ signature: 'signature' in payload ? payload.signature : '' });
    const again = await showPayment(seller.url, buyer, quote, payload);
    expect(again.status).toBe(200);
    expect(await recipientHas()).toBe(BigInt(PRICE));
  });
});

it('the client refuses a price above its balance before it signs', async () => {
  const poor = Keypair.generate();
  const { mintTo, plantedMint } = bench.localnet;
  await mintTo(plantedMint.address, poor.publicKey.toBase58(), 1n);
  recipientWallet = Keypair.generate().publicKey;
  const purchase = buyAsExample(seller.url, { ...buyer, secretKey: poor.secretKey });
  await expect(purchase).rejects.toThrow('the buyer has 1 base units; the price is 100');
});
