import {
  PaymentPayloadV1Schema,
  PaymentPayloadV2Schema,
  PaymentRequiredV1Schema,
  PaymentRequiredV2Schema,
} from '@x402/core/schemas';
import { describe, expect, it } from 'vitest';
import { PaymentPayloadSchema, PaymentRequirementsSchema, SettleResponseSchema } from 'x402/types';
import { readHeaderJson, writeHeaderJson } from '../../src/x402/formats/json.ts';
import { paymentRequired, requirementsV1, requirementsV2 } from '../../src/x402/formats/payment-required.ts';
import { paymentResponse } from '../../src/x402/formats/payment-response.ts';
import { readPayment } from '../../src/x402/formats/read-payment.ts';
import { NETWORKS } from '../../src/x402/terms.ts';
import { TERMS } from '../x402/rules/buyer.ts';

const RESOURCE = { url: 'http://shop/weather', description: 'The weather', mimeType: '' };
const HINT = { blockhash: TERMS.payTo, lastValidBlockHeight: 150n };
const WIRE = Buffer.from('a transaction').toString('base64');

describe.each(['devnet', 'mainnet-beta'] as const)('the official schemas, on %s', (cluster) => {
  const terms = { ...TERMS, network: NETWORKS[cluster], memo: 'invoice 7' };
  const more = { hint: HINT, identifier: 'required' } as const;
  const second = { ...terms, asset: terms.payTo };
  const offered = [
    { terms, quoteToken: 'a token', priceQuote: 'a quote' },
    { terms: second, quoteToken: 'another token', priceQuote: null },
  ] as const;
  const { headers, body } = paymentRequired(offered, RESOURCE, 'X-PAYMENT header is required', more);

  it('parse the header of version 2 and drop no field', () => {
    const required = readHeaderJson(headers['payment-required'] ?? '');
    expect(PaymentRequiredV2Schema.parse(required)).toEqual(required);
  });

  it('parse the body of version 1', () => {
    const { accepts } = PaymentRequiredV1Schema.parse(JSON.parse(JSON.stringify(body)));
    // x402 1.2.0 has no schema for the whole body: its client parses each entry.
    expect(accepts.map((entry) => PaymentRequirementsSchema.parse(entry))).toEqual([
      requirementsV1(terms, RESOURCE),
      requirementsV1(second, RESOURCE),
    ]);
  });

  it('parse the payments that this server reads', () => {
    const v2 = { x402Version: 2, accepted: requirementsV2(terms, HINT), payload: { transaction: WIRE } };
    const v1 = { x402Version: 1, scheme: 'exact', network: terms.network.v1, payload: { transaction: WIRE } };
    expect(PaymentPayloadV2Schema.safeParse(v2).success).toBe(true);
    expect(PaymentPayloadV1Schema.safeParse(v1).success).toBe(true);
    expect(PaymentPayloadSchema.safeParse(v1).success).toBe(true);
    const shown = [{ 'payment-signature': writeHeaderJson(v2) }, { 'x-payment': writeHeaderJson(v1) }];
    expect(shown.map(readPayment)).toMatchObject([
      { proof: { dialect: 'v2' } },
      { proof: { dialect: 'v1' } },
    ]);
  });

  it('parse the header X-PAYMENT-RESPONSE', () => {
    const result = { success: true, payer: TERMS.payTo, transaction: TERMS.payTo };
    const response = readHeaderJson(paymentResponse('v1', result, terms.network)['x-payment-response'] ?? '');
    expect(SettleResponseSchema.parse(response)).toEqual({ ...result, network: terms.network.v1 });
  });
});
