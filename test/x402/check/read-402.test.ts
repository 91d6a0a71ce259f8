import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { U64_MAX } from '../../../src/domain/amount.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { formFaults } from '../../../src/x402/check/compare-forms.ts';
import { type ReceivedAnswer, read402 } from '../../../src/x402/check/read-402.ts';
import { exactJson, readHeaderJson, writeHeaderJson } from '../../../src/x402/formats/json.ts';
import { paymentRequired, requirementsV2 } from '../../../src/x402/formats/payment-required.ts';
import { NETWORKS, type Terms } from '../../../src/x402/terms.ts';

const newAddress = () => Keypair.generate().publicKey.toBase58();
const payTo = newAddress();
const devnet = NETWORKS.devnet;
const TERMS: Terms = {
  network: devnet,
  asset: devnet.usdc,
  tokenProgram: TOKEN_PROGRAM,
  decimals: 6,
  amount: 1000n,
  payTo,
  tokenAccount: deriveAta(payTo, devnet.usdc, TOKEN_PROGRAM, true),
  feePayer: newAddress(),
  maxTimeoutSeconds: 60,
  memo: null,
};
const URL_SOLD = 'https://shop.example/report';
const EXPOSED = { 'access-control-expose-headers': 'PAYMENT-REQUIRED' };

/** The JSON of a 402; a test changes it. */
interface ChangedParts {
  header: unknown;
  body: unknown;
}

/** Sets the value at a path of keys; without a value, deletes it. */
function set(value: unknown, path: string, changed?: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const inner = keys.reduce(
    (object, key) => object[key] as Record<string, unknown>,
    value as Record<string, unknown>,
  );
  if (changed === undefined) delete inner[last];
  else inner[last] = changed;
}

/** The gateway's own 402 for these terms, after `change`. */
function answerOf(terms: Terms, change: (parts: ChangedParts) => void = () => undefined): ReceivedAnswer {
  const resource = { url: URL_SOLD, description: 'A report', mimeType: 'application/json' };
  const details = { hint: null, identifier: 'optional' as const };
  const offered = [{ terms, quoteToken: 'a token', priceQuote: null }] as const;
  const { headers, body } = paymentRequired(offered, resource, 'X-PAYMENT header is required', details);
  const parts: ChangedParts = {
    header: readHeaderJson(headers['payment-required'] ?? ''),
    body: JSON.parse(exactJson(body)),
  };
  change(parts);
  const header = parts.header === null ? {} : { 'payment-required': writeHeaderJson(parts.header as object) };
  return { url: URL_SOLD, status: 402, headers: { ...EXPOSED, ...header }, body: JSON.stringify(parts.body) };
}

function faultsOf(answer: ReceivedAnswer): readonly string[] {
  const { offers, faults } = read402(answer);
  return [...faults, ...formFaults(offers)].map(({ place, expected }) => `${place} ${expected}`);
}

const memos = fc.option(fc.string({ minLength: 1, maxLength: 60 }), { nil: null });

describe('the check of a 402', () => {
  it('finds no fault in any 402 of the gateway, and the same terms in its three forms', () => {
    // JSON numbers, as in the quote of the interface, are exact up to 2^53.
    const amounts = fc.bigInt(1n, 2n ** 53n - 1n);
    fc.assert(
      fc.property(amounts, memos, fc.constantFrom(...Object.values(NETWORKS)), (amount, memo, network) => {
        const asset = network.usdc;
        const tokenAccount = deriveAta(payTo, asset, TOKEN_PROGRAM, true);
        const answer = answerOf({ ...TERMS, amount, memo, network, asset, tokenAccount });
        const { offers, notes } = read402(answer);
        expect(faultsOf(answer)).toEqual([]);
        expect(notes).toEqual([]);
        expect(offers.map(({ form }) => form)).toEqual(['v2', 'v1', 'interface']);
        for (const offer of offers) expect(offer).toMatchObject({ amount, asset, payTo, network });
      }),
    );
  });

  it('accepts a seller of version 2 alone, with entries of other chains, and notes what some clients lack', () => {
    const other = { scheme: 'exact', network: 'eip155:8453', amount: '1', asset: '0x1', payTo: '0x2' };
    const answer = answerOf(TERMS, (parts) => {
      set(parts.header, 'accepts', [other, requirementsV2(TERMS)]);
      set(parts.header, 'extensions.x-own', { info: {} });
      set(parts.header, 'resource.url', 'http://10.0.0.7/report');
      parts.body = {};
    });
    expect(faultsOf(answer)).toEqual([]);
    const { offers, notes } = read402({
      ...answer,
      headers: { ...answer.headers, 'access-control-expose-headers': '' },
    });
    expect(offers.map(({ place }) => place)).toEqual(['PAYMENT-REQUIRED accepts[1]']);
    expect(notes).toEqual([
      'PAYMENT-REQUIRED accepts[0]: network eip155:8453 is not Solana and is not checked',
      `PAYMENT-REQUIRED resource.url is http://10.0.0.7/report, and the request went to ${URL_SOLD}`,
      'PAYMENT-REQUIRED extensions.x-own is not a known extension: clients ignore it',
      'access-control-expose-headers does not name PAYMENT-REQUIRED: scripts in browsers cannot pay',
      'the body has no terms of version 1: clients of version 1 cannot pay',
    ]);
  });

  const V2 = 'PAYMENT-REQUIRED accepts[0]';
  const V1 = 'body accepts[0]';
  const stranger = newAddress();

  it.each<[string, (parts: ChangedParts) => void, readonly string[]]>([
    [
      'no address',
      ({ header }) => set(header, 'accepts.0.payTo', 'me'),
      [`${V2}.payTo must be a base58 address of 32 bytes`],
    ],
    [
      'an amount as a number',
      ({ header }) => set(header, 'accepts.0.amount', 1000),
      [`${V2}.amount must be a string`],
    ],
    [
      'an amount of zero',
      ({ body }) => set(body, 'accepts.0.maxAmountRequired', '0'),
      [`${V1}.maxAmountRequired must be base units above 0 as a decimal string, such as "1000"`],
    ],
    [
      'an amount above 64 bits',
      ({ header }) => set(header, 'accepts.0.amount', String(U64_MAX + 1n)),
      [`${V2}.amount must fit 64 bits`],
    ],
    ['no fee payer', ({ body }) => set(body, 'accepts.0.extra'), [`${V1}.extra is missing`]],
    [
      'a fee payer that is paid',
      ({ header }) => set(header, 'accepts.0.extra.feePayer', payTo),
      [`${V2}.extra.feePayer must not be payTo: the fee payer may not be part of the transfer`],
    ],
    [
      'an unknown network',
      ({ header }) => set(header, 'accepts.0.network', 'solana:local'),
      [`${V2}.network must be ${NETWORKS['mainnet-beta'].caip2} or ${devnet.caip2}`],
    ],
    [
      'another version in the header',
      ({ header }) => set(header, 'x402Version', 1),
      ['PAYMENT-REQUIRED x402Version must be 2'],
    ],
    ['no resource', ({ header }) => set(header, 'resource'), ['PAYMENT-REQUIRED resource is missing']],
    ['no entries', ({ body }) => set(body, 'accepts', []), ['body accepts must be a list with an entry']],
    [
      'a malformed extension',
      ({ header }) => set(header, 'extensions.payment-identifier.info.required', 'yes'),
      ['PAYMENT-REQUIRED extensions.payment-identifier.info.required must be true or false'],
    ],
    [
      'another price in version 1',
      ({ body }) => set(body, 'accepts.0.maxAmountRequired', '2000'),
      [`${V1} amount must be 1000, as in ${V2}`],
    ],
    [
      'another fee payer in version 1',
      ({ body }) => set(body, 'accepts.0.extra.feePayer', stranger),
      [`${V1} feePayer must be ${TERMS.feePayer}, as in ${V2}`],
    ],
    [
      'another seller in version 1',
      ({ body }) => set(body, 'accepts.0.payTo', stranger),
      [`${V1} must have the asset and payTo of ${V2}`, `${V1} must also have the terms of ${V2}`],
    ],
    [
      'another price in the quote',
      ({ body }) => set(body, 'payment.amount', 7),
      [`body payment amount must be 1000, as in ${V2}`],
    ],
    [
      'another network in the quote',
      ({ body }) => set(body, 'payment.cluster', 'mainnet'),
      [`body payment network must be ${devnet.caip2}, as in ${V2}`],
    ],
    [
      'version 2 in the body alone',
      (parts) => {
        parts.body = parts.header;
        parts.header = null;
      },
      ['header PAYMENT-REQUIRED must be present: clients of version 2 read the terms there'],
    ],
    [
      'a body that differs from the header',
      (parts) => {
        parts.body = structuredClone(parts.header);
        set(parts.body, 'accepts.0.amount', '1');
      },
      ['body accepts must be equal to accepts of PAYMENT-REQUIRED'],
    ],
    [
      'no terms at all',
      (parts) => {
        parts.body = {};
        parts.header = null;
      },
      ['answer must offer scheme exact on Solana in a form of x402'],
    ],
  ])('names the field of %s', (_name, change, expected) => {
    expect(faultsOf(answerOf(TERMS, change))).toEqual(expected);
  });

  it('names a token account that is not that of the seller, a header that is not base64, and another status', () => {
    const wrong = answerOf(TERMS, ({ body }) => set(body, 'payment.tokenAccount', stranger));
    expect(faultsOf(wrong)).toEqual([
      expect.stringMatching(/^body payment.tokenAccount must be the associated/),
    ]);
    const headers = { ...EXPOSED, 'payment-required': '{"x402Version":2}' };
    expect(faultsOf({ ...answerOf(TERMS), headers })).toEqual([
      'header PAYMENT-REQUIRED must be padded standard base64 of a JSON object in UTF-8',
    ]);
    expect(read402({ ...answerOf(TERMS), status: 503, body: '{"error":"closed"}' }).faults).toEqual([
      {
        place: 'status',
        expected: 'must be 402 for a request without a payment',
        found: '503 {"error":"closed"}',
      },
    ]);
  });
});
