import fc from 'fast-check';

/** Text that a header can have, longer than any pass at times. */
const headerText = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0xa1, max: 0xff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
});
const anyText = fc.oneof(headerText, fc.constant('x'.repeat(5_000)), fc.constant('.'.repeat(200)));

/** Each value of a header of a JWT that a library reads. */
const jwtHeader = fc.record(
  {
    alg: fc.constantFrom('EdDSA', 'none', 'HS256', 'ES256', '', null, 7),
    typ: fc.constantFrom('sluice-access-pass+jwt', 'JWT', null),
    kid: fc.oneof(fc.string(), fc.constant(null)),
    crit: fc.constantFrom(['b64'], ['exp'], [], 'b64', null),
    b64: fc.constantFrom(false, true, null),
    jwk: fc.constantFrom({}, { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }),
  },
  { requiredKeys: [] },
);

/** Texts that are not this pass: its parts changed or replaced, and any text. */
export function forgedTokens(token: string): fc.Arbitrary<string> {
  const [header = '', payload = '', signature = ''] = token.split('.');
  // The last digit of base64url has unused bits.
  const changed = fc
    .tuple(fc.nat(token.length - 2), fc.constantFrom('A', 'b', '0', '.', '=', ' ', '/'))
    .map(([at, digit]) => token.slice(0, at) + digit + token.slice(at + 1));
  const parts = fc.tuple(
    fc.oneof(fc.constant(header), encoded(jwtHeader), encoded(fc.jsonValue({ maxDepth: 3 })), headerText),
    fc.oneof(fc.constant(payload), encoded(fc.jsonValue({ maxDepth: 3 })), headerText),
    fc.oneof(fc.constant(signature), fc.constant(''), fc.constant('A'.repeat(86)), headerText),
  );
  const assembled = parts.map((all) => all.join('.'));
  return fc.oneof(changed, assembled, anyText).filter((text) => text.trim() !== token);
}

function encoded(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return value.map((each) => Buffer.from(JSON.stringify(each) ?? '').toString('base64url'));
}

/** All fields of SIGN-IN-WITH-X that the gateway reads. */
const FIELDS = [
  'domain',
  'uri',
  'chainId',
  'address',
  'nonce',
  'issuedAt',
  'expirationTime',
  'signature',
] as const;

/** Headers that are not this signed challenge: a field changed or left out, other JSON, and any text. */
export function forgedProofs(header: string): fc.Arbitrary<string> {
  const proof = JSON.parse(Buffer.from(header, 'base64').toString()) as Readonly<Record<string, unknown>>;
  const odd = fc.oneof(
    fc.constantFrom(
      undefined,
      null,
      '',
      0,
      true,
      [],
      {},
      '\0',
      'constructor',
      '1'.repeat(32),
      '1'.repeat(64),
    ),
    fc.constantFrom('0'.repeat(32), '2027-01-01T00:00:00.000Z', '9'.repeat(100), 'z'.repeat(88)),
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ maxLength: 100 }),
  );
  const changed = fc
    .tuple(fc.constantFrom(...FIELDS), odd)
    .filter(([field, value]) => proof[field] !== value)
    .map(([field, value]) => json({ ...proof, [field]: value }));
  return fc.oneof(changed, fc.jsonValue({ maxDepth: 3 }).map(json), anyText);
}

function json(value: unknown): string {
  return Buffer.from(JSON.stringify(value) ?? '').toString('base64');
}
