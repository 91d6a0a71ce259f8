import { getAccount, getAssociatedTokenAddressSync } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Bench } from '../localnet/support.ts';
import type { HttpServer } from '../support/http.ts';
import { type Buy, type BuyResult, legacyBuyer, version1Buyer, version2Buyer } from './buyers.ts';
import { type CountingProxy, startCountingProxy } from './counting-proxy.ts';
import { startPeerFacilitator } from './peer-facilitator.ts';
import { PRICED, startPeerServer } from './peer-server.ts';
import { startVersion1Seller } from './version-1-seller.ts';

const buyer = Keypair.generate();
const payTo = Keypair.generate().publicKey.toBase58();

let bench: Bench;
let buyerNode: CountingProxy;
let facilitatorNode: CountingProxy;
let facilitator: HttpServer;
let server: HttpServer;
let version1Seller: HttpServer;
beforeAll(async () => {
  bench = await Bench.start({ slotMs: 20, finalityLag: 8, nodes: 1 });
  const { rpcUrls, mintTo, plantedMint } = bench.localnet;
  await mintTo(plantedMint.address, buyer.publicKey.toBase58(), 1_000_000n);
  await mintTo(plantedMint.address, payTo, 1n);
  buyerNode = await startCountingProxy(rpcUrls[0] ?? '');
  facilitatorNode = await startCountingProxy(rpcUrls[0] ?? '');
  const { payer } = bench;
  facilitator = await startPeerFacilitator({ rpcUrl: facilitatorNode.url, secretKey: payer.secretKey });
  server = await startPeerServer({ facilitatorUrl: facilitator.url, payTo });
  version1Seller = await startVersion1Seller({
    facilitatorUrl: facilitator.url,
    asset: plantedMint.address,
    payTo,
    feePayer: payer.publicKey.toBase58(),
  });
});
afterAll(async () => {
  for (const each of [version1Seller, server, facilitator, facilitatorNode, buyerNode]) await each?.close();
  await bench?.localnet.close();
});
beforeEach(() => {
  buyerNode.reset();
  facilitatorNode.reset();
});

async function received(): Promise<bigint> {
  const mint = new PublicKey(bench.localnet.plantedMint.address);
  const account = getAssociatedTokenAddressSync(mint, new PublicKey(payTo));
  return (await getAccount(bench.connection, account, 'confirmed')).amount;
}

/** Buys once, and expects that the seller served and received the price. */
async function buyOnce(buy: Buy, seller: HttpServer): Promise<BuyResult> {
  const before = await received();
  const purchase = await buy(`${seller.url}${PRICED.path}`);
  expect(purchase.response.status).toBe(200);
  expect(await purchase.response.json()).toEqual(PRICED.body);
  expect(purchase.settlement).toMatchObject({ success: true, payer: buyer.publicKey.toBase58() });
  expect(await received()).toBe(before + PRICED.amount);
  return purchase;
}

/** The facilitator simulates for /verify and again for /settle, sends once, and asks for the status until the payment is confirmed. */
function expectFacilitatorCalls(): void {
  const { getSignatureStatuses = 0, ...others } = Object.fromEntries(facilitatorNode.calls);
  expect(others).toEqual({ simulateTransaction: 2, sendTransaction: 1 });
  expect(getSignatureStatuses).toBeGreaterThanOrEqual(1);
}

describe('a purchase from the official server', () => {
  it('by the official client of version 2 is settled by the official facilitator', async () => {
    const { secretKey } = buyer;
    const buy = await version2Buyer({ rpcUrl: buyerNode.url, secretKey });
    await buyOnce(buy, server);
    expectFacilitatorCalls();
    expect(Object.fromEntries(buyerNode.calls)).toEqual({ getAccountInfo: 1, getLatestBlockhash: 1 });
  });

  it('needs no second read of the mint by the same client', async () => {
    const buy = await version2Buyer({ rpcUrl: buyerNode.url, secretKey: buyer.secretKey });
    await buyOnce(buy, server);
    await buyOnce(buy, server);
    expect(Object.fromEntries(buyerNode.calls)).toEqual({ getAccountInfo: 1, getLatestBlockhash: 2 });
  });

  it.each([
    ['the official client with version 1 alone', version1Buyer],
    ['x402-fetch 1.2.0', legacyBuyer],
  ])('is not possible for %s, since the server sends terms of version 2 alone', async (_name, buyerOf) => {
    const buy = await buyerOf({ rpcUrl: buyerNode.url, secretKey: buyer.secretKey });
    await expect(buy(`${server.url}${PRICED.path}`)).rejects.toThrow();
    expect(facilitatorNode.calls.size).toBe(0);
  });
});

describe('a purchase from a seller of version 1', () => {
  it('by the official client of version 2 is settled by the official facilitator', async () => {
    const buy = await version1Buyer({ rpcUrl: buyerNode.url, secretKey: buyer.secretKey });
    const { settlement } = await buyOnce(buy, version1Seller);
    expect(settlement?.network).toBe('solana-devnet');
    expectFacilitatorCalls();
  });

  it('by x402-fetch 1.2.0 is settled by the official facilitator', async () => {
    const buy = await legacyBuyer({ rpcUrl: buyerNode.url, secretKey: buyer.secretKey });
    await buyOnce(buy, version1Seller);
    expectFacilitatorCalls();
  });
});
