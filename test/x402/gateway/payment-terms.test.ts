import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { requirementsV2 } from '../../../src/x402/formats/payment-required.ts';
import { signPriceQuote } from '../../../src/x402/formats/quote-token.ts';
import { candidateTerms } from '../../../src/x402/gateway/payment-terms.ts';
import type { RoutePrice } from '../../../src/x402/routes/route.ts';
import { checkExact } from '../../../src/x402/rules/exact.ts';
import { checkExample } from '../../../src/x402/rules/example.ts';
import type { Proof, Terms } from '../../../src/x402/terms.ts';
import type { UpstreamAnswer } from '../../../src/x402/upstream.ts';
import * as buyer from '../rules/buyer.ts';

type SentProof = Exclude<Proof, { readonly dialect: 'submitted' }>;
type UnitsByAsset = Readonly<Record<string, bigint>>;

const SECRET = 'a secret of this test';
const MINTS = [buyer.MINT, buyer.STRANGER, buyer.OTHER_PROGRAM] as const;
const OTHER_SELLER = buyer.BLOCKHASH;
const SELLERS = [buyer.SELLER, OTHER_SELLER] as const;
const FORMS = ['v1', 'v2', 'example'] as const;
const REQUEST = {
  method: 'GET',
  url: 'http://upstream/a',
  headers: {},
  routeHeaders: {},
  body: '',
  isRepeatable: true,
  timeoutMs: 1_000,
} as const;

/** Terms of an asset and a seller, without decimals, so that base units are the upstream's decimals. */
function termsOf(asset: string, amount: bigint, payTo: string = buyer.SELLER): Terms {
  const tokenAccount = deriveAta(payTo, asset, TOKEN_PROGRAM);
  return { ...buyer.TERMS, asset, amount, payTo, tokenAccount, decimals: 0 };
}

/** A signed transaction that pays the amount of these terms. */
function wireFor(terms: Terms, form: SentProof['dialect']): Uint8Array {
  const { asset, tokenAccount, amount } = terms;
  const keys = [
    [deriveAta(buyer.BUYER, asset, TOKEN_PROGRAM), 'w'],
    [asset],
    [tokenAccount, 'w'],
    [buyer.BUYER, 's'],
  ] as const;
  const transfer = buyer.transferChecked({ keys, amount, decimals: 0 });
  const instructions = [buyer.units(), buyer.price(), transfer, buyer.memo()];
  return buyer.wireOf({ instructions, payer: form === 'example' ? buyer.BUYER : buyer.FEE_PAYER });
}

function proofOf(form: SentProof['dialect'], paid: Terms, quote: string | null = null): SentProof {
  const wire = wireFor(paid, form);
  if (form === 'v1') return { dialect: form, wire, network: paid.network.v1 };
  if (form === 'example') return { dialect: form, wire, network: 'chain-devnet' };
  const accepted = requirementsV2(paid, null, quote);
  return { dialect: form, wire, accepted, paymentIdentifier: null, extensions: {} };
}

function upstreamAnswer(prices: UnitsByAsset | null): UpstreamAnswer {
  if (prices === null) return { kind: 'none', reason: 'the upstream did not respond (ECONNREFUSED)' };
  const header = Object.entries(prices).map(([asset, amount]) => `${amount} ${asset}`);
  return { kind: 'whole', status: 200, headers: { 'x402-price': header.join(', ') }, body: '' };
}

interface Selling {
  readonly fixed?: readonly Terms[];
  readonly capped?: readonly Terms[];
  /** What the upstream returns at the time of the payment. Null: it does not respond. */
  readonly prices?: UnitsByAsset | null;
  readonly request?: string;
}

/** The terms under which the kernel accepts the payment; null if it refuses the payment. */
async function soldTerms(
  { fixed = [], capped = [], prices = null, request = 'a request' }: Selling,
  proof: SentProof,
): Promise<Terms | null> {
  const limits = capped.map(({ asset, amount, payTo }): RoutePrice => {
    const other = { decimals: null, finalizedAbove: null, confirmedByTwoAbove: null };
    return { asset, amount, payTo, ...other };
  });
  const [
    first = { ...buyer.TERMS, decimals: null, finalizedAbove: null, confirmedByTwoAbove: null },
    ...others
  ] = limits;
  const deps = {
    quoteSecrets: [SECRET] as const,
    network: buyer.TERMS.network,
    askPrice: async () => upstreamAnswer(prices),
    warn: () => undefined,
  };
  const sale = {
    route: {
      id: 'GET /a',
      prices: [first, ...others] as const,
      upstreamPrice: capped.length === 0 ? null : { url: null, validSeconds: 300 },
    },
    request: REQUEST,
    resource: { url: 'http://shop/a', description: '', mimeType: '' },
    requestHash: request,
  };
  const candidates = await candidateTerms(deps, sale, { valid: { fixed, capped } }, proof);
  if (!('terms' in candidates)) return null;
  const { wire, dialect } = proof;
  const check = (terms: Terms) =>
    dialect === 'example' ? checkExample(wire, terms, buyer.BOUNDS) : checkExact(wire, terms, buyer.BOUNDS);
  return candidates.terms.find((terms) => check(terms).ok) ?? null;
}

const LATER = Date.now() + 86_400_000;
function quoteFor(terms: Terms, request = 'a request', expiresAt = LATER): string {
  return signPriceQuote(SECRET, { route: 'GET /a', request, terms }, expiresAt);
}

const amount = fc.bigInt({ min: 1n, max: 5n });
const form = fc.constantFrom(...FORMS);

describe('a payment for a route with several assets', () => {
  it('is sold under the entry of its own asset alone, at the price and to the wallet of that entry', async () => {
    const entries = fc
      .uniqueArray(fc.constantFrom(...MINTS), { minLength: 1 })
      .chain((assets) =>
        fc.tuple(...assets.map((asset) => fc.tuple(fc.constant(asset), amount, fc.constantFrom(...SELLERS)))),
      );
    const payment = fc.tuple(fc.constantFrom(...MINTS), amount, fc.constantFrom(...SELLERS));
    await fc.assert(
      fc.asyncProperty(entries, payment, form, async (offered, paid, dialect) => {
        const fixed = offered.map((entry) => termsOf(...entry));
        const paidTerms = termsOf(...paid);
        const own = fixed.find(({ asset, payTo }) => asset === paidTerms.asset && payTo === paidTerms.payTo);
        const isEnough = dialect === 'example' ? paid[1] >= (own?.amount ?? 6n) : paid[1] === own?.amount;
        const sold = await soldTerms({ fixed }, proofOf(dialect, paidTerms));
        expect(sold).toEqual(isEnough ? own : null);
      }),
    );
  });
});

describe('a payment for a price of the upstream', () => {
  const [USD, EUR] = [buyer.MINT, buyer.STRANGER];
  const capped = [termsOf(USD, 4n), termsOf(EUR, 3n)];

  it('in version 2 is sold at the price of its quote, whatever the upstream returns later', async () => {
    await fc.assert(
      fc.asyncProperty(amount, amount, fc.constantFrom(USD, EUR), async (quoted, paid, asset) => {
        const terms = termsOf(asset, paid);
        const quote = quoteFor(termsOf(asset, quoted));
        const prices = { [USD]: 1n, [EUR]: 1n };
        const sold = await soldTerms({ capped, prices }, proofOf('v2', terms, quote));
        expect(sold).toEqual(quoted === paid ? terms : null);
      }),
    );
  });

  it.each([
    ['another request', () => quoteFor(termsOf(USD, 2n), 'another request')],
    ['another asset', () => quoteFor(termsOf(EUR, 2n))],
    ['another wallet', () => quoteFor(termsOf(USD, 2n, OTHER_SELLER))],
    ['an earlier time', () => quoteFor(termsOf(USD, 2n), 'a request', Date.now() - 1_000)],
    ['no request', () => 'zzzzzzzz.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['nothing', () => null],
  ])('in version 2 is refused with a quote for %s', async (_what, quote) => {
    const selling = { capped, prices: { [USD]: 2n } };
    expect(await soldTerms(selling, proofOf('v2', termsOf(USD, 2n), quote()))).toBeNull();
    expect(await soldTerms(selling, proofOf('v2', termsOf(USD, 4n), quote()))).toBeNull();
  });

  it('in another form is sold only at the price that the upstream returns at that time, within its limit', async () => {
    const prices = fc.record({ [USD]: amount, [EUR]: amount }, { requiredKeys: [] });
    const paid = fc.tuple(fc.constantFrom(USD, EUR), amount);
    await fc.assert(
      fc.asyncProperty(
        prices,
        paid,
        fc.constantFrom('v1', 'example'),
        async (returned, [asset, units], dialect) => {
          const price = returned[asset];
          const limit = capped.find((terms) => terms.asset === asset)?.amount ?? 0n;
          const isEnough = dialect === 'example' ? units >= (price ?? 6n) : units === price;
          const isSold = price !== undefined && price <= limit && isEnough;
          const proof = proofOf(dialect, termsOf(asset, units));
          const sold = await soldTerms({ capped, prices: returned as UnitsByAsset }, proof);
          expect(sold).toEqual(isSold ? termsOf(asset, price) : null);
        },
      ),
    );
  });

  it.each(FORMS)(
    'is refused while the upstream does not respond, without a quote, as %s',
    async (dialect) => {
      for (const units of [1n, 4n, 5n])
        expect(await soldTerms({ capped, prices: null }, proofOf(dialect, termsOf(USD, units)))).toBeNull();
    },
  );

  it('is sold at the earlier price of the routes file while that is valid', async () => {
    const selling = { fixed: [termsOf(USD, 2n)], capped, prices: null };
    for (const dialect of FORMS) {
      expect(await soldTerms(selling, proofOf(dialect, termsOf(USD, 2n)))).toEqual(termsOf(USD, 2n));
      expect(await soldTerms(selling, proofOf(dialect, termsOf(USD, 1n)))).toBeNull();
    }
  });
});
