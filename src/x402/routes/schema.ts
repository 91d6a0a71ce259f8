import { z } from 'zod';
import { isAddress } from '../../domain/address.ts';
import { discovery } from './discovery.ts';
import { METHODS } from './route.ts';
import { HEADER_VALUE } from './route-headers.ts';

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** A pass is a bearer token: a longer time would make a stolen one worth more. */
const MAX_PASS_SECONDS = 86_400;
const FORBIDDEN_ANSWER_HEADERS =
  /^(connection|content-length|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

const address = z.string().refine(isAddress, 'must be a base58 address of 32 bytes');
const wallet = address.describe('Address of a wallet; its associated token account receives the payment');
const asset = z
  .string()
  .refine((text) => text === 'USDC' || isAddress(text), 'must be USDC or the address of a mint')
  .describe('USDC, or the address of a mint. Default: USDC');
const units = z.string().regex(/^(0|[1-9]\d{0,19})$/, 'must be base units in quotes, such as "1000"');
/** A price in units of its asset. */
export const DECIMAL = /^(0|[1-9]\d{0,19})(\.\d{1,18})?$/;
const decimal = z.string().regex(DECIMAL, 'must be a decimal in quotes, such as "0.001"');

const amountForms = [
  decimal,
  z.strictObject({ amount: units, asset: asset.optional() }),
  z.strictObject({ decimal, asset: asset.optional() }),
] as const;

/** The output has either `decimal` or `amount` (base units). Its `asset` is set only if the entry sets it here. */
const amount = z
  .union(amountForms, 'must be a decimal in quotes such as "0.001", or base units such as {"amount": "1000"}')
  .transform(withoutShortForm)
  .describe('A decimal of the asset, such as "0.001", or base units, such as {"amount": "1000"}');

const LIMIT_KEYS = {
  finalizedAbove: amount
    .optional()
    .describe('Above this price the gateway waits until the payment is finalized, instead of confirmed'),
  confirmedByTwoAbove: amount
    .optional()
    .describe(
      'Above this price the gateway serves only after a second node also reports the payment as confirmed. Default: one whole token of the asset',
    ),
};
const decimals = z
  .int()
  .min(0)
  .max(18)
  .optional()
  .describe('Decimals of the mint. Required for a decimal price in an asset other than USDC');

/** More entries would make the header PAYMENT-REQUIRED larger than clients and proxies accept. */
const MAX_PRICES = 4;

const priceKeys = { asset: asset.optional(), decimals, payTo: wallet.optional(), ...LIMIT_KEYS };
const pricesInAssets = z
  .array(
    z.union(
      [z.strictObject({ amount: units, ...priceKeys }), z.strictObject({ decimal, ...priceKeys })],
      'must be a price such as {"amount": "1000", "asset": "<mint>"} or {"decimal": "0.001", "asset": "USDC"}',
    ),
  )
  .min(1)
  .max(MAX_PRICES)
  .describe('One price for each asset. The buyer chooses the asset');

const upstreamPrice = z
  .strictObject({
    from: z.literal('upstream'),
    max: z
      .union(
        [...amountForms, pricesInAssets],
        'must be a decimal in quotes such as "0.5", base units such as {"amount": "1000"}, or a list of these',
      )
      .transform(withoutShortForm)
      .describe('The highest price that is offered: of one asset, or a list with one entry for each asset'),
    url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .refine((text) => isPriceUrl(text), 'must not have a user, password or fragment')
      .optional()
      .describe('URL that returns the price. Default: a HEAD request to the upstream'),
    validSeconds: z
      .int()
      .min(60)
      .max(1800)
      .default(300)
      .describe('How long a quoted price is valid. Default: 300'),
  })
  .describe('The upstream sets the price for each request');

const SEGMENT = String.raw`(?:[A-Za-z0-9._~-]+|:[A-Za-z_][A-Za-z0-9_]*)`;
const path = z
  .string()
  .max(500)
  .regex(
    new RegExp(String.raw`^/(?:\*|${SEGMENT}(?:/${SEGMENT})*(?:/\*)?)?$`),
    'must be a path such as /reports/:id or /files/*, of letters, digits and -._~, without a slash at the end',
  )
  .refine(
    (text) => !text.split('/').some((one) => one.endsWith('.')),
    'must not have a segment that ends with a dot',
  )
  .refine(
    (text) => new Set(parameterNames(text)).size === parameterNames(text).length,
    'must not use a :name twice',
  )
  .describe('`:name` matches one segment; `/*` at the end matches all further segments');

const headerName = z.string().regex(/^[a-z0-9-]+$/, 'must be a header name in lower case');
const headerText = z.string().regex(HEADER_VALUE, 'must be printable ASCII');

const answer = z
  .strictObject({
    status: z.int().min(200).max(399).default(200),
    headers: z
      .record(
        headerName.refine(
          (name) => !FORBIDDEN_ANSWER_HEADERS.test(name),
          'must not be a header that the gateway sets itself',
        ),
        headerText,
      )
      .default({}),
    body: z.json().describe('A string is sent as text; any other JSON value is sent as JSON'),
  })
  .describe('A static answer, instead of an upstream');

const upstream = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((text) => isBaseUrl(text), 'must not have a user, password, query or fragment')
  .describe('Base URL, to which the gateway appends the path and query of the request');

/** Headers that the gateway sets itself, or that would change what is sold. */
const FORBIDDEN_UPSTREAM_HEADERS =
  /^(accept-encoding|connection|content-length|expect|host|http2-settings|idempotency-key|if-.*|keep-alive|payment-.*|proxy-.*|range|(x-)?sluice-.*|te|trailer|transfer-encoding|upgrade|x-forwarded-.*|x-payment)$/;

const upstreamHeaders = z
  .record(
    headerName.refine(
      (name) => !FORBIDDEN_UPSTREAM_HEADERS.test(name),
      'must not be a header that the gateway sets itself',
    ),
    z.union(
      [
        headerText,
        z.strictObject({
          env: z.string().regex(/^UPSTREAM_[A-Z0-9_]+$/, 'must be a variable such as UPSTREAM_TOKEN'),
        }),
      ],
      'must be a text of printable ASCII, or {"env": "UPSTREAM_…"}',
    ),
  )
  .describe(
    'Headers that the gateway and the worker add to each request to the upstream, such as credentials: a text, or the environment variable that has it. Its name begins with UPSTREAM_',
  );

const method = z.enum(METHODS);

/** One entry of `routes`. `faultsOfKeys` checks which keys may be combined. */
export const RouteEntry = z
  .strictObject({
    path,
    method: method.optional().describe('Default: GET'),
    methods: z.array(method).min(1).optional().describe('Several methods, instead of `method`'),
    free: z
      .literal(true)
      .optional()
      .describe('The route costs nothing. Required for a route without a price'),
    widerThanPriced: z
      .literal(true)
      .optional()
      .describe(
        'Confirms that the upstream of this free route serves no sold resource under another path or method that the route matches',
      ),
    price: z
      .union(
        [...amountForms, upstreamPrice],
        'must be a decimal in quotes such as "0.001", base units such as {"amount": "1000"}, or {"from": "upstream", "max": "0.5"}',
      )
      .transform(withoutShortForm)
      .optional(),
    prices: pricesInAssets.optional(),
    asset: asset.optional(),
    decimals,
    payTo: wallet.optional(),
    description: z.string().max(500).default(''),
    mimeType: z
      .string()
      .max(100)
      .regex(/^([\w.+-]+\/[\w.+-]+(; ?[\w-]+=[\w-]+)*)?$/, 'must be a media type such as application/json')
      .default('application/json'),
    discovery: discovery.optional(),
    upstream: upstream.optional(),
    upstreamHeaders: upstreamHeaders.optional(),
    answer: answer.optional(),
    flow: z
      .enum(['settle-first', 'serve-first'])
      .default('settle-first')
      .describe(
        'settle-first: the gateway settles the payment, and then calls the upstream. serve-first: the gateway calls the upstream first, and returns its response after the payment is settled',
      ),
    ...LIMIT_KEYS,
    timeoutSeconds: z
      .int()
      .min(5)
      .max(600)
      .optional()
      .describe(
        'Time that the upstream has for its response. Default: 30, which is the most with serve-first',
      ),
    maxAnswerBytes: z.int().min(1024).max(MAX_ANSWER_BYTES).optional(),
    stream: z
      .boolean()
      .default(false)
      .describe(
        'The gateway passes a 2xx response on from its first byte on, and does not store it. The payment is served once the head of the response is received',
      ),
    retryUnsafe: z
      .boolean()
      .default(false)
      .describe(
        'The gateway may send a POST or PATCH to the upstream more than once, with the same Idempotency-Key',
      ),
    paymentIdentifier: z
      .enum(['off', 'optional', 'required'])
      .default('optional')
      .describe('required: buyers of x402 version 2 must send one. The other forms of payment have none'),
    serializedTransaction: z
      .enum(['accepted', 'refused'])
      .default('accepted')
      .describe(
        'Whether buyers may pay by `payload.serializedTransaction`. Who copies such a transaction before our nodes have it can present it as well',
      ),
    accessPass: z
      .strictObject({ seconds: z.int().min(10).max(MAX_PASS_SECONDS) })
      .optional()
      .describe(
        'The paid response has an access pass: for so many seconds after service, its holder is served on the same path of the route without a payment',
      ),
    maxTimeoutSeconds: z.int().min(5).max(600).default(60),
    memo: z
      .string()
      .min(1)
      .refine((text) => Buffer.byteLength(text) <= 256, 'must have at most 256 bytes')
      .optional()
      .describe('Text that each payment must have as its only memo'),
  })
  .meta({
    allOf: [
      { oneOf: [{ required: ['free'] }, { required: ['price'] }, { required: ['prices'] }] },
      { oneOf: [{ required: ['upstream'] }, { required: ['answer'] }] },
      { not: { required: ['method', 'methods'] } },
    ],
  });
export type RouteEntry = z.output<typeof RouteEntry>;

export const RoutesFile = z.strictObject({
  $schema: z.string().optional(),
  payTo: wallet.optional().describe('Wallet that receives the payments of every route without its own payTo'),
  routes: z.array(RouteEntry).min(1),
});

export function routesJsonSchema(): object {
  return z.toJSONSchema(RoutesFile, { io: 'input' });
}

function withoutShortForm<Price extends object>(
  price: string | Price,
): Price | { readonly decimal: string; readonly asset: undefined } {
  return typeof price === 'string' ? { decimal: price, asset: undefined } : price;
}

function parameterNames(routePath: string): readonly string[] {
  return routePath.split('/').filter((segment) => segment.startsWith(':'));
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
}

function isPriceUrl(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password, hash } = new URL(text);
  return username === '' && password === '' && hash === '';
}
