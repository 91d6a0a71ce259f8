import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { base58 } from '@scure/base';
import { createKeyPairSignerFromBytes } from '@solana/kit';
import { getAccount, getAssociatedTokenAddressSync } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { x402Facilitator } from '@x402/core/facilitator';
import { decodePaymentSignatureHeader, encodePaymentRequiredHeader } from '@x402/core/http';
import type { PaymentRequirements } from '@x402/core/types';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { SOLANA_DEVNET_CAIP2, toFacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme as BuyerScheme } from '@x402/svm/exact/client';
import { ExactSvmScheme as FacilitatorScheme } from '@x402/svm/exact/facilitator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPaymentHeader } from 'x402/client';
import { settle, verify } from 'x402/facilitator';
import { decodePayment } from 'x402/schemes';
import { createSigner, type Signer } from 'x402/types';
import { Bench } from '../localnet/support.ts';

const PAID = 2500n;
const buyer = Keypair.generate();
const seller = Keypair.generate().publicKey.toBase58();

let bench: Bench;
let rpcUrl: string;
beforeAll(async () => {
  bench = await Bench.start({ slotMs: 20, finalityLag: 8, nodes: 1 });
  rpcUrl = bench.localnet.rpcUrls[0] ?? '';
  const { mintTo, plantedMint } = bench.localnet;
  await mintTo(plantedMint.address, buyer.publicKey.toBase58(), 1_000_000n);
  await mintTo(plantedMint.address, seller, 1n);
});
afterAll(() => bench.localnet.close());

async function received(): Promise<bigint> {
  const mint = new PublicKey(bench.localnet.plantedMint.address);
  const account = getAssociatedTokenAddressSync(mint, new PublicKey(seller));
  return (await getAccount(bench.connection, account, 'confirmed')).amount;
}

/** Terms that both versions of the protocol share. */
function terms() {
  return {
    scheme: 'exact' as const,
    asset: bench.localnet.plantedMint.address,
    payTo: seller,
    maxTimeoutSeconds: 60,
    extra: { feePayer: bench.payer.publicKey.toBase58() },
  };
}

/** A resource that requests payment and settles each payment through the official facilitator. */
async function sell(requirements: PaymentRequirements): Promise<Server> {
  const payer = await createKeyPairSignerFromBytes(bench.payer.secretKey);
  const scheme = new FacilitatorScheme(toFacilitatorSvmSigner(payer, { defaultRpcUrl: rpcUrl }));
  const facilitator = new x402Facilitator().register(SOLANA_DEVNET_CAIP2, scheme);
  const server = createServer((request, response) => {
    const payment = request.headers['payment-signature'];
    if (typeof payment !== 'string') {
      const resource = { url: `http://${request.headers.host}${request.url}` };
      const required = { x402Version: 2, resource, accepts: [requirements] };
      response.writeHead(402, { 'payment-required': encodePaymentRequiredHeader(required) }).end('{}');
      return;
    }
    facilitator.settle(decodePaymentSignatureHeader(payment), requirements).then(
      (settled) => response.writeHead(settled.success ? 200 : 402).end(JSON.stringify(settled)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function legacySigner(keypair: Keypair): Promise<Signer> {
  return createSigner('solana-devnet', base58.encode(keypair.secretKey));
}

describe('the official x402 clients', () => {
  it('of version 2 pay a resource in tokens, and their facilitator settles on this chain', async () => {
    const requirements: PaymentRequirements = {
      ...terms(),
      network: SOLANA_DEVNET_CAIP2,
      amount: String(PAID),
    };
    const server = await sell(requirements);
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const signer = await createKeyPairSignerFromBytes(buyer.secretKey);
    const client = new x402Client().register('solana:*', new BuyerScheme(signer, { rpcUrl }));
    const before = await received();
    const answer = await wrapFetchWithPayment(fetch, client)(`http://127.0.0.1:${address.port}/weather`);
    const settled = await answer.json();
    server.close();
    expect(settled).toMatchObject({ success: true, payer: buyer.publicKey.toBase58() });
    expect(answer.status).toBe(200);
    expect(await received()).toBe(before + PAID);
  });

  it('of version 1 build a payment that their facilitator confirms by subscription', async () => {
    const requirements = {
      ...terms(),
      network: 'solana-devnet' as const,
      maxAmountRequired: String(PAID),
      resource: 'http://127.0.0.1/weather' as const,
      description: '',
      mimeType: '',
    };
    const config = { svmConfig: { rpcUrl } };
    const header = await createPaymentHeader(await legacySigner(buyer), 1, requirements, config);
    const payment = decodePayment(header);
    const payer = await legacySigner(bench.payer);
    const before = await received();
    expect(await verify(payer, payment, requirements, config)).toMatchObject({ isValid: true });
    const settled = await settle(payer, payment, requirements, config);
    expect(settled).toMatchObject({ success: true, payer: buyer.publicKey.toBase58() });
    expect(await received()).toBe(before + PAID);
  });
});
