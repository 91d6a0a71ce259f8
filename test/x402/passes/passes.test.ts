import fc from 'fast-check';
import { decodeProtectedHeader, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { INVALID_PASS, judgePass } from '../../../src/x402/passes/judge.ts';
import { passKeysOf } from '../../../src/x402/passes/keys.ts';
import { hasBearerPass, PASS_TYPE, presentedPass } from '../../../src/x402/passes/presented.ts';
import { PassTokens } from '../../../src/x402/passes/token.ts';
import { faultsOf, free, priced, readOne } from '../routes/file.ts';
import { forgedTokens } from './forgeries.ts';

const URL_OF_SHOP = 'https://shop.example';
const [OLD, NEW] = ['an old secret of 32 characters or more', 'a new secret of 32 characters or more'];

function tokensOf(secrets: readonly [string, ...string[]], publicUrl = URL_OF_SHOP): PassTokens {
  return new PassTokens(passKeysOf(secrets, publicUrl), publicUrl);
}

const PASS = {
  payment: { id: 'x402/a network/a hash', payer: 'a wallet', route: 'GET /weather', terms: {} as never },
  path: '/weather',
  issuedAt: new Date(1_000_000),
  expiresAt: new Date(1_300_000),
  isRevoked: false,
  isPaid: true,
};
const CLAIMS = {
  paymentId: PASS.payment.id,
  payer: PASS.payment.payer,
  route: PASS.payment.route,
  path: PASS.path,
  expiresAtMs: 1_300_000,
};

describe('a pass buys', () => {
  it('only the route and path of its payment, before its end, while the payment is on chain and not revoked', () => {
    const texts = fc.constantFrom('/a', '/b');
    const stored = fc.option(fc.record({ isRevoked: fc.boolean(), isPaid: fc.boolean() }));
    fc.assert(
      fc.property(texts, texts, texts, texts, fc.nat(9), fc.nat(9), stored, (...facts) => {
        const [route, path, askedRoute, askedPath, expiresAtMs, now, row] = facts;
        const claims = { ...CLAIMS, route, path, expiresAtMs };
        const isSame = route === askedRoute && path === askedPath;
        const isValid = isSame && now < expiresAtMs && row?.isPaid === true && !row.isRevoked;
        const refusal = judgePass(claims, { route: askedRoute, path: askedPath }, row, now);
        expect(refusal === null).toBe(isValid);
      }),
    );
    const errorOf = (row: Parameters<typeof judgePass>[2], now = 0) =>
      judgePass(CLAIMS, CLAIMS, row, now)?.error;
    expect(errorOf(PASS, 1_300_000)).toBe('access_pass_ended');
    expect(errorOf({ isRevoked: true, isPaid: false })).toBe('access_pass_revoked');
    expect(errorOf({ isRevoked: false, isPaid: false })).toBe('access_pass_unpaid');
    expect(errorOf(null)).toBe(INVALID_PASS.error);
  });
});

describe('the token of a pass', () => {
  it('is valid at every gateway with the secret, and for as long as the secret is one of several', async () => {
    const token = await tokensOf([OLD]).write(PASS);
    expect(token).toBe(await tokensOf([OLD, NEW]).write(PASS));
    for (const secrets of [[OLD], [OLD, NEW], [NEW, OLD]] as const)
      expect(await tokensOf([...secrets]).read(token)).toEqual(CLAIMS);
    expect(await tokensOf([NEW]).read(token)).toBeNull();
    expect(await tokensOf([OLD], 'https://test.shop.example').read(token)).toBeNull();
  });

  it('has a key that the gateway publishes, without its private part', async () => {
    const { jwks } = passKeysOf([NEW, OLD], URL_OF_SHOP);
    const [first, second] = jwks.keys;
    expect(Object.keys(first ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    expect(first?.kid).not.toBe(second?.kid);
    const header = decodeProtectedHeader(await tokensOf([NEW, OLD]).write(PASS));
    expect(header).toEqual({ alg: 'EdDSA', typ: PASS_TYPE, kid: first?.kid });
  });

  it('is refused if any part of it is changed, or is not signed', async () => {
    const tokens = tokensOf([OLD]);
    const token = await tokens.write(PASS);
    const [header = '', payload = '', signature = ''] = token.split('.');
    const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), exp: 9_999_999_999 };
    const longer = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const plain = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const forged of [
      `${header}.${longer}.${signature}`,
      `${plain}.${payload}.`,
      new UnsecuredJWT(claims).encode(),
      `${header}.${payload}.`,
      `${token}.`,
    ])
      expect(await tokens.read(forged)).toBeNull();
    await fc.assert(
      fc.asyncProperty(fc.oneof(forgedTokens(token), fc.string()), async (text) => {
        expect(await tokens.read(text)).toBeNull();
        expect(hasBearerPass(`Bearer ${text}`)).toBe(
          presentedPass({ authorization: `Bearer ${text}` }) !== null,
        );
      }),
      { numRuns: 500 },
    );
  });
});

it('a request shows a pass in a header of its own, or as a bearer token of its type', async () => {
  const token = await tokensOf([OLD]).write(PASS);
  expect(presentedPass({ 'sluice-access-pass': token, authorization: 'Bearer other' })).toBe(token);
  expect(presentedPass({ authorization: `bearer ${token}` })).toBe(token);
  const other = `${Buffer.from('{"alg":"EdDSA","typ":"JWT"}').toString('base64url')}.e30.AA`;
  for (const authorization of [`Bearer ${other}`, 'Bearer opaque', 'Basic YTpi', undefined])
    expect([presentedPass({ authorization }), hasBearerPass(authorization)]).toEqual([null, false]);
  expect(hasBearerPass(`Bearer ${token}`)).toBe(true);
});

it('a route has passes of 10 seconds to a day, unless it is free, and no route has the path of the keys', () => {
  for (const seconds of [10, 86_400])
    expect(readOne(priced('/a', { accessPass: { seconds } })).accessPass).toEqual({ seconds });
  const bounds = { 9: 'must be at least 10', 86_401: 'must be at most 86400' };
  for (const [seconds, fault] of Object.entries(bounds))
    expect(faultsOf([priced('/a', { accessPass: { seconds: Number(seconds) } })])).toEqual([
      `routes[0].accessPass.seconds: ${fault}`,
    ]);
  expect(faultsOf([free('/a', { accessPass: { seconds: 60 } })])).toEqual([
    'routes[0].accessPass: must not be set, because the route is free',
  ]);
  const path = '/.well-known/jwks.json';
  expect(faultsOf([free(path)])).toEqual([
    `routes[0].path: ${path} must not be under ${path}, which the gateway uses`,
  ]);
});
