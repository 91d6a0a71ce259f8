import { randomBytes } from 'node:crypto';
import { paymentId } from '../../src/domain/payment.ts';
import type { NewPayment } from '../../src/ledger/x402/payments.ts';

const NETWORK = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
export const ANONYMOUS = { identifier: null, authorization: null, cookie: null, address: null };

export function hex(): string {
  return randomBytes(32).toString('hex');
}

/** A payment of a new buyer for a new request. */
export function newPayment(change: Partial<NewPayment> = {}): NewPayment {
  return {
    id: paymentId(NETWORK, hex()),
    seller: 'gateway',
    dialect: 'v2',
    payer: hex(),
    sourceAccount: hex(),
    feePayer: 'a fee payer',
    feeLamports: 10_000n,
    computeUnitLimit: 20_000,
    computeUnitPriceMicroLamports: 1n,
    terms: {
      network: NETWORK,
      asset: 'a mint',
      tokenProgram: 'a program',
      decimals: 6,
      amount: '1000',
      payTo: 'a seller',
      tokenAccount: 'an account',
      memo: null,
    },
    wire: 'AQ==',
    signature: null,
    acceptedSlot: 7n,
    route: 'GET /reports',
    requestHash: hex(),
    request: {
      method: 'GET',
      url: 'http://upstream/reports',
      headers: {},
      routeHeaders: {},
      body: '',
      isRepeatable: true,
      timeoutMs: 30_000,
    },
    answer: null,
    caller: ANONYMOUS,
    lease: { holder: 'me', ms: 60_000 },
    ...change,
  };
}
